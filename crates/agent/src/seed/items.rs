//! How each thing is told in a seed: in a line, or nearly whole.

use super::measure::cut;
use super::quote::{fenced, first_sentence, inline, last_line};
use super::steps::Step;
use crate::transcript::{Answer, AnswerKind, Argument, Call};

const NAME_CHARS_MAX: usize = 60;
const ARGUMENT_CHARS_MAX: usize = 160;
const SENTENCE_CHARS_MAX: usize = 240;
const OUTCOME_CHARS_MAX: usize = 120;
/// An argument's key and what JSON puts around it; arguments that are longer than this say more.
const KEY_BYTES_MAX: usize = 24;
/// Of a failure; the whole of it can be had by running the command again.
const FAILURE_WEIGHT_MAX: u64 = 600;

/// A quoted text.
pub(super) fn block(text: &str, weight_max: u64) -> String {
    format!("{}\n", fenced(&cut(text, weight_max)))
}

/// A step in a line.
pub(super) fn line(step: Step<'_>) -> String {
    match step {
        Step::Said(text) => format!("- Said: {}\n", first_sentence(text, SENTENCE_CHARS_MAX)),
        Step::Told(text) => format!("- Was told: {}\n", inline(text, SENTENCE_CHARS_MAX)),
        Step::Called(call, answer) => format!("- {}: {}\n", called(call), outcome_in_short(call, answer)),
        Step::Answered(answer) => {
            format!("- Result of a call that is not on record: {}\n", inline(&answer.text, OUTCOME_CHARS_MAX))
        }
    }
}

/// A step, nearly whole.
pub(super) fn whole(step: Step<'_>, weight_max: u64) -> String {
    match step {
        Step::Said(text) => format!("Said:\n\n{}", block(text, weight_max)),
        Step::Told(text) => format!("Was told:\n\n{}", block(text, weight_max)),
        Step::Called(call, answer) => whole_call(call, answer, weight_max),
        Step::Answered(answer) => {
            format!("Result of a call that is not on record:\n\n{}", block(&answer.text, weight_max))
        }
    }
}

fn whole_call(call: &Call, answer: Option<&Answer>, weight_max: u64) -> String {
    // The command is needed to understand its output; the output is what is longer.
    let call_weight_max = weight_max / 3;
    let outcome = outcome(answer.map_or(AnswerKind::Unknown, |answer| answer.kind));
    let told = match &call.argument {
        Some(Argument::Command(text)) => {
            format!("{} ({outcome}):\n\n{}", name(call), block(text, call_weight_max))
        }
        Some(Argument::Other(text)) if call.input.len() <= text.len() + KEY_BYTES_MAX => {
            format!("{} ({outcome}).\n\n", called(call))
        }
        Some(Argument::ChangedFile(_)) => format!("{} ({outcome}).\n\n", called(call)),
        Some(Argument::Other(_)) | None => {
            format!("{} ({outcome}):\n\n{}", name(call), block(&call.input, call_weight_max))
        }
    };
    match output(call, answer) {
        "" => told,
        text => format!("{told}Output:\n\n{}", block(text, weight_max - call_weight_max)),
    }
}

/// What a call brought that is worth telling.
fn output<'a>(call: &Call, answer: Option<&'a Answer>) -> &'a str {
    let changed = matches!(call.argument, Some(Argument::ChangedFile(_)));
    match answer {
        // The file itself says what was written into it.
        Some(Answer { kind: AnswerKind::Fine, .. }) if changed => "",
        Some(Answer { kind: AnswerKind::Fine | AnswerKind::Error, text, .. }) => text.trim_end(),
        // The agent's program made that text up, and it may be an order to stop.
        Some(Answer { kind: AnswerKind::Unknown, .. }) | None => "",
    }
}

/// A call that failed and was not made good.
pub(super) fn failure(call: &Call, answer: &Answer) -> String {
    format!("- {}: failed\n\n{}", called(call), block(&answer.text, FAILURE_WEIGHT_MAX))
}

/// A call whose outcome is not known.
pub(super) fn unknown(call: &Call) -> String {
    format!("- {}: {}\n", called(call), outcome(AnswerKind::Unknown))
}

/// A changed file.
pub(super) fn file(path: &str, known: bool) -> String {
    let doubt = if known { "" } else { " (not known whether the change took effect)" };
    format!("- {}{doubt}\n", inline(path, ARGUMENT_CHARS_MAX))
}

/// The tool's name, without signs that could be read as a mark: it stands at the beginning of a line.
fn name(call: &Call) -> String {
    let is_plain = |sign: &char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.' | ':' | '/');
    let name: String = call.name.chars().filter(is_plain).take(NAME_CHARS_MAX).collect();
    if name.starts_with(char::is_alphanumeric) { name } else { format!("tool {name}") }
}

fn called(call: &Call) -> String {
    let argument = call.argument.as_ref().map_or(call.input.as_str(), Argument::as_str);
    format!("{} {}", name(call), inline(argument, ARGUMENT_CHARS_MAX))
}

fn outcome(kind: AnswerKind) -> &'static str {
    match kind {
        AnswerKind::Fine => "succeeded",
        AnswerKind::Error => "failed",
        AnswerKind::Unknown => "outcome unknown; look whether it took effect before you repeat it",
    }
}

/// The outcome, and the line of output that says most about it.
fn outcome_in_short(call: &Call, answer: Option<&Answer>) -> String {
    let Some(answer) = answer else { return "outcome unknown".to_owned() };
    // A command says at the end how it went.
    let is_command = matches!(call.argument, Some(Argument::Command(_)));
    let line = match answer.kind {
        AnswerKind::Unknown => return "outcome unknown".to_owned(),
        AnswerKind::Fine if !is_command => "",
        AnswerKind::Fine | AnswerKind::Error => last_line(&answer.text),
    };
    let outcome = outcome(answer.kind);
    if line.is_empty() {
        outcome.to_owned()
    } else {
        format!("{outcome}, {}", inline(line, OUTCOME_CHARS_MAX))
    }
}

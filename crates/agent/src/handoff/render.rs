//! How each thing is told in a seed: in a line, or nearly whole.

use super::quote::{fenced, first_sentence, inline, last_line};
use super::tokens::cut;
use super::work_log::WorkItem;
use crate::conversation::{ToolArgument, ToolCall, ToolResult, ToolResultKind};

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
pub(super) fn line(step: WorkItem<'_>) -> String {
    match step {
        WorkItem::ModelText(text) => format!("- Said: {}\n", first_sentence(text, SENTENCE_CHARS_MAX)),
        WorkItem::Note(text) => format!("- Was told: {}\n", inline(text, SENTENCE_CHARS_MAX)),
        WorkItem::Called(call, answer) => format!("- {}: {}\n", called(call), outcome_in_short(call, answer)),
        WorkItem::Answered(answer) => {
            format!("- Result of a call that is not on record: {}\n", inline(&answer.text, OUTCOME_CHARS_MAX))
        }
    }
}

/// A step, nearly whole.
pub(super) fn whole(step: WorkItem<'_>, weight_max: u64) -> String {
    match step {
        WorkItem::ModelText(text) => format!("Said:\n\n{}", block(text, weight_max)),
        WorkItem::Note(text) => format!("Was told:\n\n{}", block(text, weight_max)),
        WorkItem::Called(call, answer) => whole_call(call, answer, weight_max),
        WorkItem::Answered(answer) => {
            format!("Result of a call that is not on record:\n\n{}", block(&answer.text, weight_max))
        }
    }
}

fn whole_call(call: &ToolCall, answer: Option<&ToolResult>, weight_max: u64) -> String {
    // The command is needed to understand its output; the output is what is longer.
    let call_weight_max = weight_max / 3;
    let outcome = outcome(answer.map_or(ToolResultKind::Unknown, |answer| answer.kind));
    let told = match &call.argument {
        Some(ToolArgument::Command(text)) => {
            format!("{} ({outcome}):\n\n{}", name(call), block(text, call_weight_max))
        }
        Some(ToolArgument::Other(text)) if call.input.len() <= text.len() + KEY_BYTES_MAX => {
            format!("{} ({outcome}).\n\n", called(call))
        }
        Some(ToolArgument::ChangedFile(_)) => format!("{} ({outcome}).\n\n", called(call)),
        Some(ToolArgument::Other(_)) | None => {
            format!("{} ({outcome}):\n\n{}", name(call), block(&call.input, call_weight_max))
        }
    };
    match output(call, answer) {
        "" => told,
        text => format!("{told}Output:\n\n{}", block(text, weight_max - call_weight_max)),
    }
}

/// What a call brought that is worth telling.
fn output<'a>(call: &ToolCall, answer: Option<&'a ToolResult>) -> &'a str {
    let changed = matches!(call.argument, Some(ToolArgument::ChangedFile(_)));
    match answer {
        // The file itself says what was written into it.
        Some(ToolResult { kind: ToolResultKind::Ok, .. }) if changed => "",
        Some(ToolResult { kind: ToolResultKind::Ok | ToolResultKind::Error, text, .. }) => text.trim_end(),
        // The agent's program made that text up, and it may be an order to stop.
        Some(ToolResult { kind: ToolResultKind::Unknown, .. }) | None => "",
    }
}

/// A call that failed and was not made good.
pub(super) fn failure(call: &ToolCall, answer: &ToolResult) -> String {
    format!("- {}: failed\n\n{}", called(call), block(&answer.text, FAILURE_WEIGHT_MAX))
}

/// A call whose outcome is not known.
pub(super) fn unknown(call: &ToolCall) -> String {
    format!("- {}: {}\n", called(call), outcome(ToolResultKind::Unknown))
}

/// A changed file.
pub(super) fn file(path: &str, known: bool) -> String {
    let doubt = if known { "" } else { " (not known whether the change took effect)" };
    format!("- {}{doubt}\n", inline(path, ARGUMENT_CHARS_MAX))
}

/// The tool's name, without signs that could be read as a mark: it stands at the beginning of a line.
fn name(call: &ToolCall) -> String {
    let is_plain = |sign: &char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.' | ':' | '/');
    let name: String = call.name.chars().filter(is_plain).take(NAME_CHARS_MAX).collect();
    if name.starts_with(char::is_alphanumeric) { name } else { format!("tool {name}") }
}

fn called(call: &ToolCall) -> String {
    let argument = call.argument.as_ref().map_or(call.input.as_str(), ToolArgument::as_str);
    format!("{} {}", name(call), inline(argument, ARGUMENT_CHARS_MAX))
}

fn outcome(kind: ToolResultKind) -> &'static str {
    match kind {
        ToolResultKind::Ok => "succeeded",
        ToolResultKind::Error => "failed",
        ToolResultKind::Unknown => "outcome unknown; look whether it took effect before you repeat it",
    }
}

/// The outcome, and the line of output that says most about it.
fn outcome_in_short(call: &ToolCall, answer: Option<&ToolResult>) -> String {
    let Some(answer) = answer else { return "outcome unknown".to_owned() };
    // A command says at the end how it went.
    let is_command = matches!(call.argument, Some(ToolArgument::Command(_)));
    let line = match answer.kind {
        ToolResultKind::Unknown => return "outcome unknown".to_owned(),
        ToolResultKind::Ok if !is_command => "",
        ToolResultKind::Ok | ToolResultKind::Error => last_line(&answer.text),
    };
    let outcome = outcome(answer.kind);
    if line.is_empty() {
        outcome.to_owned()
    } else {
        format!("{outcome}, {}", inline(line, OUTCOME_CHARS_MAX))
    }
}

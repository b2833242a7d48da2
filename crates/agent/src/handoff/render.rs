//! Renders the items of a handoff prompt, on one line or nearly in full.

use super::quote::{fenced, first_sentence, inline, last_line};
use super::tokens::truncate_to_weight;
use super::work_item::{RecordedCall, WorkItem};
use crate::ToolArgument;
use crate::transcript_message::ToolResultKind;

const NAME_CHARS_MAX: usize = 60;
const WRAP_UP: &str = "The agent was asked to save its work and to stop, because a limit was nearly reached.";
const ARGUMENT_CHARS_MAX: usize = 160;
const SENTENCE_CHARS_MAX: usize = 240;
const OUTCOME_CHARS_MAX: usize = 120;
/// The length of an argument's key and its JSON punctuation. A longer input contains other arguments.
const KEY_BYTES_MAX: usize = 24;
/// Limit of a failure's output. The agent can rerun the command to see the rest.
const FAILURE_WEIGHT_MAX: u64 = 600;

pub(super) fn block(text: &str, weight_max: u64) -> String {
    format!("{}\n", fenced(&truncate_to_weight(text, weight_max)))
}

pub(super) fn line(step: &WorkItem<'_>) -> String {
    match step {
        WorkItem::ModelText(text) => format!("- Said: {}\n", first_sentence(text, SENTENCE_CHARS_MAX)),
        WorkItem::Note(text) => format!("- Received: {}\n", inline(text, SENTENCE_CHARS_MAX)),
        WorkItem::Call(call) => format!("- {}: {}\n", call_line(call), short_outcome(call)),
        WorkItem::WrapUp => format!("- {WRAP_UP}\n"),
        WorkItem::OrphanResult(result) => {
            let text = inline(result.text(), OUTCOME_CHARS_MAX);
            format!("- Result of a call that is not on record: {text}\n")
        }
    }
}

pub(super) fn whole(step: &WorkItem<'_>, weight_max: u64) -> String {
    match step {
        WorkItem::ModelText(text) => format!("Said:\n\n{}", block(text, weight_max)),
        WorkItem::Note(text) => format!("Received:\n\n{}", block(text, weight_max)),
        WorkItem::Call(call) => whole_call(call, weight_max),
        WorkItem::WrapUp => format!("{WRAP_UP}\n\n"),
        WorkItem::OrphanResult(result) => {
            format!("Result of a call that is not on record:\n\n{}", block(result.text(), weight_max))
        }
    }
}

fn whole_call(call: &RecordedCall<'_>, weight_max: u64) -> String {
    // The command is needed to understand its output, but the output is longer.
    let call_weight_max = weight_max / 3;
    let outcome = outcome(call);
    let header = match &call.argument {
        Some(ToolArgument::Command(text)) => {
            format!("{} ({outcome}):\n\n{}", name(call), block(text, call_weight_max))
        }
        Some(ToolArgument::Other(text)) if call.input.len() <= text.len() + KEY_BYTES_MAX => {
            format!("{} ({outcome}).\n\n", call_line(call))
        }
        Some(ToolArgument::ChangedFile(_)) => format!("{} ({outcome}).\n\n", call_line(call)),
        Some(ToolArgument::Other(_)) | None => {
            format!("{} ({outcome}):\n\n{}", name(call), block(call.input, call_weight_max))
        }
    };
    match output(call) {
        "" => header,
        text => format!("{header}Output:\n\n{}", block(text, weight_max - call_weight_max)),
    }
}

/// Returns the output of a call, or an empty text if it is not worth including.
fn output<'a>(call: &RecordedCall<'a>) -> &'a str {
    let changed = matches!(call.argument, Some(ToolArgument::ChangedFile(_)));
    match call.outcome() {
        // The file itself contains the written text.
        ToolResultKind::Ok if changed => "",
        // The report of its end follows in its own place.
        _ if call.is_background() => "",
        ToolResultKind::Ok | ToolResultKind::Error => call.output().trim_end(),
        // The agent program wrote this text, and it may be an order to stop.
        ToolResultKind::Unknown => "",
    }
}

/// Returns a call that failed and was not repeated with success.
pub(super) fn failure(call: &RecordedCall<'_>) -> String {
    format!("- {}: failed\n\n{}", call_line(call), block(call.output(), FAILURE_WEIGHT_MAX))
}

pub(super) fn unknown(call: &RecordedCall<'_>) -> String {
    format!("- {}: {}\n", call_line(call), outcome(call))
}

pub(super) fn file(path: &str, is_certain: bool) -> String {
    let doubt = if is_certain { "" } else { " (unknown whether the change took effect)" };
    format!("- {}{doubt}\n", inline(path, ARGUMENT_CHARS_MAX))
}

/// Returns the tool's name without characters that could be Markdown, because it starts a line.
fn name(call: &RecordedCall<'_>) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let name: String = call.tool.chars().filter(is_plain).take(NAME_CHARS_MAX).collect();
    if name.starts_with(char::is_alphanumeric) { name } else { format!("tool {name}") }
}

fn call_line(call: &RecordedCall<'_>) -> String {
    let argument = call.argument.as_ref().map_or(call.input, ToolArgument::as_str);
    format!("{} {}", name(call), inline(argument, ARGUMENT_CHARS_MAX))
}

fn outcome(call: &RecordedCall<'_>) -> &'static str {
    match (call.outcome(), call.is_background()) {
        (ToolResultKind::Ok, false) => "succeeded",
        (ToolResultKind::Ok, true) => "started in the background, succeeded later",
        (ToolResultKind::Error, false) => "failed",
        (ToolResultKind::Error, true) => "started in the background, failed later",
        (ToolResultKind::Unknown, true) => "started in the background; it was not seen to end on its own",
        (ToolResultKind::Unknown, false) => {
            "outcome unknown; check whether it took effect before you repeat it"
        }
    }
}

/// Returns the outcome and the most informative line of output.
fn short_outcome(call: &RecordedCall<'_>) -> String {
    // A command reports its outcome at the end.
    let is_command = matches!(call.argument, Some(ToolArgument::Command(_)));
    let line = match call.outcome() {
        _ if call.is_background() => "",
        ToolResultKind::Unknown => return "outcome unknown".to_owned(),
        ToolResultKind::Ok if !is_command => "",
        ToolResultKind::Ok | ToolResultKind::Error => last_line(call.output()),
    };
    let outcome = outcome(call);
    if line.is_empty() {
        outcome.to_owned()
    } else {
        format!("{outcome}, {}", inline(line, OUTCOME_CHARS_MAX))
    }
}

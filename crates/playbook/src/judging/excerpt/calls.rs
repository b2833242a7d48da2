//! Summarizes each tool call in one line: the tool, its main argument and its result.

use longhaul_agent::Conversation;
use longhaul_agent::transcript_message::{EventKind, ToolResultKind, TranscriptMessage};
use longhaul_core::shorten;
use longhaul_store::redact;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum length of an argument. Longer commands contain a file or a program.
const ARGUMENT_CHARS_MAX: usize = 300;
/// Maximum length of a result. For a rejected call, the agent's standard text comes first and takes half of
/// it.
const RESULT_CHARS_MAX: usize = 500;
/// Maximum number of lines of an error. Claude Code's first line is often only the exit code.
const ERROR_LINES_MAX: usize = 2;
/// Tools that ask the user (2.1.330); their results are the user's answers.
const USER_QUESTION_TOOLS: &[&str] = &["AskUserQuestion", "ExitPlanMode"];

#[derive(Default)]
pub(super) struct ToolOutcomes<'a> {
    results: BTreeMap<&'a str, &'a TranscriptMessage>,
    calls: BTreeSet<&'a str>,
}

pub(super) fn outcomes(transcript: &Conversation) -> ToolOutcomes<'_> {
    let mut outcomes = ToolOutcomes::default();
    for message in &transcript.messages {
        if message.kind == EventKind::ToolCall {
            outcomes.calls.insert(call_id(message));
        } else if message.kind == EventKind::ToolResult {
            outcomes.results.insert(call_id(message), message);
        }
    }
    outcomes
}

impl ToolOutcomes<'_> {
    pub(super) fn line(&self, call: &TranscriptMessage) -> String {
        // Secrets are removed before truncating, because half a secret is not recognized.
        let argument = call.argument().map(|argument| redact(argument.as_str()));
        let argument = argument.map(|argument| format!(": {}", one_line(&argument)));
        let argument = shorten(&argument.unwrap_or_default(), ARGUMENT_CHARS_MAX);
        let tool = call.tool.as_deref().unwrap_or_default();
        let outcome = match self.results.get(call_id(call)) {
            None => "no result was recorded".to_owned(),
            Some(result) => match failure(result) {
                Some(failure) => failure,
                None if USER_QUESTION_TOOLS.contains(&tool) => with_text("answered", result),
                None => "ok".to_owned(),
            },
        };
        format!("{}{argument} → {outcome}", one_line(tool))
    }

    /// Returns the line of a result whose call is in an earlier part of the transcript. `None` if the call
    /// succeeded, or if its own line includes the result.
    pub(super) fn late_line(&self, result: &TranscriptMessage) -> Option<String> {
        let failure = failure(result).filter(|_| !self.calls.contains(call_id(result)));
        failure.map(|failure| format!("an earlier call → {failure}"))
    }
}

fn call_id(message: &TranscriptMessage) -> &str {
    message.tool_use_id.as_deref().unwrap_or_default()
}

/// Returns the line of a notice from the agent's program to the model.
pub(super) fn notice(text: &str) -> String {
    format!("notice: {}", shorten(&one_line(&redact(text)), RESULT_CHARS_MAX))
}

/// Returns the outcome of a call that did not succeed.
fn failure(result: &TranscriptMessage) -> Option<String> {
    match result.result_kind() {
        ToolResultKind::Ok => None,
        ToolResultKind::Error => Some(with_text("error", result)),
        ToolResultKind::Unknown => Some(with_text("interrupted", result)),
    }
}

fn with_text(status: &str, result: &TranscriptMessage) -> String {
    // Secrets are removed before truncating, because half a secret is not recognized.
    let text = redact(result.text());
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let excerpt: Vec<&str> = lines.take(ERROR_LINES_MAX).collect();
    let excerpt = shorten(&one_line(&excerpt.join(" / ")), RESULT_CHARS_MAX);
    if excerpt.is_empty() { status.to_owned() } else { format!("{status}: {excerpt}") }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

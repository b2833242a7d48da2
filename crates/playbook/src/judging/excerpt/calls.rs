//! Tool calls, in a line each: the tool, the argument that says most, and how it ended.

use super::secrets;
use crate::judging::beginning;
use longhaul_agent::Conversation;
use longhaul_agent::conversation::{EntryKind, ToolCall, ToolResult, ToolResultKind};
use std::collections::{BTreeMap, BTreeSet};

/// How long an argument is shown. Commands are longer than this when they hold a file or a program.
const ARGUMENT_CHARS_MAX: usize = 300;
/// How long what a call said is shown. The agent's own words come first where a call was refused, and take half of it.
const SAID_CHARS_MAX: usize = 500;
/// How many lines are shown of an error: Claude Code's first one is often its exit code alone.
const ERROR_LINES_MAX: usize = 2;
/// Tools by which the agent asks a person (2.1.330): what comes of them was said by one.
const ASKS_A_PERSON: &[&str] = &["AskUserQuestion", "ExitPlanMode"];

/// How the calls of a transcript ended.
pub(super) struct ToolOutcomes<'a> {
    answers: BTreeMap<&'a str, &'a ToolResult>,
    calls: BTreeSet<&'a str>,
}

/// What came of the calls of a transcript.
pub(super) fn outcomes(transcript: &Conversation) -> ToolOutcomes<'_> {
    let mut outcomes = ToolOutcomes { answers: BTreeMap::new(), calls: BTreeSet::new() };
    for entry in &transcript.entries {
        match &entry.kind {
            EntryKind::ToolCall(call) => {
                outcomes.calls.insert(&call.id);
            }
            EntryKind::ToolResult(answer) => {
                outcomes.answers.insert(&answer.call, answer);
            }
            EntryKind::Prompt(_)
            | EntryKind::ModelText(_)
            | EntryKind::Compaction(_)
            | EntryKind::AgentNote(_) => {}
        }
    }
    outcomes
}

impl ToolOutcomes<'_> {
    /// The line of a call.
    pub(super) fn line(&self, call: &ToolCall) -> String {
        // Before it is cut: the half of a secret is not known for one.
        let argument = call.argument.as_ref().map(|argument| secrets::without(argument.as_str()));
        let argument = argument.map(|argument| format!(": {}", one_line(&argument)));
        let argument = beginning(&argument.unwrap_or_default(), ARGUMENT_CHARS_MAX);
        let ended = match self.answers.get(call.id.as_str()) {
            None => "no result was recorded".to_owned(),
            Some(answer) => match answer.kind {
                ToolResultKind::Ok if ASKS_A_PERSON.contains(&call.name.as_str()) => said("answered", answer),
                ToolResultKind::Ok => "ok".to_owned(),
                ToolResultKind::Error | ToolResultKind::Unknown => failed(answer),
            },
        };
        format!("{}{argument} → {ended}", one_line(&call.name))
    }

    /// The line of an answer whose call is in an earlier part of the transcript; nothing if it went well, or if the line of
    /// its call tells it.
    pub(super) fn late(&self, answer: &ToolResult) -> Option<String> {
        match answer.kind {
            _ if self.calls.contains(answer.call.as_str()) => None,
            ToolResultKind::Ok => None,
            ToolResultKind::Error | ToolResultKind::Unknown => {
                Some(format!("an earlier call → {}", failed(answer)))
            }
        }
    }
}

/// What the agent's program told the model meanwhile, in a line.
pub(super) fn notice(text: &str) -> String {
    format!("notice: {}", beginning(&one_line(&secrets::without(text)), SAID_CHARS_MAX))
}

fn failed(answer: &ToolResult) -> String {
    match answer.kind {
        ToolResultKind::Ok => "ok".to_owned(),
        ToolResultKind::Error => said("error", answer),
        ToolResultKind::Unknown => said("interrupted", answer),
    }
}

/// How a call ended, with the beginning of what it said.
fn said(how: &str, answer: &ToolResult) -> String {
    // Before it is cut: the half of a secret is not known for one.
    let text = secrets::without(&answer.text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let said: Vec<&str> = lines.take(ERROR_LINES_MAX).collect();
    let said = beginning(&one_line(&said.join(" / ")), SAID_CHARS_MAX);
    if said.is_empty() { how.to_owned() } else { format!("{how}: {said}") }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

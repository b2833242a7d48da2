//! The tool calls of a run, out of the end of its transcript. A report shows the last ones; `longhaul logs` has them all.

use crate::output::envelope_text::cut;
use longhaul_agent::transcript_message::{EventKind, TranscriptMessage};
use longhaul_store::open_regular;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Read as _, Seek, SeekFrom};
use std::path::Path;

// What fits a line on most screens; the transcript has the rest.
const ARGUMENT_CHARS_MAX: usize = 120;

/// Tool calls, the first one first.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolCalls {
    /// The last ones.
    pub last: Vec<ToolCall>,
    /// Whether there are earlier ones, or may be: not all of the transcript is read.
    pub truncated: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// In which attempt.
    pub attempt: u32,
    /// When, as the agent states it.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub at: Option<String>,
    /// The tool.
    pub tool: String,
    /// How the argument that says most begins.
    pub argument: String,
    /// Whether a sub-agent made it.
    pub subagent: bool,
    /// How it ended.
    pub ended_at: CallEnd,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// Nobody wrote that down, or not yet.
    Unknown,
    /// It did what it does.
    Ok,
    /// It failed.
    Failed,
    /// It was not let run.
    Denied,
    /// It was cut off in its course.
    Interrupted,
}

impl CallEnd {
    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            CallEnd::Unknown => "no answer",
            CallEnd::Ok => "ok",
            CallEnd::Failed => "failed",
            CallEnd::Denied => "denied",
            CallEnd::Interrupted => "cut off",
        }
    }

    fn new(message: &TranscriptMessage) -> CallEnd {
        match (message.denied, message.interrupted, message.is_error) {
            (true, _, _) => CallEnd::Denied,
            (_, true, _) => CallEnd::Interrupted,
            (_, _, Some(true)) => CallEnd::Failed,
            (false, false, Some(false) | None) => CallEnd::Ok,
        }
    }
}

impl ToolCalls {
    /// Reads the last `most` calls from the last `bytes_max` bytes of a transcript. An unreadable transcript has none:
    /// it decides nothing.
    pub fn read(path: &Path, bytes_max: u64, most: usize) -> ToolCalls {
        let Some((text, is_cut)) = end_of(path, bytes_max) else { return ToolCalls::default() };
        // The first line is whole only if nothing precedes it.
        let end_of_line = || text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
        let whole = if is_cut { end_of_line() } else { 0 };
        ToolCalls::new(text[whole..].split(|byte| *byte == b'\n'), most, is_cut)
    }

    /// The last calls, so many at most, of lines of a transcript that begin within it if it `is_cut`. A line that nobody
    /// understands is passed over.
    pub fn new<'a>(lines: impl Iterator<Item = &'a [u8]>, most: usize, is_cut: bool) -> ToolCalls {
        let (mut calls, mut open) = (Vec::new(), BTreeMap::new());
        for message in lines.filter_map(|line| serde_json::from_slice::<TranscriptMessage>(line).ok()) {
            match message.kind {
                EventKind::ToolCall => {
                    if let Some(id) = &message.tool_use_id {
                        open.insert(id.clone(), calls.len());
                    }
                    calls.push(ToolCall::new(message));
                }
                EventKind::ToolResult => {
                    let call = message.tool_use_id.as_ref().and_then(|id| open.remove(id));
                    if let Some(call) = call.and_then(|place| calls.get_mut(place)) {
                        call.ended_at = CallEnd::new(&message);
                    }
                }
                EventKind::Prompt
                | EventKind::Text
                | EventKind::Thinking
                | EventKind::Note
                | EventKind::Summary
                | EventKind::Result => {}
            }
        }
        let first = calls.len().saturating_sub(most);
        ToolCalls { truncated: is_cut || first > 0, last: calls.split_off(first) }
    }
}

impl ToolCall {
    fn new(message: TranscriptMessage) -> ToolCall {
        let argument = crate::output::conversation::argument(&message);
        ToolCall {
            attempt: message.attempt,
            subagent: message.parent_tool_use_id.is_some(),
            tool: message.tool.unwrap_or_else(|| "tool".to_owned()),
            argument: one_line(&argument),
            at: message.timestamp,
            ended_at: CallEnd::Unknown,
        }
    }
}

/// The end of a file, at most `bytes_max` bytes, and whether something precedes it.
fn end_of(path: &Path, bytes_max: u64) -> Option<(Vec<u8>, bool)> {
    let mut file = open_regular(path).ok()?;
    let from = file.metadata().ok()?.len().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut text = Vec::new();
    file.take(bytes_max).read_to_end(&mut text).ok()?;
    Some((text, from > 0))
}

fn one_line(text: &str) -> String {
    // A program that is written to a file can be long: no more of it is looked at than can be shown.
    cut(&text.split_whitespace().take(ARGUMENT_CHARS_MAX).collect::<Vec<_>>().join(" "), ARGUMENT_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::{CallEnd, ToolCalls};

    fn call(id: &str, command: &str) -> String {
        format!(
            r#"{{"type":"AssistantMessage","kind":"tool_call","role":"assistant","origin":"model","timestamp":null,"attempt":1,"session_id":null,"tool":"Bash","tool_use_id":"{id}","input":{{"command":"{command}"}}}}"#
        )
    }

    fn result(id: &str, more: &str) -> String {
        format!(
            r#"{{"type":"UserMessage","kind":"tool_result","role":"user","origin":"tool","timestamp":null,"attempt":1,"session_id":null,"tool_use_id":"{id}"{more}}}"#
        )
    }

    #[test]
    fn calls_meet_their_results() {
        let lines = [
            call("a", "one"),
            call("b", "two"),
            result("b", r#","is_error":true"#),
            result("a", ""),
            "{".to_owned(),
            call("c", "three"),
            result("c", r#","denied":true,"is_error":true"#),
            call("d", "four"),
            result("d", r#","interrupted":true"#),
            result("of what was not read", ""),
            call("e", &"five ".repeat(100)),
        ];
        let calls = |most, cut| ToolCalls::new(lines.iter().map(|line| line.as_bytes()), most, cut);
        let all = calls(9, false);
        let told: Vec<_> = all.last.iter().map(|call| (call.argument.as_str(), call.ended_at)).collect();
        assert_eq!(
            told[..4],
            [
                ("one", CallEnd::Ok),
                ("two", CallEnd::Failed),
                ("three", CallEnd::Denied),
                ("four", CallEnd::Interrupted)
            ]
        );
        assert_eq!(all.last[4].ended_at, CallEnd::Unknown);
        assert_eq!(all.last[4].argument.chars().count(), 120);
        assert!(!all.truncated);
        assert!(calls(9, true).truncated, "it began within the transcript");
        let last = calls(2, false);
        assert_eq!((last.last.len(), last.last[0].argument.as_str(), last.truncated), (2, "four", true));
    }
}

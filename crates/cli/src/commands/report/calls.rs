//! Reads the tool calls of a run from the end of its transcript.
//!
//! Never reads the whole transcript of a long run; `longhaul logs` shows every call.

use crate::output::envelope_text::cut;
use longhaul_agent::transcript_message::{EventKind, TranscriptMessage};
use longhaul_core::word_enum;
use longhaul_store::open_regular;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Read as _, Seek, SeekFrom};
use std::path::Path;

// Fits a line on most screens. The transcript has the full argument.
const ARGUMENT_CHARS_MAX: usize = 120;

/// Tool calls, oldest first.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolCalls {
    /// The most recent calls.
    pub last: Vec<ToolCallRow>,
    /// Whether earlier calls exist or may exist, because only the end of the transcript is read.
    pub truncated: bool,
    /// Whether the last message ends an exchange.
    #[serde(skip)]
    pub exchange_ended: bool,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolCallRow {
    /// Number of the attempt.
    pub attempt: u32,
    /// Timestamp reported by the agent.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    pub at: Option<String>,
    /// Name of the tool.
    pub tool: String,
    /// Start of the most informative argument.
    pub argument: String,
    /// Whether a sub-agent made the call.
    pub subagent: bool,
    /// Result of the call.
    pub result: CallEnd,
}

word_enum! {
    /// Result of a tool call.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum CallEnd {
        /// The transcript has no result, or none yet.
        Unknown = "unknown",
        /// The call succeeded.
        Ok = "ok",
        /// The call failed.
        Failed = "failed",
        /// The call was denied.
        Denied = "denied",
        /// The call was interrupted.
        Interrupted = "interrupted",
    }
}

impl CallEnd {
    pub fn label(self) -> &'static str {
        if self == CallEnd::Unknown { "no result" } else { self.as_str() }
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
    /// Reads the last `calls_max` calls from the last `bytes_max` bytes of a transcript. Returns no calls if
    /// the transcript cannot be read, because a report must not fail for that.
    pub fn read(path: &Path, bytes_max: u64, calls_max: usize) -> ToolCalls {
        let Some((text, is_truncated)) = end_of(path, bytes_max) else { return ToolCalls::default() };
        // The first line is complete only if the file was read from its start.
        let end_of_line = || text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
        let whole = if is_truncated { end_of_line() } else { 0 };
        ToolCalls::new(text[whole..].split(|byte| *byte == b'\n'), calls_max, is_truncated)
    }

    /// Collects the last `calls_max` calls from lines of a transcript. `is_truncated` says that it starts
    /// earlier. Lines that cannot be parsed are skipped.
    pub fn new<'a>(lines: impl Iterator<Item = &'a [u8]>, calls_max: usize, is_truncated: bool) -> ToolCalls {
        let (mut calls, mut open, mut exchange_ended) = (Vec::new(), BTreeMap::new(), false);
        for message in lines.filter_map(|line| serde_json::from_slice::<TranscriptMessage>(line).ok()) {
            exchange_ended = message.kind == EventKind::Result;
            if message.kind == EventKind::ToolCall {
                if let Some(id) = &message.tool_use_id {
                    open.insert(id.clone(), calls.len());
                }
                calls.push(ToolCallRow::new(message));
            } else if message.kind == EventKind::ToolResult {
                let call = message.tool_use_id.as_ref().and_then(|id| open.remove(id));
                if let Some(call) = call.and_then(|index| calls.get_mut(index)) {
                    call.result = CallEnd::new(&message);
                }
            }
        }
        let first = calls.len().saturating_sub(calls_max);
        ToolCalls { truncated: is_truncated || first > 0, last: calls.split_off(first), exchange_ended }
    }
}

impl ToolCallRow {
    fn new(message: TranscriptMessage) -> ToolCallRow {
        let argument = crate::output::conversation::argument(&message);
        ToolCallRow {
            attempt: message.attempt,
            subagent: message.parent_tool_use_id.is_some(),
            tool: message.tool.unwrap_or_else(|| "tool".to_owned()),
            argument: one_line(&argument),
            at: message.timestamp,
            result: CallEnd::Unknown,
        }
    }
}

/// Reads at most the last `bytes_max` bytes of a file. The flag says whether bytes before them were skipped.
fn end_of(path: &Path, bytes_max: u64) -> Option<(Vec<u8>, bool)> {
    let mut file = open_regular(path).ok()?;
    let from = file.metadata().ok()?.len().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut text = Vec::new();
    file.take(bytes_max).read_to_end(&mut text).ok()?;
    Some((text, from > 0))
}

fn one_line(text: &str) -> String {
    // An argument may hold a whole file. Only as many words are joined as can be shown.
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
    fn matches_results_to_calls() {
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
            result("unread", ""),
            call("e", &"five ".repeat(100)),
        ];
        let calls = |calls_max, is_truncated| {
            ToolCalls::new(lines.iter().map(|line| line.as_bytes()), calls_max, is_truncated)
        };
        let all = calls(9, false);
        let ends: Vec<_> = all.last.iter().map(|call| (call.argument.as_str(), call.result)).collect();
        assert_eq!(
            ends[..4],
            [
                ("one", CallEnd::Ok),
                ("two", CallEnd::Failed),
                ("three", CallEnd::Denied),
                ("four", CallEnd::Interrupted)
            ]
        );
        assert_eq!(all.last[4].result, CallEnd::Unknown);
        assert_eq!(all.last[4].argument.chars().count(), 120);
        assert!(!all.truncated);
        assert!(calls(9, true).truncated, "the transcript starts earlier");
        let last = calls(2, false);
        assert_eq!((last.last.len(), last.last[0].argument.as_str(), last.truncated), (2, "four", true));
    }
}

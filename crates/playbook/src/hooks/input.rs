//! Parses the input of a hook: one JSON object on its standard input, as of Claude Code 2.1.330. Unknown
//! fields are ignored.

use longhaul_store::read_at_most;
use serde::Deserialize;
use std::io::Read;
use std::path::{Path, PathBuf};

// A prompt with pasted files has megabytes; a larger input is not a prompt.
const BYTES_MAX: u64 = 64 << 20;

/// An event of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HookInput {
    /// Session id.
    pub session_id: Option<String>,
    /// Transcript of the session. The file does not exist yet at the first prompt.
    pub transcript_path: Option<PathBuf>,
    /// Current working directory of the agent.
    pub cwd: Option<PathBuf>,
    /// UserPromptSubmit: text of the prompt.
    pub prompt: Option<String>,
    /// SessionEnd: reason of the end; `other` if a session without a terminal ends.
    pub reason: Option<String>,
    /// PreCompact: `manual` if the user requested it, or `auto`.
    pub trigger: Option<String>,
    /// SubagentStop: type of the sub-agent; empty for internal ones, such as the compacting one.
    pub agent_type: Option<String>,
    /// SubagentStop: transcript of the sub-agent.
    pub agent_transcript_path: Option<PathBuf>,
}

impl HookInput {
    /// Reads the input to its end.
    ///
    /// # Errors
    /// Returns a message if the input cannot be read, is too large or is invalid.
    pub fn read(input: impl Read) -> Result<HookInput, String> {
        let bytes =
            read_at_most(input, BYTES_MAX).map_err(|error| format!("cannot read standard input: {error}"))?;
        serde_json::from_slice(&bytes).map_err(|error| format!("cannot understand standard input: {error}"))
    }

    /// Returns the transcript to learn from, which for a sub-agent is its own.
    pub fn transcript(&self) -> Option<&Path> {
        self.agent_transcript_path.as_deref().or(self.transcript_path.as_deref())
    }

    /// Returns the reason that the agent gave for the event.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref().or(self.trigger.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[test]
    fn parses_recorded_events() {
        let check = |text: &str, transcript: Option<&str>, reason: Option<&str>| {
            let input = HookInput::read(text.as_bytes()).expect("it is understood");
            assert_eq!((input.transcript(), input.reason()), (transcript.map(Path::new), reason), "{text}");
        };
        // Recorded with 2.1.330.
        check(
            r#"{"session_id":"s","transcript_path":"/p/s.jsonl","cwd":"/w","prompt_id":"x","hook_event_name":"SessionEnd","reason":"other"}"#,
            Some("/p/s.jsonl"),
            Some("other"),
        );
        check(
            r#"{"session_id":"s","transcript_path":"/p/s.jsonl","cwd":"/w","hook_event_name":"PreCompact","trigger":"manual","custom_instructions":null}"#,
            Some("/p/s.jsonl"),
            Some("manual"),
        );
        check(
            r#"{"session_id":"s","transcript_path":"/p/s.jsonl","cwd":"/w","agent_id":"a","agent_type":"Explore","hook_event_name":"SubagentStop","agent_transcript_path":"/p/s/subagents/agent-a.jsonl","effort":{"level":"medium"},"background_tasks":[]}"#,
            Some("/p/s/subagents/agent-a.jsonl"),
            None,
        );
        check("{}", None, None);
        check(r#"{"unknown": {"deep": [1]}, "reason": null}"#, None, None);
    }

    #[test]
    fn rejects_invalid_input() {
        let check = |text: &[u8], expected: Expect| {
            let error = HookInput::read(text).expect_err("it is not understood");
            expected.assert_eq(&error);
        };
        check(b"", expect!["cannot understand standard input: EOF while parsing a value at line 1 column 0"]);
        check(
            b"[1",
            expect![
                "cannot understand standard input: invalid type: integer `1`, expected a string at line 1 column 2"
            ],
        );
        check(b"\xff", expect!["cannot understand standard input: expected value at line 1 column 1"]);
        check(
            br#"{"session_id": 7}"#,
            expect![
                "cannot understand standard input: invalid type: integer `7`, expected a string at line 1 column 16"
            ],
        );
        check(
            br#"{"cwd":"/w"} {"cwd":"/x"}"#,
            expect!["cannot understand standard input: trailing characters at line 1 column 14"],
        );
    }

    #[test]
    fn rejects_oversized_input() {
        let error = HookInput::read(std::io::repeat(b' ')).expect_err("it does not end");
        assert_eq!(error, "cannot read standard input: it is longer than 67108864 bytes");
    }
}

//! What a hook is told on its standard input: one JSON object. Seen with Claude Code 2.1.330; fields that we do not know are
//! passed over.

use serde::Deserialize;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

// A prompt with files pasted into it has megabytes; what has more than this is no prompt.
const BYTES_MAX: u64 = 64 << 20;

/// What happened in which session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct HookInput {
    /// The session.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Its transcript. At its first prompt there is no such file yet.
    #[serde(default)]
    pub transcript_path: Option<PathBuf>,
    /// Where the agent works at the moment.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// UserPromptSubmit: what the user said.
    #[serde(default)]
    pub prompt: Option<String>,
    /// SessionEnd: why. `other` for whatever ends a session without a terminal.
    #[serde(default)]
    pub reason: Option<String>,
    /// PreCompact: whether a person asked for it, `manual`, or it was due, `auto`.
    #[serde(default)]
    pub trigger: Option<String>,
    /// SubagentStop: what kind of sub-agent; empty for one that the agent uses for itself, as to compact.
    #[serde(default)]
    pub agent_type: Option<String>,
    /// SubagentStop: the sub-agent's own transcript.
    #[serde(default)]
    pub agent_transcript_path: Option<PathBuf>,
}

/// Why what a hook was told cannot be used.
#[derive(Debug, Error)]
pub enum InputError {
    /// It cannot be read.
    #[error("read standard input: {0}")]
    Read(#[from] io::Error),
    /// It is larger than any prompt.
    #[error("read standard input: more than {BYTES_MAX} bytes")]
    TooLarge,
    /// It is not what Claude Code says.
    #[error("understand standard input: {0}")]
    NotAnEvent(#[from] serde_json::Error),
}

impl HookInput {
    /// Reads it to its end.
    ///
    /// # Errors
    /// [`InputError`].
    pub fn read(from: impl Read) -> Result<HookInput, InputError> {
        let mut bytes = Vec::new();
        if from.take(BYTES_MAX + 1).read_to_end(&mut bytes)? as u64 > BYTES_MAX {
            return Err(InputError::TooLarge);
        }
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// The transcript that there is something to learn in: a sub-agent's is its own.
    pub fn transcript(&self) -> Option<&Path> {
        self.agent_transcript_path.as_deref().or(self.transcript_path.as_deref())
    }

    /// Why it came to this, in the agent's word.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref().or(self.trigger.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[test]
    fn what_the_agent_says_is_understood() {
        let check = |text: &str, transcript: Option<&str>, why: Option<&str>| {
            let input = HookInput::read(text.as_bytes()).expect("it is understood");
            assert_eq!((input.transcript(), input.reason()), (transcript.map(Path::new), why), "{text}");
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
    fn what_nobody_says_is_an_error() {
        let check = |text: &[u8], expected: Expect| {
            let error = HookInput::read(text).expect_err("it is not understood");
            expected.assert_eq(&error.to_string());
        };
        check(b"", expect!["understand standard input: EOF while parsing a value at line 1 column 0"]);
        check(
            b"[1",
            expect![[
                r#"understand standard input: invalid type: integer `1`, expected a string at line 1 column 2"#
            ]],
        );
        check(b"\xff", expect!["understand standard input: expected value at line 1 column 1"]);
        check(
            br#"{"session_id": 7}"#,
            expect![
                "understand standard input: invalid type: integer `7`, expected a string at line 1 column 16"
            ],
        );
        check(
            br#"{"cwd":"/w"} {"cwd":"/x"}"#,
            expect!["understand standard input: trailing characters at line 1 column 14"],
        );
    }

    #[test]
    fn more_than_any_prompt_is_refused() {
        let error = HookInput::read(io::repeat(b' ')).expect_err("it does not end");
        assert!(matches!(error, InputError::TooLarge), "{error}");
    }
}

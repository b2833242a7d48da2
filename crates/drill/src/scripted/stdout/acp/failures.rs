//! Defines the shapes in which agents report a failed request, as measured with real agents.

use serde_json::{Value, json};
use std::env;

/// How the agent reports a request that failed for good: see [`Shape`].
pub const FAILURES: &str = "LONGHAUL_SCRIPTED_ACP_FAILURES";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::scripted) enum Shape {
    /// An error with `data.errorKind` (`claude-agent-acp` 0.101).
    #[default]
    Kind,
    /// An error whose code is the HTTP status (`gemini` 0.61).
    Status,
    /// An error whose `data.details` starts with the HTTP status (`qwen` 0.24).
    Details,
    /// `end_turn` after a mark in a session update (`codex-acp` 2.6).
    Mark,
    /// `end_turn` without usage after a text that starts with `Error:` (`copilot` 1.0).
    Text,
}

/// A failed request, as the agent's own events describe it.
#[derive(Debug, Clone, Default)]
pub(super) struct FailedRequest {
    /// The vendor's word.
    pub(super) error: String,
    /// The HTTP status. 0 if there was no response.
    pub(super) status: u64,
    pub(super) text: String,
}

impl Shape {
    pub(super) fn read() -> Shape {
        match env::var(FAILURES).unwrap_or_default().as_str() {
            "status" => Shape::Status,
            "details" => Shape::Details,
            "mark" => Shape::Mark,
            "text" => Shape::Text,
            _ => Shape::Kind,
        }
    }

    pub(in crate::scripted) fn agent_name(self) -> &'static str {
        match self {
            Shape::Kind => "scripted-agent",
            Shape::Status => "gemini-cli",
            Shape::Details => "qwen-code",
            Shape::Mark => "codex-acp",
            Shape::Text => "Copilot",
        }
    }

    /// Returns whether an agent with this shape resumes sessions. All of them load sessions.
    pub(in crate::scripted) fn resumes(self) -> bool {
        matches!(self, Shape::Kind | Shape::Details | Shape::Mark)
    }

    /// Returns the updates that report the failure, before the end of the turn.
    pub(super) fn updates(self, failed: &FailedRequest) -> Vec<Value> {
        match self {
            Shape::Kind | Shape::Status | Shape::Details => Vec::new(),
            Shape::Mark => vec![json!({"sessionUpdate": "session_info_update",
                "_meta": {"codex": {"threadStatus": {"type": "systemError"}}}})],
            Shape::Text => vec![json!({"sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": format!("Error: {}", failed.text)}})],
        }
    }

    /// Returns the error that answers the prompt. `None` if the turn ends as if it had succeeded.
    pub(super) fn error(self, failed: &FailedRequest) -> Option<Value> {
        let internal = |data: Value| json!({"code": -32603, "message": "Internal error", "data": data});
        match self {
            Shape::Kind if failed.error == "authentication_failed" => {
                Some(json!({"code": -32000, "message": "Authentication required"}))
            }
            Shape::Kind => Some(internal(json!({"errorKind": failed.error}))),
            Shape::Status if failed.status > 0 => {
                Some(json!({"code": failed.status, "message": failed.text}))
            }
            Shape::Details if failed.status > 0 => {
                Some(internal(json!({"details": format!("{} {}", failed.status, failed.text)})))
            }
            Shape::Status | Shape::Details => Some(internal(json!({"details": failed.text}))),
            Shape::Mark | Shape::Text => None,
        }
    }
}

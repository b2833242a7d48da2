//! The state of a running attempt, for people. No decision uses it.

use crate::{ReviewAnswer, for_user};
use longhaul_core::{AnsweredQuestion, BackgroundTask, BlockedCall, SessionId, Usage};

const ERRORS_MAX: usize = 20;
const ERROR_BYTES_MAX: usize = 4 << 10;
// Calls that are denied because of a URL. An agent with more of them does little else.
const BLOCKED_MAX: usize = 1_000;
const ANSWERED_MAX: usize = 100;
const ANSWERED_BYTES_MAX: usize = 500;
// A line may be four times as long; three copies of it must fit into 200 MB.
const RESULT_BYTES_MAX: usize = 16 << 20;

/// The current state of an attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptSnapshot {
    /// The session, once the agent has reported it.
    pub session: Option<SessionId>,
    /// The model in use.
    pub model: Option<String>,
    /// The agent's version.
    pub version: Option<String>,
    /// The permission mode in effect. It is known before the first request.
    pub permission_mode: Option<String>,
    /// Tool patterns of the guards that match none of the agent's tools.
    pub unmatched_tools: Vec<String>,
    /// The current activity on one line: `Bash: cargo test`.
    pub activity: String,
    /// A running tool call with its most informative argument: `Bash: cargo test`.
    pub tool: Option<String>,
    /// Usage so far.
    pub usage: Usage,
    /// The text of the last result, up to 16 MiB.
    pub result: Option<String>,
    /// The structured answer of a reviewer. `None` for every other process.
    pub review: Option<ReviewAnswer>,
    /// The last text of the model, shown if there is no result.
    pub last_text: String,
    /// Errors that the agent reported, oldest first, bounded.
    pub errors: Vec<String>,
    /// The agent's questions with their answers, oldest first, bounded.
    pub answers: Vec<AnsweredQuestion>,
    /// Calls that were denied because they name a blocked URL, oldest first, bounded.
    pub blocked: Vec<BlockedCall>,
    /// Running background commands and sub-agents, oldest first. At the end of the stream, those that ended
    /// with the process.
    pub background: Vec<BackgroundTask>,
    /// Number of results so far.
    pub results: u32,
    /// Number of events, including those of unknown type.
    pub events: u64,
    /// Whether the agent reported a usage window, which only a subscription has.
    pub has_usage_window: bool,
    /// Number of events of unknown type.
    pub unknown_events: u64,
    /// Number of lines that are not events: not JSON, not UTF-8, too long or truncated.
    pub invalid_lines: u64,
}

impl AttemptSnapshot {
    /// Adds an error for people, unless it repeats the previous one. The agent's diagnostics are dropped.
    pub(crate) fn push_error(&mut self, text: &str) {
        let text = for_user(truncate_to_bytes(text, ERROR_BYTES_MAX));
        if !text.is_empty() && self.errors.last() != Some(&text) && self.errors.len() < ERRORS_MAX {
            self.errors.push(text);
        }
    }

    pub(crate) fn push_blocked(&mut self, call: BlockedCall) {
        if self.blocked.len() < BLOCKED_MAX {
            self.blocked.push(call);
        }
    }

    pub(crate) fn push_answer(&mut self, given_answer: AnsweredQuestion) {
        if self.answers.len() < ANSWERED_MAX {
            let short = |text: String| truncate_to_bytes(&text, ANSWERED_BYTES_MAX).to_owned();
            let AnsweredQuestion { question, answer, key } = given_answer;
            self.answers.push(AnsweredQuestion { question: short(question), answer: short(answer), key });
        }
    }

    pub(crate) fn set_activity(&mut self, activity: &str) {
        activity.clone_into(&mut self.activity);
    }

    pub(crate) fn set_result(&mut self, text: Option<&str>) {
        self.result = text.map(|text| truncate_to_bytes(text, RESULT_BYTES_MAX).to_owned());
    }

    pub(crate) fn set_last_text(&mut self, text: &str) {
        self.last_text.clear();
        self.last_text.push_str(truncate_to_bytes(text, RESULT_BYTES_MAX));
    }
}

pub(crate) fn truncate_to_bytes(text: &str, bytes_max: usize) -> &str {
    let fits = |end: &usize| text.is_char_boundary(*end);
    &text[..(0..=bytes_max.min(text.len())).rev().find(fits).unwrap_or_default()]
}

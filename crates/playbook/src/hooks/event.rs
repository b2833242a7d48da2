//! Defines the session events for which Longhaul installs hooks, and the output of a hook.

use crate::database::QueuedEvent;
use longhaul_core::word_enum;
use serde_json::Value;
use strum::EnumString;

word_enum! {
    /// An event of Claude Code that has a Longhaul hook, with the agent's word, in the order of a session.
    #[derive(EnumString)]
    pub enum HookEvent {
        /// The user sent a prompt. The playbook is injected at the first one.
        UserPromptSubmit = "UserPromptSubmit",
        /// A session starts. The hook runs only after a compaction and injects the playbook again. A
        /// compaction can happen in the middle of an exchange, without a prompt.
        SessionStart = "SessionStart",
        /// A session is about to be compacted.
        PreCompact = "PreCompact",
        /// A sub-agent finished.
        SubagentStop = "SubagentStop",
        /// A session ended.
        SessionEnd = "SessionEnd",
    }
}

impl HookEvent {
    /// Returns the matcher that limits the hook to some events of this kind.
    pub fn matcher(self) -> Option<&'static str> {
        match self {
            HookEvent::SessionStart => Some("compact"),
            HookEvent::UserPromptSubmit
            | HookEvent::SessionEnd
            | HookEvent::PreCompact
            | HookEvent::SubagentStop => None,
        }
    }

    /// Returns the event to queue, or `None` if there is nothing to learn.
    pub fn queued_event(self) -> Option<QueuedEvent> {
        match self {
            HookEvent::SessionEnd => Some(QueuedEvent::SessionEnd),
            HookEvent::PreCompact => Some(QueuedEvent::PreCompact),
            HookEvent::SubagentStop => Some(QueuedEvent::SubagentStop),
            HookEvent::UserPromptSubmit | HookEvent::SessionStart => None,
        }
    }
}

/// Returns the output that adds this text to the model's context: a line of JSON (Claude Code 2.1.330).
pub fn answer(event: HookEvent, text: &str) -> String {
    let text = Value::from(text);
    format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":{text}}}}}"#) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn output_has_format_of_agent() {
        expect![[r#"
            {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"= \"a\"\nb"}}
        "#]]
        .assert_eq(&answer(HookEvent::SessionStart, "= \"a\"\nb"));
    }
}

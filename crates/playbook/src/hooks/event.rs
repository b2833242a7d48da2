//! Defines the session events for which Longhaul installs hooks, and the output of a hook.

use crate::database::QueuedEvent;
use crate::hooks::HookInput;
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

/// Returns whether to learn at this event, by the keys of the ACE playbook hooks in Claude Code's settings.
/// Invalid settings count as empty.
pub fn allows_learning(settings: &str, event: HookEvent, input: &HookInput) -> bool {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    let key = |name: &str, default| settings[name].as_bool().unwrap_or(default);
    match event {
        HookEvent::SessionEnd => match input.reason.as_deref() {
            Some("prompt_input_exit") => key("playbook_update_on_exit", false),
            Some("clear") => key("playbook_update_on_clear", false),
            _ => true,
        },
        HookEvent::SubagentStop => key("playbook_update_on_subagent_stop", true),
        HookEvent::PreCompact => true,
        HookEvent::UserPromptSubmit | HookEvent::SessionStart => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use HookEvent::{PreCompact, SessionEnd, SubagentStop, UserPromptSubmit};
    use expect_test::expect;

    #[test]
    fn output_has_format_of_agent() {
        expect![[r#"
            {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"= \"a\"\nb"}}
        "#]]
        .assert_eq(&answer(HookEvent::SessionStart, "= \"a\"\nb"));
    }

    #[test]
    fn keys_select_sessions() {
        let check = |settings: &str, event: HookEvent, reason: &str, expected: bool| {
            let input = HookInput { reason: Some(reason.to_owned()), ..HookInput::default() };
            let allowed = allows_learning(settings, event, &input);
            assert_eq!(allowed, expected, "{settings} {event} {reason}");
        };
        let every = |value: bool| {
            format!(
                r#"{{"playbook_update_on_exit": {value}, "playbook_update_on_clear": {value},
                     "playbook_update_on_subagent_stop": {value}, "model": "x"}}"#
            )
        };
        for (settings, exit, clear, subagent) in [
            ("{}", false, false, true),
            ("", false, false, true),
            ("// no JSON", false, false, true),
            (r#"{"playbook_update_on_exit": "yes", "playbook_update_on_clear": true}"#, false, true, true),
            (r#"{"playbook_update_on_exit": null}"#, false, false, true),
            (&every(true), true, true, true),
            (&every(false), false, false, false),
        ] {
            check(settings, SessionEnd, "prompt_input_exit", exit);
            check(settings, SessionEnd, "clear", clear);
            check(settings, SubagentStop, "", subagent);
            for reason in ["other", "logout", "", "something new"] {
                check(settings, SessionEnd, reason, true);
            }
            check(settings, PreCompact, "", true);
            check(settings, UserPromptSubmit, "", false);
        }
    }
}

//! Reads the keys in Claude Code's settings that exclude sessions from learning. They are those of the ACE
//! playbook hooks.

use crate::hooks::{HookEvent, HookInput};
use serde_json::Value;

/// Which optional kinds of sessions to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateKeys {
    /// `playbook_update_on_exit`: sessions that the user exited.
    pub on_exit: bool,
    /// `playbook_update_on_clear`: sessions that the user cleared.
    pub on_clear: bool,
    /// `playbook_update_on_subagent_stop`: sub-agents.
    pub on_subagent_stop: bool,
}

impl UpdateKeys {
    /// Reads the keys from settings. Invalid settings count as empty.
    pub fn from_settings(text: &str) -> UpdateKeys {
        let settings: Value = serde_json::from_str(text).unwrap_or_default();
        let key = |name: &str, default| settings[name].as_bool().unwrap_or(default);
        UpdateKeys {
            on_exit: key("playbook_update_on_exit", false),
            on_clear: key("playbook_update_on_clear", false),
            on_subagent_stop: key("playbook_update_on_subagent_stop", true),
        }
    }

    /// Returns whether to learn at this event.
    pub fn allows(self, event: HookEvent, input: &HookInput) -> bool {
        match event {
            HookEvent::SessionEnd => match input.reason.as_deref() {
                Some("prompt_input_exit") => self.on_exit,
                Some("clear") => self.on_clear,
                _ => true,
            },
            HookEvent::SubagentStop => self.on_subagent_stop,
            HookEvent::PreCompact => true,
            HookEvent::UserPromptSubmit | HookEvent::SessionStart => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use HookEvent::{PreCompact, SessionEnd, SubagentStop, UserPromptSubmit};

    #[test]
    fn keys_select_sessions() {
        let check = |settings: &str, event: HookEvent, reason: &str, expected: bool| {
            let input = HookInput { reason: Some(reason.to_owned()), ..HookInput::default() };
            let allowed = UpdateKeys::from_settings(settings).allows(event, &input);
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

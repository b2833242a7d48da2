//! Reads the keys in Claude Code's settings that exclude sessions from learning. They are those of the ACE
//! playbook hooks.

use crate::hooks::{HookEvent, HookInput};
use serde_json::Value;

/// Returns whether to learn at this event. Invalid settings count as empty.
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

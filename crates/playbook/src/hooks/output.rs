//! Writes the output of a hook, which only adds text to the model's context.

use crate::hooks::HookEvent;
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    hook_specific_output: HookSpecificOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookSpecificOutput<'a> {
    hook_event_name: &'static str,
    additional_context: &'a str,
}

/// Returns the output that adds this text to the model's context: a line of JSON (Claude Code 2.1.330).
pub fn answer(event: HookEvent, text: &str) -> String {
    let output = HookSpecificOutput { hook_event_name: event.as_str(), additional_context: text };
    serde_json::to_string(&Answer { hook_specific_output: output }).unwrap_or_default() + "\n"
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

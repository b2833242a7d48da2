//! What a hook answers: nothing but text for the model.

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

/// The answer by which the model is told this text: a line of JSON (Claude Code 2.1.330).
pub fn answer(event: HookEvent, text: &str) -> String {
    let told = HookSpecificOutput { hook_event_name: event.as_str(), additional_context: text };
    serde_json::to_string(&Answer { hook_specific_output: told }).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn an_answer_is_as_the_agent_reads_it() {
        expect![[r#"
            {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"= \"a\"\nb"}}
        "#]]
        .assert_eq(&answer(HookEvent::SessionStart, "= \"a\"\nb"));
    }
}

//! Writes the output of a hook, which only adds text to the model's context.

use crate::hooks::HookEvent;
use serde_json::Value;

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

//! Defines the tool that asks the user. It is offered only if the host answers prompts, and its input then
//! contains the answers. All texts are those of the real agent. The module is pure.

use serde_json::Value;

pub(super) const ASK_USER_QUESTION: &str = "AskUserQuestion";

pub(super) const DISABLED: &str = "<tool_use_error>Error: No such tool available: AskUserQuestion. AskUserQuestion is \
                                   disabled for this session, in subagents as well as here.</tool_use_error>";

/// Returns the tool result that reports the answers to the model.
pub(super) fn render_answers(input: &Value) -> String {
    let questions = input["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let answered: Vec<(&Value, &str)> = questions
        .iter()
        .filter_map(|question| {
            let answer = input["answers"].get(question["question"].as_str()?)?.as_str()?;
            (!answer.is_empty()).then_some((question, answer))
        })
        .collect();
    if answered.is_empty() {
        return "The user did not answer the questions.".to_owned();
    }
    let pairs = answered.iter().map(|(question, answer)| format!("{}=\"{answer}\"", question["question"]));
    let pairs = pairs.collect::<Vec<_>>().join(", ");
    if answered.iter().all(|(question, answer)| is_chosen(question, answer)) {
        return format!(
            "Your questions have been answered: {pairs}. You can now continue with these answers in mind."
        );
    }
    format!(
        "The user answered: {pairs}. Read the answers carefully — they may request clarification, changes, or that you \
         not proceed — and follow what they actually say."
    )
}

/// Returns whether an answer is one of the options, or several of them.
fn is_chosen(question: &Value, answer: &str) -> bool {
    let options = question["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    answer.split(", ").all(|part| options.iter().any(|option| option["label"] == part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_rendered_as_measured() {
        let check = |answer: Value, expected: &str| {
            let question = json!({"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]});
            let input = json!({"questions": [question], "answers": {"Which?": answer}});
            assert!(render_answers(&input).starts_with(expected), "{input}: {}", render_answers(&input));
        };
        check(json!("A"), "Your questions have been answered: \"Which?\"=\"A\". You can");
        check(json!("A, B"), "Your questions have been answered: \"Which?\"=\"A, B\". You can");
        check(json!("C"), "The user answered: \"Which?\"=\"C\". Read");
        check(json!(""), "The user did not answer the questions.");
        check(json!(null), "The user did not answer the questions.");
    }
}

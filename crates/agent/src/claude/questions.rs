//! Answers the tool with which the agent asks a person: the call contains the questions, and our reply adds
//! the answers to its input. The agent offers the tool only if permission prompts are answered over its input
//! (2.1.330).

use crate::{Answers, Question};
use longhaul_core::AnsweredQuestion;
use serde_json::{Map, Value};

pub(super) const QUESTION_TOOL: &str = "AskUserQuestion";

/// Enables the tool. The flag also enables the tools of plan mode, which ends only when a person approves the
/// plan, so an unattended agent would never leave it.
pub(super) const ENABLING_ARGS: [&str; 3] =
    ["--permission-prompt-tool", "stdio", "--disallowedTools=EnterPlanMode,ExitPlanMode"];

/// Returns the input of a call with answers to all its questions, and the answers. `None` if the input is
/// invalid.
pub(super) fn answer(answers: &Answers, input: &Value) -> Option<(Value, Vec<AnsweredQuestion>)> {
    let questions = input.get("questions")?.as_array()?;
    let given_answers: Vec<AnsweredQuestion> =
        questions.iter().map(|item| Some(answers.answer(&question(item)?))).collect::<Option<_>>()?;
    let by_question = given_answers
        .iter()
        .map(|AnsweredQuestion { question, answer, .. }| (question.clone(), answer.as_str().into()));
    let mut input = input.as_object()?.clone();
    // Annotations written by the model are not a person's answers.
    input.remove("annotations");
    input.insert("answers".to_owned(), Value::Object(by_question.collect::<Map<_, _>>()));
    (!given_answers.is_empty()).then_some((Value::Object(input), given_answers))
}

fn question(item: &Value) -> Option<Question<'_>> {
    let options = item.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Some(Question {
        text: item.get("question")?.as_str()?,
        labels: options.iter().filter_map(|option| option.get("label")?.as_str()).collect(),
        is_multiple: item.get("multiSelect") == Some(&Value::Bool(true)),
    })
}

#[cfg(test)]
mod tests {
    use super::answer;
    use crate::Answers;
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    fn check(input: &Value, expected: Expect) {
        let answers = Answers::new([("features".to_owned(), "logs, auth".to_owned())]).expect("they agree");
        let found = answer(&answers, input).map(|(input, given_answers)| {
            let keys = given_answers.iter().map(|given_answer| given_answer.key.as_deref().unwrap_or("-"));
            format!("{input}\n{}", keys.collect::<Vec<_>>().join(" "))
        });
        expected.assert_eq(&found.unwrap_or_else(|| "-".to_owned()));
    }

    #[test]
    fn answers_every_question() {
        let database = json!({ "question": "Which database?", "header": "Database", "multiSelect": false,
            "options": [{ "label": "Postgres", "description": "" }, { "label": "SQLite", "description": "" }] });
        let features = json!({ "question": "Which features?", "header": "Features", "multiSelect": true,
            "options": [{ "label": "Auth", "description": "" }, { "label": "Logs", "description": "" }] });
        check(
            &json!({ "questions": [database, features] }),
            expect![[r#"
            {"answers":{"Which database?":"Postgres","Which features?":"Logs, Auth"},"questions":[{"header":"Database","multiSelect":false,"options":[{"description":"","label":"Postgres"},{"description":"","label":"SQLite"}],"question":"Which database?"},{"header":"Features","multiSelect":true,"options":[{"description":"","label":"Auth"},{"description":"","label":"Logs"}],"question":"Which features?"}]}
            - features"#]],
        );
        // Answers written by the model are replaced.
        check(
            &json!({ "questions": [{ "question": "Which?" }], "answers": { "Which?": "mine" }, "annotations": {} }),
            expect![[r#"
                {"answers":{"Which?":""},"questions":[{"question":"Which?"}]}
                -"#]],
        );
    }

    #[test]
    fn ignores_invalid_input() {
        for input in [
            json!(null),
            json!({}),
            json!({ "questions": [] }),
            json!({ "questions": "Which?" }),
            json!({ "questions": [{ "question": "Which?" }, { "header": "Which" }] }),
        ] {
            check(&input, expect!["-"]);
        }
    }
}

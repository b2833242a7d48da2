//! The tool by which the agent asks a person: its call carries the questions, and is made with the answers among its
//! input. It is offered only where somebody says that prompts are answered over the agent's input (2.1.330).

use crate::{Answers, GivenAnswer, Question};
use serde_json::{Map, Value};

/// Its name.
pub(super) const ASK: &str = "AskUserQuestion";

/// Has it offered. Who answers prompts is also offered the tools of plan mode, and that mode ends when a person has
/// approved of the plan: an agent on its own would never leave it.
pub(super) const OFFERED: [&str; 3] =
    ["--permission-prompt-tool", "stdio", "--disallowedTools=EnterPlanMode,ExitPlanMode"];

/// The input of a call with all its questions answered, and how they were; nothing if it cannot be understood.
pub(super) fn answer(answers: &Answers, input: &Value) -> Option<(Value, Vec<GivenAnswer>)> {
    let questions = input.get("questions")?.as_array()?;
    let answered: Vec<GivenAnswer> =
        questions.iter().map(|asked| Some(answers.answer(&question(asked)?))).collect::<Option<_>>()?;
    let given = answered
        .iter()
        .map(|GivenAnswer { question, answer, .. }| (question.clone(), answer.as_str().into()));
    let mut input = input.as_object()?.clone();
    // Nothing that the model says there itself is an answer of a person.
    input.remove("annotations");
    input.insert("answers".to_owned(), Value::Object(given.collect::<Map<_, _>>()));
    (!answered.is_empty()).then_some((Value::Object(input), answered))
}

fn question(asked: &Value) -> Option<Question<'_>> {
    let options = asked.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Some(Question {
        text: asked.get("question")?.as_str()?,
        labels: options.iter().filter_map(|option| option.get("label")?.as_str()).collect(),
        is_multiple: asked.get("multiSelect") == Some(&Value::Bool(true)),
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
        let found = answer(&answers, input).map(|(input, answered)| {
            let keys = answered.iter().map(|answered| answered.key.as_deref().unwrap_or("-"));
            format!("{input}\n{}", keys.collect::<Vec<_>>().join(" "))
        });
        expected.assert_eq(&found.unwrap_or_else(|| "-".to_owned()));
    }

    #[test]
    fn every_question_of_a_call_is_answered() {
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
        // A model that answers itself is not believed.
        check(
            &json!({ "questions": [{ "question": "Which?" }], "answers": { "Which?": "mine" }, "annotations": {} }),
            expect![[r#"
                {"answers":{"Which?":""},"questions":[{"question":"Which?"}]}
                -"#]],
        );
    }

    #[test]
    fn what_cannot_be_understood_is_not_answered() {
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

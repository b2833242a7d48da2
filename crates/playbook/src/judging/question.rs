//! Asks a judge for a JSON object and defines why there may be no usable answer.

use super::reply::object_with;
use crate::points::render_points;
use crate::{Judge, JudgeError, Playbook, UserError};
use longhaul_core::Fault;
use serde_json::{Map, Value};
use strum::{Display, IntoStaticStr};
use thiserror::Error;

/// The kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum JudgeQuestion {
    /// What happened in a session, and whether its points helped.
    Reflector,
    /// How to change the playbook.
    Curator,
    /// Both questions in one.
    Keypoints,
}

/// Why a transcript was not judged.
#[derive(Debug, Error)]
pub enum JudgingError {
    /// The judge did not answer, or cannot be asked because of a user's template.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// This question can never be answered usably. Others may be.
    #[error("{message}; {hint}", message = .0.message, hint = .0.hint)]
    Never(UserError),
}

impl From<UserError> for JudgingError {
    /// Converts the error of a user's template, which concerns all questions.
    fn from(error: UserError) -> JudgingError {
        let message = format!("{error}; {}", error.hint);
        JudgingError::Judge(JudgeError::unusable(Fault::BadRequest, message))
    }
}

/// Number of attempts. An unusable answer is usually truncated or prose, and the next one differs. After
/// three in a row, the question is the cause.
const ANSWERS_MAX: u32 = 3;
// Enough to see whether a model refused, explained itself or was truncated.
const START_CHARS: usize = 120;

/// Asks for an object that has one of these keys, and repeats the question if the answer is unusable. Earlier
/// questions are not repeated.
pub(super) async fn ask(
    judge: &dyn Judge,
    question: JudgeQuestion,
    prompt: &str,
    keys: &[&str],
) -> Result<Map<String, Value>, JudgingError> {
    let mut text = String::new();
    for _ in 0..ANSWERS_MAX {
        text = judge.ask(prompt, &|_, _| {}).await?.text;
        if let Some(object) = object_with(&text, keys) {
            return Ok(object);
        }
    }
    let keys = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" or ");
    let start: String = text.trim().chars().take(START_CHARS).collect();
    Err(JudgingError::Never(UserError::new(
        format!(
            "cannot use the {question}'s answers: {ANSWERS_MAX} in a row contain no JSON with {keys}; the last one begins with `{start}`"
        ),
        "try another model with AGENTIC_CONTEXT_MODEL",
    )))
}

/// Renders a playbook in the same format as for sessions. No point can close the tag around it.
pub(super) fn render_playbook(playbook: &Playbook) -> String {
    if playbook.is_empty() {
        // A model may take an empty space for an error.
        return "(there are no points yet)".to_owned();
    }
    let points: Vec<_> = playbook.points().collect();
    render_points(&points, 0).replace("</playbook>", "< /playbook>")
}

/// Returns a value as text. Some models return a list or an object where a text is required.
pub(super) fn to_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) => {
            values.iter().map(|value| to_text(Some(value))).collect::<Vec<_>>().join("\n")
        }
        Some(value @ (Value::Bool(_) | Value::Number(_) | Value::Object(_))) => value.to_string(),
    }
}

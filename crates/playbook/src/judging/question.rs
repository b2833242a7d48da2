//! What a judge is asked, and why there may be no answer that can be used.

use super::reply::object_with;
use super::templates::TemplatesError;
use crate::{Judge, JudgeError};
use serde_json::{Map, Value};
use std::fmt;
use thiserror::Error;

/// What a judge is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeQuestion {
    /// What happened in a session, and what its points did.
    Reflector,
    /// What the playbook says from now on.
    Curator,
    /// Both at once.
    Keypoints,
}

/// Why a transcript was not judged.
#[derive(Debug, Error)]
pub enum JudgingError {
    /// The judge did not answer.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// The judge answered something else, as often as it was asked.
    #[error(
        "use the {question}'s answers: {ANSWERS_MAX} in a row hold no JSON with {wanted}; the last one begins with `{beginning}`"
    )]
    UnusableAnswer {
        /// What was asked.
        question: JudgeQuestion,
        /// The keys that it might have had.
        wanted: String,
        /// How the last answer begins.
        beginning: String,
    },
    /// A template of the user's cannot be used.
    #[error(transparent)]
    Template(#[from] TemplatesError),
    /// The playbook, with what is said around it, leaves no room for anything else.
    #[error(
        "ask the {question}: {model} takes {tokens_max} tokens, and the playbook alone leaves no room in them"
    )]
    NoRoom {
        /// What was to be asked.
        question: JudgeQuestion,
        /// The model.
        model: String,
        /// How much it takes.
        tokens_max: u64,
    },
}

/// An answer that cannot be used is most often cut, or prose: asked anew it is another one. Three in a row are a matter of
/// the question.
const ANSWERS_MAX: u32 = 3;
// Enough to see whether a model refused, explained itself or was cut.
const BEGINNING_CHARS: usize = 120;

impl JudgeQuestion {
    /// The word for it, as the database has it.
    pub fn as_str(self) -> &'static str {
        match self {
            JudgeQuestion::Reflector => "reflector",
            JudgeQuestion::Curator => "curator",
            JudgeQuestion::Keypoints => "keypoints",
        }
    }
}

impl fmt::Display for JudgeQuestion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl JudgingError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            JudgingError::Judge(_) => None,
            JudgingError::UnusableAnswer { .. } => {
                Some("try another model with AGENTIC_CONTEXT_MODEL".to_owned())
            }
            JudgingError::Template(error) => Some(error.hint()),
            JudgingError::NoRoom { .. } => Some(
                "take points out with `longhaul playbook edit`, or set a model that takes more".to_owned(),
            ),
        }
    }
}

/// Asks for an object that has one of these keys, a few times if need be. What was asked before this question is not asked
/// again for it.
pub(super) async fn ask(
    judge: &dyn Judge,
    question: JudgeQuestion,
    prompt: &str,
    keys: &[&str],
) -> Result<Map<String, Value>, JudgingError> {
    let mut text = String::new();
    for _ in 0..ANSWERS_MAX {
        text = judge.ask(prompt).await?.text;
        if let Some(object) = object_with(&text, keys) {
            return Ok(object);
        }
    }
    Err(JudgingError::UnusableAnswer {
        question,
        wanted: keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" or "),
        beginning: text.trim().chars().take(BEGINNING_CHARS).collect(),
    })
}

/// A text in an answer: some models give a list or an object where a text is asked for.
pub(super) fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) => {
            values.iter().map(|value| text_of(Some(value))).collect::<Vec<_>>().join("\n")
        }
        Some(value @ (Value::Bool(_) | Value::Number(_) | Value::Object(_))) => value.to_string(),
    }
}

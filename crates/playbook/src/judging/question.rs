//! Asks a judge for a JSON object and defines why there may be no usable answer.

use super::reply::object_with;
use super::templates::TemplatesError;
use crate::{Judge, JudgeError};
use serde_json::{Map, Value};
use std::fmt;
use thiserror::Error;

/// The kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The judge did not answer.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// No answer of the judge was usable, in as many attempts as allowed.
    #[error(
        "cannot use the {question}'s answers: {ANSWERS_MAX} in a row contain no JSON with {keys}; the last one begins with `{start}`"
    )]
    UnusableAnswer {
        /// Question that was asked.
        question: JudgeQuestion,
        /// Keys of which one was required.
        keys: String,
        /// Start of the last answer.
        start: String,
    },
    /// A user's template cannot be used.
    #[error(transparent)]
    Template(#[from] TemplatesError),
    /// The playbook and the fixed text of the prompt leave no room for the transcript.
    #[error(
        "cannot ask the {question}: {model} accepts {tokens_max} tokens, and the playbook leaves no room for the transcript"
    )]
    NoRoom {
        /// Question to ask.
        question: JudgeQuestion,
        /// Model of the judge.
        model: String,
        /// Maximum length of a prompt, in tokens.
        tokens_max: u64,
    },
}

/// Number of attempts. An unusable answer is usually truncated or prose, and the next one differs. After
/// three in a row, the question is the cause.
const ANSWERS_MAX: u32 = 3;
// Enough to see whether a model refused, explained itself or was truncated.
const START_CHARS: usize = 120;

impl JudgeQuestion {
    /// Returns the word that the database uses.
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
    /// Returns what the user can do about it, if anything.
    pub fn hint(&self) -> Option<String> {
        match self {
            JudgingError::Judge(_) => None,
            JudgingError::UnusableAnswer { .. } => {
                Some("try another model with AGENTIC_CONTEXT_MODEL".to_owned())
            }
            JudgingError::Template(error) => Some(error.hint()),
            JudgingError::NoRoom { .. } => Some(
                "remove points with `longhaul playbook edit`, or set a model that accepts more tokens"
                    .to_owned(),
            ),
        }
    }
}

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
        text = judge.ask(prompt).await?.text;
        if let Some(object) = object_with(&text, keys) {
            return Ok(object);
        }
    }
    Err(JudgingError::UnusableAnswer {
        question,
        keys: keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" or "),
        start: text.trim().chars().take(START_CHARS).collect(),
    })
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

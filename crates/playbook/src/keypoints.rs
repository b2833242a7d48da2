//! What one transcript teaches, in one question: new points, and how those of the playbook did. It changes no playbook.
//!
//! Everything that the question needs is there before it is asked, only the request is made again when it fails, and the
//! answer is read after that. Whatever happens, there is a result: an empty one says why.

use crate::Playbook;
use crate::diagnostics::{Diagnostics, KEYPOINTS};
use crate::judge::{Clock, Judge, JudgeError, Reply, RetryAdvice};
use crate::judging::{Excerpt, Template, Templates, TemplatesError, object_with};
use longhaul_core::Fault;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a transcript teaches.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extraction {
    /// What a playbook does not know yet.
    pub new_key_points: Vec<NewPoint>,
    /// How the points of the playbook did.
    pub evaluations: Vec<Evaluation>,
    /// What is to be done to the playbook, in a curator's words, where the judge says that: it goes before the new points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<Value>>,
}

/// Something new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum NewPoint {
    /// Of no section in particular.
    Text(String),
    /// Of a section.
    Placed {
        /// What it says.
        text: String,
        /// The title of its section.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        section: Option<String>,
    },
}

/// How a point did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// The point.
    pub name: String,
    /// `helpful`, `harmful` or `neutral`.
    pub rating: String,
    /// What in the record shows it, if the judge says so.
    #[serde(default, deserialize_with = "text_or_none", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub justification: Option<String>,
}

/// Reads a text. An evaluation counts even if its justification is something else.
fn text_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Value::deserialize(from)?.as_str().map(str::to_owned))
}

/// What came of asking.
#[derive(Clone, Debug)]
pub struct ExtractionResult {
    /// What was learnt; nothing at all if there is a failure.
    pub extraction: Extraction,
    /// What was answered, for what it cost.
    pub reply: Option<Reply>,
    /// Why nothing was learnt.
    pub failure: Option<JudgeError>,
}

impl ExtractionResult {
    /// Nothing was asked, or nothing answered.
    pub fn nothing(failure: JudgeError) -> ExtractionResult {
        ExtractionResult { extraction: Extraction::default(), reply: None, failure: Some(failure) }
    }
}

/// The question: what was said, and the points that the playbook has, by name.
///
/// # Errors
/// If the user's own template cannot be used.
pub fn prompt(templates: &Templates, slice: &Excerpt, playbook: &Playbook) -> Result<String, TemplatesError> {
    let points: BTreeMap<&str, &str> =
        playbook.points().map(|(_, point)| (point.name.as_str(), point.text.as_str())).collect();
    // Two texts are always JSON. What is within cannot close the tag that it stands in.
    let points = serde_json::to_string_pretty(&points).unwrap_or_default().replace("</", "<\\/");
    templates.fill(Template::Reflection, &[("trajectories", &slice.trajectories()), ("playbook", &points)])
}

/// Asks what a transcript teaches. The text about the answer has this name.
pub async fn extract(
    judge: &dyn Judge,
    prompt: &str,
    clock: &dyn Clock,
    diagnostics: &Diagnostics,
    name: &str,
) -> ExtractionResult {
    let reply = match judge.ask(prompt).await {
        Ok(reply) => reply,
        Err(error) => return ExtractionResult::nothing(error),
    };
    diagnostics.answered(clock.now().at, KEYPOINTS, name, prompt, &reply.text);
    match parse(&reply.text) {
        Some(extraction) => ExtractionResult { extraction, reply: Some(reply), failure: None },
        None => {
            let said = format!("the answer of {} holds no key points that can be read", reply.model);
            let failure = JudgeError {
                fault: Fault::Unfinished,
                retry: RetryAdvice::Never,
                message: said,
                requests: 1,
            };
            ExtractionResult { reply: Some(reply), ..ExtractionResult::nothing(failure) }
        }
    }
}

/// The key points in an answer; nothing if nothing in it says any. What is not as it should be within is left out.
fn parse(answer: &str) -> Option<Extraction> {
    let mut object = object_with(answer, &["new_key_points", "evaluations", "operations"])?;
    let mut list = |key: &str| match object.remove(key) {
        Some(Value::Array(items)) => Some(items),
        Some(_) | None => None,
    };
    Some(Extraction {
        new_key_points: readable(list("new_key_points")),
        evaluations: readable(list("evaluations")),
        operations: list("operations"),
    })
}

fn readable<T: for<'a> Deserialize<'a>>(items: Option<Vec<Value>>) -> Vec<T> {
    items.into_iter().flatten().filter_map(|item| serde_json::from_value(item).ok()).collect()
}

#[cfg(test)]
mod tests;

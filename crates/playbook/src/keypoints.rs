//! Asks one question about one transcript: which points are new, and how the points of the playbook
//! performed. It changes no playbook.
//!
//! All inputs are read before the question is asked, and only the request is retried. There is always a
//! result; an empty one has a reason.

use crate::diagnostics::Diagnostics;
use crate::judge::{Clock, Judge, JudgeError, JudgeReply, RequestEvent, RequestObserver, RetryAdvice};
use crate::judging::{Excerpt, JudgeQuestion, object_with};
use crate::templates::{Template, Templates};
use crate::{Playbook, UserError};
use longhaul_core::Fault;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The lessons from a transcript.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extraction {
    /// Points that are not in the playbook yet.
    pub new_key_points: Vec<NewPoint>,
    /// Ratings of the playbook's points.
    pub evaluations: Vec<Evaluation>,
    /// Operations in the curator's format, if the judge returned any. They are applied before the new points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<Value>>,
}

/// A new point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum NewPoint {
    /// Without a section.
    Text(String),
    /// With a section.
    WithSection {
        /// Text of the point.
        text: String,
        /// Title of the section.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        section: Option<String>,
    },
}

/// The rating of a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// Id of the point.
    pub name: String,
    /// `helpful`, `harmful` or `neutral`.
    pub rating: String,
    /// Evidence from the transcript, if the judge gave any.
    #[serde(default, deserialize_with = "text_or_none", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub justification: Option<String>,
}

/// Reads a text. An evaluation counts even if its justification has another type.
fn text_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_str().map(str::to_owned))
}

/// The result of an extraction.
#[derive(Clone, Debug, Default)]
pub struct ExtractionResult {
    /// Lessons; empty after a failure.
    pub extraction: Extraction,
    /// Reply, which includes the cost.
    pub reply: Option<JudgeReply>,
    /// Why there are no lessons.
    pub failure: Option<JudgeError>,
}

/// Builds the question from the messages and the playbook's points by id.
pub fn prompt(templates: &Templates, slice: &Excerpt, playbook: &Playbook) -> Result<String, UserError> {
    let points: BTreeMap<&str, &str> =
        playbook.points().map(|(_, point)| (point.name.as_str(), point.text.as_str())).collect();
    // Serializing a map of texts never fails. No point can close the tag around it.
    let points = serde_json::to_string_pretty(&points).unwrap_or_default().replace("</", "<\\/");
    templates.fill(Template::Reflection, &[("trajectories", &slice.trajectories()), ("playbook", &points)])
}

/// Asks for the lessons from a transcript. The diagnostics of the answer have this name.
pub async fn extract(
    judge: &dyn Judge,
    prompt: &str,
    clock: &dyn Clock,
    diagnostics: &Diagnostics,
    name: &str,
    observer: RequestObserver<'_>,
) -> ExtractionResult {
    let question = JudgeQuestion::Keypoints;
    let observe = |at, event: RequestEvent<'_>| {
        diagnostics.write_request(at, question, event);
        observer(at, event);
    };
    let reply = match judge.ask(prompt, &observe).await {
        Ok(reply) => reply,
        Err(error) => return ExtractionResult { failure: Some(error), ..ExtractionResult::default() },
    };
    diagnostics.write_answer(clock.now().at, question, Some(name), prompt, &reply.text);
    let extraction = parse(&reply.text);
    let failure = extraction.is_none().then(|| JudgeError {
        fault: Fault::Unfinished,
        retry: RetryAdvice::Never,
        message: format!("the answer of {} contains no readable key points", reply.model),
        requests: 1,
    });
    ExtractionResult { extraction: extraction.unwrap_or_default(), reply: Some(reply), failure }
}

/// Parses the key points of an answer, or returns `None` if it has none. Invalid entries are skipped.
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

//! Asks the curator how to change the playbook. The curator sees the reflection and the playbook, never the
//! transcript: text from a transcript reaches a playbook only through two judges.

use super::question::{JudgeQuestion, JudgingError, ask, to_text};
use super::reflection::Reflection;
use super::render_playbook;
use super::templates::{Template, Templates};
use crate::{Judge, Playbook};
use serde_json::Value;

/// The answer of the curator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curation {
    /// Reasoning of the curator.
    pub reasoning: String,
    /// Requested operations, unparsed. The playbook decides which of them are valid.
    pub operations: Vec<Value>,
}

/// Asks the curator how to change the playbook, which is shown with its updated counters. An empty reflection
/// is not sent.
///
/// # Errors
/// Returns [`JudgingError`] if there is no usable answer.
pub async fn curate(
    judge: &dyn Judge,
    reflection: &Reflection,
    playbook: &Playbook,
    templates: &Templates,
) -> Result<Curation, JudgingError> {
    if reflection.analysis.trim().is_empty() && reflection.tags.is_empty() {
        return Ok(Curation::default());
    }
    // Serializing texts and names never fails. In JSON `<\/` equals `</`, and it closes no tag.
    let findings = serde_json::to_string_pretty(reflection).unwrap_or_default().replace("</", "<\\/");
    let playbook = render_playbook::points(&render_playbook::with_updated_counters(playbook, reflection));
    let values = [("reflector_output", &*findings), ("playbook", &*playbook)];
    let prompt = templates.fill(Template::Curator, &values)?;
    let object = ask(judge, JudgeQuestion::Curator, &prompt, &["operations"]).await?;
    let operations = match object.get("operations") {
        Some(Value::Array(operations)) => operations.clone(),
        _ => Vec::new(),
    };
    Ok(Curation { reasoning: to_text(object.get("reasoning")), operations })
}

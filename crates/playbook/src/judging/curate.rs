//! Asks the curator how to change the playbook. The curator sees the reflection and the playbook, never the
//! transcript: text from a transcript reaches a playbook only through two judges.

use super::question::{JudgeQuestion, JudgingError, ask, render_playbook};
use super::reflect::Reflection;
use crate::templates::{Template, Templates};
use crate::{Judge, Playbook};
use serde_json::Value;

/// Asks the curator how to change the playbook, which is shown with its updated counters. An empty reflection
/// is not sent. Returns the requested operations, unparsed: the playbook decides which of them are valid.
///
/// # Errors
/// Returns [`JudgingError`] if there is no usable answer.
pub async fn curate(
    judge: &dyn Judge,
    reflection: &Reflection,
    playbook: &Playbook,
    templates: &Templates,
) -> Result<Vec<Value>, JudgingError> {
    if reflection.is_empty() {
        return Ok(Vec::new());
    }
    // Serializing texts and names never fails. In JSON `<\/` equals `</`, and it closes no tag.
    let findings = serde_json::to_string_pretty(reflection).unwrap_or_default().replace("</", "<\\/");
    let mut counted = playbook.clone();
    for tag in &reflection.tags {
        counted.count(&tag.name, tag.tag);
    }
    let values = [("reflector_output", &*findings), ("playbook", &*render_playbook(&counted))];
    let prompt = templates.fill(Template::Curator, &values)?;
    let object = ask(judge, JudgeQuestion::Curator, &prompt, &["operations"]).await?;
    Ok(match object.get("operations") {
        Some(Value::Array(operations)) => operations.clone(),
        _ => Vec::new(),
    })
}

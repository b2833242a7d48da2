//! The curator: what the playbook says from now on. It sees what the reflector said and the playbook, and never the
//! transcript: what stands in that reaches a playbook only through two judges.

use super::question::{JudgeQuestion, JudgingError, ask, text_of};
use super::reflection::Reflection;
use super::render_playbook;
use super::templates::{Template, Templates};
use crate::{Judge, Playbook};
use serde_json::Value;

/// What the curator said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curation {
    /// Why, in its words.
    pub reasoning: String,
    /// What is to be done, as it wrote it: which of it can be done is the playbook's matter.
    pub operations: Vec<Value>,
}

/// Has the curator decide about a playbook, which it is shown with its counters as they will be. A reflection that says
/// nothing is not put before it.
///
/// # Errors
/// [`JudgingError`].
pub async fn curate(
    judge: &dyn Judge,
    reflection: &Reflection,
    playbook: &Playbook,
    templates: &Templates,
) -> Result<Curation, JudgingError> {
    if reflection.analysis.trim().is_empty() && reflection.tags.is_empty() {
        return Ok(Curation::default());
    }
    // Texts and names are always JSON. `<\/` is the same there as `</`, and closes no tag.
    let findings = serde_json::to_string_pretty(reflection).unwrap_or_default().replace("</", "<\\/");
    let playbook = render_playbook::points(&render_playbook::counted(playbook, reflection));
    let values = [("reflector_output", &*findings), ("playbook", &*playbook)];
    let prompt = templates.fill(Template::Curator, &values)?;
    let object = ask(judge, JudgeQuestion::Curator, &prompt, &["operations"]).await?;
    let operations = match object.get("operations") {
        Some(Value::Array(operations)) => operations.clone(),
        _ => Vec::new(),
    };
    Ok(Curation { reasoning: text_of(object.get("reasoning")), operations })
}

//! What a judge is asked about a transcript, and what its answers mean.
//!
//! A [`Slice`] is what a judge may see of some bytes of a transcript; [`Templates`] make a prompt of it. [`reflect()`] asks
//! what happened, [`curate()`] what the playbook says from now on. Nothing here keeps anything, makes a request again that
//! failed, or does what a transcript says.

mod chunks;
mod curate;
mod excerpt;
mod merge_reflections;
mod question;
mod reflect;
mod reflection;
mod render_playbook;
mod reply;
mod template;
mod templates;

pub use curate::{Curation, curate};
pub use excerpt::{Excerpt, ExcerptError, ExcerptMessage, Role, row_ids};
pub use question::{JudgeQuestion, JudgingError};
pub(crate) use reflect::PARTS_MAX;
pub use reflect::{ReflectionResult, reflect};
pub use reflection::{Reflection, Tag, Verdict};
pub use reply::object_with;
pub use template::{TemplateError, TemplateProblem};
pub use templates::{Template, Templates, TemplatesError};

/// The beginning of a text, with a sign that there was more.
fn beginning(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;

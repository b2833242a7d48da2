//! What a judge is asked about a transcript, and what its answers mean.
//!
//! A [`Slice`] is what a judge may see of some bytes of a transcript; [`Templates`] make a prompt of it. [`reflect()`] asks
//! what happened, [`curate()`] what the playbook says from now on. Nothing here keeps anything, makes a request again that
//! failed, or does what a transcript says.

mod curate;
mod merge;
mod parts;
mod question;
mod reflect;
mod reflection;
mod reply;
mod shown;
mod slice;
mod template;
mod templates;

pub use curate::{Curation, curate};
pub use question::{JudgingError, Question};
pub use reflect::{Reflected, reflect};
pub use reflection::{Reflection, Tag, Verdict};
pub use reply::{object_with, objects};
pub use slice::{Message, Role, Slice, SliceError, row_ids};
pub use template::{TemplateError, TemplateProblem, fill};
pub use templates::{Template, Templates, TemplatesError};

#[cfg(test)]
mod tests;

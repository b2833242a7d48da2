//! What a judge is asked about a transcript, and what its answers mean.
//!
//! A [`Slice`] is what a judge may see of some bytes of a transcript; [`Templates`] make a prompt of it. Nothing here keeps
//! anything, asks twice on its own account, or does what a transcript says.

mod reflection;
mod reply;
mod slice;
mod template;
mod templates;

pub use reflection::{Reflection, Tag, Verdict};
pub use reply::{object_with, objects};
pub use slice::{Message, Role, Slice, SliceError, row_ids};
pub use template::{TemplateError, TemplateProblem, fill};
pub use templates::{Template, Templates, TemplatesError};

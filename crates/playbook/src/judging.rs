//! Questions a judge about a transcript and interprets its answers.
//!
//! An [`Excerpt`] is the part of a transcript that a judge may see; [`Templates`](crate::Templates) turn it into a prompt.
//! [`reflect()`] asks what happened, and [`curate()`] asks how to change the playbook.
//!
//! This module stores nothing, retries no failed request, and never follows instructions in a transcript.

mod chunks;
mod curate;
mod excerpt;
mod question;
mod reflect;
mod reply;

pub use curate::curate;
pub use excerpt::{Excerpt, ExcerptMessage, Role, row_ids};
pub use question::{JudgeQuestion, JudgingError};
pub(crate) use reflect::PARTS_MAX;
pub use reflect::{Reflection, ReflectionResult, reflect};
pub use reply::object_with;

#[cfg(test)]
mod tests;

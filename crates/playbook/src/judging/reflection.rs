//! Defines the answer of the reflector.

use crate::points::Tag;
use serde::{Deserialize, Serialize};

/// The reflector's answer about a session or a slice of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reflection {
    /// What happened and what to learn from it. The curator reads this.
    #[serde(default)]
    pub analysis: String,
    /// Verdicts about the points.
    #[serde(default, rename = "bullet_tags")]
    pub tags: Vec<Tag>,
}

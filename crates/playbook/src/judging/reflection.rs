//! Defines the answer of the reflector.

use crate::PointId;
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

/// The verdict about one point in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Id of the point.
    pub name: PointId,
    /// Verdict.
    pub tag: PointVerdict,
    /// Reason for the verdict.
    #[serde(default)]
    pub rationale: String,
}

/// The effect of a point in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointVerdict {
    /// It helped.
    Helpful,
    /// It did harm.
    Harmful,
    /// It had no effect, or it was not used.
    Neutral,
}

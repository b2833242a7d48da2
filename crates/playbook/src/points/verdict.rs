//! Defines a judge's verdicts about points. It counts none.

use super::PointId;
use serde::{Deserialize, Serialize};

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

//! What the reflector says of a session.

use crate::PointId;
use serde::{Deserialize, Serialize};

/// What the reflector says of a session, or of a slice of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reflection {
    /// What happened, and what is to be learnt from it; the curator reads it.
    #[serde(default)]
    pub analysis: String,
    /// What each point did.
    #[serde(default, rename = "bullet_tags")]
    pub tags: Vec<Tag>,
}

/// What one point did in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The point.
    pub name: PointId,
    /// What it did.
    pub tag: Verdict,
    /// Why that is thought.
    #[serde(default)]
    pub rationale: String,
}

/// What a point did in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It helped.
    Helpful,
    /// It did harm.
    Harmful,
    /// Neither, or it played no part.
    Neutral,
}

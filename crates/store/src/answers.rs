//! What an attempt's agent asked, and how it was answered: `attempts/NNN/answers.json`, derived from its stream when
//! the attempt is over. People read it; nothing is decided by it.

use serde::{Deserialize, Serialize};

/// A question that was answered. Long texts are cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnsweredQuestion {
    /// What was asked.
    pub question: String,
    /// What was said; empty for nothing.
    pub answer: String,
    /// The key of the answer that fitted; nothing if none did, and the default was taken.
    pub key: Option<String>,
}

//! Questions of an attempt's agent and their answers: `attempts/NNN/answers.json`, derived from the stream
//! when the attempt ends. The file is for people; no decision depends on it.

use serde::{Deserialize, Serialize};

/// A question that was answered. Long texts are truncated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnsweredQuestion {
    /// The agent's question.
    pub question: String,
    /// The answer the agent received. Empty if there was none.
    pub answer: String,
    /// Key of the configured answer that matched. `None` if none matched and the default was sent.
    pub key: Option<String>,
}

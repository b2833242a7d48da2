//! Stores the usage of an attempt by model: `attempts/NNN/usage.json`, derived from its stream once a second
//! and at its end. The journal has the sums of ended attempts; no decision reads this file.

use longhaul_core::{Dollars, Tokens, Usage};
use serde::{Deserialize, Serialize};

/// The usage of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelUsage {
    /// Name of the model as the agent reports it; empty if it is unknown.
    pub model: String,
    /// Reported cost.
    #[serde(rename = "reported_cost_usd")]
    pub cost: Dollars,
    /// Estimated cost.
    #[serde(rename = "estimated_cost_usd")]
    pub estimated_cost: Dollars,
    /// Whether some tokens could not be priced.
    pub unpriced: bool,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Estimated tokens of truncated messages.
    pub truncated_tokens: Tokens,
    /// Number of completed messages.
    pub messages: u32,
}

impl ModelUsage {
    /// Returns this usage of a model.
    pub fn new(model: String, usage: Usage) -> ModelUsage {
        ModelUsage {
            model,
            cost: usage.reported_cost.into(),
            estimated_cost: usage.estimated_cost.into(),
            unpriced: usage.unpriced,
            tokens: usage.tokens,
            truncated_tokens: usage.truncated_tokens,
            messages: usage.messages,
        }
    }
}

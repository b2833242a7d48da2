//! Stores the usage of an attempt by model: `attempts/NNN/usage.json`, derived from its stream once a second
//! and at its end. The journal has the sums of ended attempts; no decision reads this file.

use crate::dollars;
use longhaul_core::{Tokens, Usd};
use serde::{Deserialize, Serialize};

/// The usage of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelUsage {
    /// Name of the model as the agent reports it; empty if it is unknown.
    pub model: String,
    /// Reported cost.
    #[serde(rename = "reported_cost_usd", with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost: Usd,
    /// Estimated cost.
    #[serde(rename = "estimated_cost_usd", with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost: Usd,
    /// Whether some tokens could not be priced.
    pub unpriced: bool,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Estimated tokens of truncated messages.
    pub truncated_tokens: Tokens,
    /// Number of completed messages.
    pub messages: u32,
}

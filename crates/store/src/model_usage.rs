//! Usage of an attempt by model: `attempts/NNN/spent.json`, derived from its stream once a second and at its end. The
//! journal has the sums of ended attempts; no decision reads this file.

use crate::dollars;
use longhaul_core::{Tokens, Usd};
use serde::{Deserialize, Serialize};

/// What was used with one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelUsage {
    /// The model as the agent names it; empty where nobody said which one.
    pub model: String,
    /// What the vendor stated.
    #[serde(rename = "cost_usd", with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost: Usd,
    /// What we priced besides.
    #[serde(rename = "estimated_cost_usd", with = "dollars")]
    #[cfg_attr(feature = "schema", schemars(with = "longhaul_core::schema::Dollars"))]
    pub estimated_cost: Usd,
    /// Whether some of it has no price.
    pub unpriced: bool,
    /// Tokens of completed messages.
    pub tokens: Tokens,
    /// Tokens of cut messages, estimated.
    pub truncated_tokens: Tokens,
    /// Completed messages.
    pub messages: u32,
}

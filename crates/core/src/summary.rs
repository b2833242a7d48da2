//! Older work in a model's words: what came of asking for them, for a new session that is told the record.
//! Whether they are asked for, and for how long, is the policy's; which model, only the world knows.

use crate::{Evidence, Fault, Usage, classify};
use serde::{Deserialize, Serialize};

/// What the world has to say of an order to condense, once nothing of it is left.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has few of them, and none is kept")]
pub enum SummaryReport {
    /// Nothing is older than what is told nearly whole: no model was asked.
    NotNeeded,
    /// The model's process is gone, or never was; this is what it leaves.
    Ended(Evidence),
}

/// What came of an order to condense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SummaryResult {
    /// There is a summary.
    Written,
    /// There was nothing to condense.
    NotNeeded,
    /// There is none, for this fault. The record is told without it.
    Failed(Fault),
}

/// What a condensation came to, and what it used.
pub(crate) fn summary_result(summary_report: &SummaryReport) -> (SummaryResult, Usage) {
    match summary_report {
        SummaryReport::NotNeeded => (SummaryResult::NotNeeded, Usage::default()),
        SummaryReport::Ended(evidence) => {
            (classify(evidence).map_or(SummaryResult::Written, SummaryResult::Failed), evidence.usage)
        }
    }
}

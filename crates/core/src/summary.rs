//! Summaries: older work in a model's words, for a handoff prompt. The core never reads one.

use crate::{Evidence, Fault, Span, Usage, classify};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// How a model summarizes older work for a handoff prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HandoffSummary {
    /// The model, as the agent names it.
    pub model: String,
    /// Timeout of the summary. After it, the handoff prompt is sent without the summary.
    pub timeout: Span,
}

impl HandoffSummary {
    /// Creates the settings of a summary by this model.
    pub fn new(model: impl Into<String>, timeout: Span) -> HandoffSummary {
        HandoffSummary { model: model.into(), timeout }
    }
}

/// Report on a summary, sent once none of its processes is left.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has few of them, and none is kept")]
pub enum SummaryReport {
    /// All work is recent enough to be quoted nearly in full, so no model ran.
    NotNeeded,
    /// The model's process is gone or never started; this is its evidence.
    Ended(Evidence),
}

/// The result of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SummaryResult {
    /// The summary exists.
    Written,
    /// There was nothing to summarize.
    NotNeeded,
    /// The summary failed with this fault. The handoff prompt is sent without it.
    Failed(Fault),
}

pub(crate) fn summary_result(summary_report: &SummaryReport) -> (SummaryResult, Usage) {
    match summary_report {
        SummaryReport::NotNeeded => (SummaryResult::NotNeeded, Usage::default()),
        SummaryReport::Ended(evidence) => {
            (classify(evidence).map_or(SummaryResult::Written, SummaryResult::Failed), evidence.usage)
        }
    }
}

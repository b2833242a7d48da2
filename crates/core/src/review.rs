//! Reviews: a model that reads the work as the last part of a check. The core reads only its structured verdict.

use crate::{Evidence, Fault, OutageBound, Policy, Remedy, Span, StopCause, classify, remedy};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

// A reviewer that crashed or gave no answer three times fails for a reason that a further request does not
// change.
const RETRIES_MAX: u32 = 2;

/// How a model reviews the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Review {
    /// The model, as the agent names it. `None` for the model of the run.
    pub model: Option<String>,
    /// Timeout of one reviewer process. After it, the reviewer is started again, a bounded number of times.
    pub timeout: Span,
}

impl Review {
    /// Creates a review with the default timeout.
    pub fn new(model: Option<String>) -> Review {
        // A reviewer that reads many files takes a few minutes. One that takes longer more likely hangs.
        Review { model, timeout: Span::from_mins(10) }
    }
}

/// The verdict in a reviewer's structured answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewVerdict {
    /// Whether the reviewer considers the task complete.
    pub complete: bool,
    /// Number of missing things that it lists.
    pub missing: u32,
}

/// The result of one reviewer process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReviewResult {
    /// The task is complete.
    Passed,
    /// The task is not complete. Contains the number of things that are missing; 0 if the reviewer named none.
    Failed(u32),
    /// The reviewer gave no verdict, because of this fault.
    NoVerdict(Fault),
}

/// Returns the result of a reviewer with this evidence. An answer that contradicts itself does not pass.
pub(crate) fn review_result(evidence: &Evidence) -> ReviewResult {
    match (classify(evidence), evidence.review) {
        // A reviewer that was not allowed to read some file still has a verdict.
        (None | Some(Fault::Permission), Some(ReviewVerdict { complete: true, missing: 0 })) => {
            ReviewResult::Passed
        }
        (None | Some(Fault::Permission), Some(verdict)) => ReviewResult::Failed(verdict.missing),
        (None, None) if evidence.stop_cause == Some(StopCause::LimitReached) => {
            ReviewResult::NoVerdict(Fault::Interrupted)
        }
        (None, None) => ReviewResult::NoVerdict(Fault::Unfinished),
        (Some(fault), _) => ReviewResult::NoVerdict(fault),
    }
}

/// The reaction to a reviewer without a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewRetry {
    /// Start it again, at most this often and within this time since the first reviewer of the check.
    Within { retries_max: u32, time: Span },
    /// Wait for the reset of the usage window.
    AfterReset,
    /// Give up: a further request would fail in the same way.
    Never,
}

impl Policy {
    /// Returns how often the reviewer of one check is started again after a fault that is no outage.
    pub fn review_retries_max(&self) -> u32 {
        self.retries_max.min(RETRIES_MAX)
    }

    /// Returns how a review is retried after this fault. An outage of the API has the bound of the run's
    /// outages.
    pub(crate) fn review_retry(&self, fault: Fault) -> ReviewRetry {
        let unlimited = Span(u64::MAX);
        match (remedy(fault), self.outage_bound) {
            (Remedy::WaitOut, OutageBound::Time(limit)) => {
                ReviewRetry::Within { retries_max: u32::MAX, time: limit.unwrap_or(unlimited) }
            }
            (Remedy::WaitOut, OutageBound::Retries) => {
                ReviewRetry::Within { retries_max: self.retries_max, time: unlimited }
            }
            (Remedy::Park, _) => ReviewRetry::AfterReset,
            (
                Remedy::Resume
                | Remedy::ResumeOnce
                | Remedy::ResumeWhileProgressing
                | Remedy::RetryOnce
                | Remedy::Nudge(_),
                _,
            ) => ReviewRetry::Within { retries_max: self.review_retries_max(), time: unlimited },
            (
                Remedy::ResumeWithinLimit
                | Remedy::ResumeExisting
                | Remedy::ReplaceLostSession
                | Remedy::ReplaceFullSession
                | Remedy::TryFork
                | Remedy::KeepGoing
                | Remedy::End
                | Remedy::EndUnlessAllowed,
                _,
            ) => ReviewRetry::Never,
        }
    }
}

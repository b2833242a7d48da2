//! Describes, for the journal, the state in which a new supervisor found a run.
//!
//! The finding informs people and affects no decision. Decisions follow from the run's phase and the
//! evidence.

use super::Phase;
use crate::{Exit, FoundAttempt, classify};
use serde::{Deserialize, Serialize};

/// The state in which a new supervisor found a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecoveryFinding {
    /// The agent is running and is supervised again.
    AgentRunning,
    /// The agent succeeded while no supervisor ran.
    AgentFinished,
    /// The agent is gone and had not finished its work.
    AgentGone,
    /// The attempt was planned but not started.
    NotStarted,
    /// A model was about to summarize older work.
    Summarizing,
    /// A check was running.
    Checking,
    /// The attempt had ended, and its leftover processes were to be stopped.
    Sweeping,
    /// The run was waiting for its next attempt.
    Waiting,
    /// SIGTERM or SIGHUP had suspended the run.
    Suspended,
    /// The run had finished, but no supervisor had reported it.
    Finished,
}

/// Returns the finding for a run in this phase, or `None` if the run had not started.
pub(crate) fn finding(phase: &Phase, found: &FoundAttempt) -> Option<RecoveryFinding> {
    let evidence = match found {
        FoundAttempt::Running(_) => return Some(RecoveryFinding::AgentRunning),
        FoundAttempt::Ended(evidence) => evidence,
    };
    Some(match phase {
        Phase::New => return None,
        Phase::Starting if evidence.exit == Exit::NeverSpawned => RecoveryFinding::NotStarted,
        Phase::Starting | Phase::Running | Phase::Closing { .. } if classify(evidence).is_none() => {
            RecoveryFinding::AgentFinished
        }
        Phase::Starting | Phase::Running | Phase::Closing { .. } | Phase::Stopping { .. } => {
            RecoveryFinding::AgentGone
        }
        Phase::Summarizing { .. } => RecoveryFinding::Summarizing,
        Phase::Checking { .. } => RecoveryFinding::Checking,
        Phase::Sweeping { .. } => RecoveryFinding::Sweeping,
        Phase::Waiting { .. } => RecoveryFinding::Waiting,
        Phase::Suspended { .. } => RecoveryFinding::Suspended,
        Phase::Finished { .. } => RecoveryFinding::Finished,
    })
}

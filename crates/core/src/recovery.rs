//! What a dead supervisor left of a run, as the next one writes it down. It tells people what happened, and decides nothing:
//! what is done about it is decided by the run's phase and by what was found.

use crate::run::Phase;
use crate::{Exit, FoundAttempt, classify};
use serde::{Deserialize, Serialize};

/// What a new supervisor found of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecoveryFinding {
    /// The agent lives, and is followed.
    AgentRunning,
    /// The agent is gone, and had come to a good end with nobody there.
    AgentFinished,
    /// The agent is gone, in the middle of its work.
    AgentGone,
    /// The attempt had been ordered, and was not started.
    NotStarted,
    /// A model was to condense older work.
    Summarizing,
    /// The work was being judged.
    Checking,
    /// The attempt was over, and what was left of it was to be ended.
    Sweeping,
    /// The run waited for its next attempt.
    Waiting,
    /// SIGTERM or SIGHUP had suspended the run.
    Suspended,
    /// The run was over, and nobody had been told.
    Finished,
}

/// What was found of a run in this phase; nothing of one that had not begun.
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

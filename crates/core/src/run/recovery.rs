//! Describes, for the journal, the state in which a new supervisor found a run.
//!
//! The finding informs people and affects no decision. Decisions follow from the run's phase and the
//! evidence.

use super::Phase;
use crate::{Exit, FoundAttempt, classify, words::stored_enum};

stored_enum! {
    /// The state in which a new supervisor found a run.
    pub enum RecoveryFinding {
        /// The agent is running and is supervised again.
        AgentRunning = "agent_running",
        /// The agent succeeded while no supervisor ran.
        AgentFinished = "agent_finished",
        /// The agent is gone and had not finished its work.
        AgentGone = "agent_gone",
        /// The attempt was planned but not started.
        NotStarted = "not_started",
        /// A model was about to summarize older work.
        Summarizing = "summarizing",
        /// A check was running.
        Checking = "checking",
        /// The attempt had ended, and its leftover processes were to be stopped.
        Sweeping = "sweeping",
        /// The run was waiting for its next attempt.
        Waiting = "waiting",
        /// SIGTERM or SIGHUP had suspended the run.
        Suspended = "suspended",
        /// The run had finished, but no supervisor had reported it.
        Finished = "finished",
    }
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

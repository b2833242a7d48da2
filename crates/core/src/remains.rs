//! What a dead supervisor left of a run, as the next one writes it down. It tells people what happened, and decides nothing:
//! what is done about it is decided by the run's phase and by what was found.

use crate::run::Phase;
use crate::{Exit, Found, classify};
use serde::{Deserialize, Serialize};

/// What a new supervisor found of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Remains {
    /// The agent lives, and is followed.
    Alive,
    /// The agent is gone, and had come to a good end with nobody there.
    Finished,
    /// The agent is gone, in the middle of its work.
    Gone,
    /// The attempt had been ordered, and was not started.
    NotStarted,
    /// A model was to condense older work.
    Condensing,
    /// The work was being judged.
    Checking,
    /// The attempt was over, and what was left of it was to be ended.
    Sweeping,
    /// The run waited for its next attempt.
    Waiting,
    /// SIGTERM or SIGHUP had suspended the run.
    Suspended,
    /// The run was over, and nobody had been told.
    Over,
}

/// What was found of a run in this phase; nothing of one that had not begun.
pub(crate) fn remains(phase: &Phase, found: &Found) -> Option<Remains> {
    let evidence = match found {
        Found::Live(_) => return Some(Remains::Alive),
        Found::Gone(evidence) => evidence,
    };
    Some(match phase {
        Phase::New => return None,
        Phase::Launching if evidence.exit == Exit::NeverSpawned => Remains::NotStarted,
        Phase::Launching | Phase::Live | Phase::Closing { .. } if classify(evidence).is_none() => {
            Remains::Finished
        }
        Phase::Launching | Phase::Live | Phase::Closing { .. } | Phase::Stopping { .. } => Remains::Gone,
        Phase::Condensing { .. } => Remains::Condensing,
        Phase::Checking { .. } => Remains::Checking,
        Phase::Sweeping { .. } => Remains::Sweeping,
        Phase::Waiting { .. } => Remains::Waiting,
        Phase::Suspended { .. } => Remains::Suspended,
        Phase::Over { .. } => Remains::Over,
    })
}

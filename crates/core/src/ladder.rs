//! The resume ladder: by which rung the history of a conversation reaches an attempt. From the best to
//! the last: the session as it is, a copy placed where the agent looks, a repaired one, a fork, a new
//! session that is told the record of the work, and a new one that is told the task alone.

use crate::{Fault, Say, SessionId, SessionPlan, SpawnPlan};
use serde::{Deserialize, Serialize};

/// A rung of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// The session as it is.
    Resume,
    /// A copy of the session's file, placed where the agent looks for it.
    Place,
    /// The session without what is damaged in its file, and with what it lacks; the original is kept.
    Repair,
    /// A new session that begins with the history of the old one.
    Fork,
    /// A new session that is told what is on record of the work.
    Seed,
    /// A new session that is told the task.
    Fresh,
}

impl Rung {
    /// Every rung, from the best to the last.
    pub const ALL: &'static [Rung] =
        &[Rung::Resume, Rung::Place, Rung::Repair, Rung::Fork, Rung::Seed, Rung::Fresh];

    /// The wire word.
    pub fn word(self) -> &'static str {
        match self {
            Rung::Resume => "resume",
            Rung::Place => "place",
            Rung::Repair => "repair",
            Rung::Fork => "fork",
            Rung::Seed => "seed",
            Rung::Fresh => "fresh",
        }
    }
}

/// What was found of a session that is to be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionFound {
    /// Its file is where the agent looks, and whole. Also where nobody but the agent can look.
    Ready,
    /// Its file is where the agent looks, and parts of it are no rows.
    Damaged,
    /// Its file is where the agent looks, and ends before what the agent is on record to have said and done.
    Behind,
    /// Its file is in another place: another working directory's, another configuration's, or the run's.
    Elsewhere,
    /// There is a file, and no conversation in it.
    Empty,
    /// It is nowhere.
    Missing,
}

/// Why a rung is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// For what was found of the session.
    Found(SessionFound),
    /// Because of this fault the session cannot go on.
    Fault(Fault),
    /// No session was ever opened, or nothing was ever said in it.
    NeverOpened,
}

/// Whether the conversation in which an attempt ended is the one that it was to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Continuity {
    /// What was said since follows the end of what was there before.
    Continued,
    /// Nothing is written of what was said since.
    Unchanged,
    /// What was said since follows an older part: what came after that is not in the history any more.
    Branched,
    /// What was said since follows nothing that was there before: the agent began anew, silently.
    Separate,
}

/// A set of rungs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RungSet(u8);

impl RungSet {
    /// This set with `rung` in it.
    pub fn with(self, rung: Rung) -> RungSet {
        RungSet(self.0 | 1 << rung as u8)
    }

    /// Whether `rung` is in it.
    pub fn contains(self, rung: Rung) -> bool {
        self.0 & 1 << rung as u8 != 0
    }
}

/// The session whose history the attempt begins with, if it begins with any.
pub(crate) fn history_of(plan: &SessionPlan) -> Option<&SessionId> {
    match plan {
        SessionPlan::New(_) => None,
        SessionPlan::Resume(from) | SessionPlan::Fork { from, .. } => Some(from),
    }
}

/// The rung for a session of which this was found; nothing if it cannot be continued. What has been
/// tried since the last progress is not tried again for the same reason.
pub(crate) fn rung(plan: &SessionPlan, found: SessionFound, tried: RungSet) -> Option<Rung> {
    let forks = matches!(plan, SessionPlan::Fork { .. });
    match found {
        SessionFound::Empty | SessionFound::Missing => None,
        _ if forks => Some(Rung::Fork),
        SessionFound::Ready => Some(Rung::Resume),
        // The agent passes over what is no row, and is told of what is missing: a repair that does not hold
        // is no loss.
        SessionFound::Damaged | SessionFound::Behind if tried.contains(Rung::Repair) => Some(Rung::Resume),
        SessionFound::Damaged | SessionFound::Behind => Some(Rung::Repair),
        SessionFound::Elsewhere if tried.contains(Rung::Place) => None,
        SessionFound::Elsewhere => Some(Rung::Place),
    }
}

/// The rung of a new session that follows another attempt, and why. A record that did not help is not told
/// a second time without progress.
pub(crate) fn new_session(plan: &SpawnPlan, tried: RungSet, on_record: bool) -> (Rung, Because) {
    match plan.say {
        Say::TaskAgain(fault) if on_record && !tried.contains(Rung::Seed) => {
            (Rung::Seed, Because::Fault(fault))
        }
        Say::TaskAgain(fault) => (Rung::Fresh, Because::Fault(fault)),
        Say::Task
        | Say::Asked
        | Say::Continue(_)
        | Say::Nudge(_)
        | Say::WrapUp(_)
        | Say::More(_)
        | Say::KeepGoing(_)
        | Say::Confirm
        | Say::CheckFailed(_) => (Rung::Fresh, Because::NeverOpened),
    }
}

//! The resume ladder: by which rung the history of a conversation reaches an attempt. From the best to
//! the last: the session as it is, a copy placed where the agent looks, a repaired one, a fork, a new
//! session that is told the record of the work, and a new one that is told the task alone.

use crate::{AttemptPlan, Fault, PromptKind, SessionId, SessionPlan};
use serde::{Deserialize, Serialize};

/// A rung of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResumeStrategy {
    /// The session as it is.
    AsIs,
    /// A copy of the session's file, placed where the agent looks for it.
    Relocate,
    /// The session without what is damaged in its file, and with what it lacks; the original is kept.
    Repair,
    /// A new session that begins with the history of the old one.
    Fork,
    /// A new session that is told what is on record of the work.
    Handoff,
    /// A new session that is told the task.
    Fresh,
}

impl ResumeStrategy {
    /// Every rung, from the best to the last.
    pub const ALL: &'static [ResumeStrategy] = &[
        ResumeStrategy::AsIs,
        ResumeStrategy::Relocate,
        ResumeStrategy::Repair,
        ResumeStrategy::Fork,
        ResumeStrategy::Handoff,
        ResumeStrategy::Fresh,
    ];

    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            ResumeStrategy::AsIs => "resume",
            ResumeStrategy::Relocate => "place",
            ResumeStrategy::Repair => "repair",
            ResumeStrategy::Fork => "fork",
            ResumeStrategy::Handoff => "seed",
            ResumeStrategy::Fresh => "fresh",
        }
    }
}

/// What was found of a session that is to be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionFileState {
    /// Its file is where the agent looks, and whole. Also where nobody but the agent can look.
    Ready,
    /// Its file is where the agent looks, and parts of it are no rows.
    Damaged,
    /// Its file is where the agent looks, and ends before what the agent is on record to have said and done.
    Stale,
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
pub enum StrategyReason {
    /// For what was found of the session.
    SessionFile(SessionFileState),
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
    Unrelated,
}

/// A set of rungs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrategySet(u8);

impl StrategySet {
    /// This set with `rung` in it.
    pub fn with(self, strategy: ResumeStrategy) -> StrategySet {
        StrategySet(self.0 | 1 << strategy as u8)
    }

    /// Whether `rung` is in it.
    pub fn contains(self, strategy: ResumeStrategy) -> bool {
        self.0 & 1 << strategy as u8 != 0
    }
}

/// The session whose history the attempt begins with, if it begins with any.
pub(crate) fn source_session(plan: &SessionPlan) -> Option<&SessionId> {
    match plan {
        SessionPlan::New(_) => None,
        SessionPlan::Resume(from) | SessionPlan::Fork { from, .. } => Some(from),
    }
}

/// The rung for a session of which this was found; nothing if it cannot be continued. What has been
/// tried since the last progress is not tried again for the same reason.
pub(crate) fn strategy_for(
    plan: &SessionPlan,
    found: SessionFileState,
    tried: StrategySet,
) -> Option<ResumeStrategy> {
    let forks = matches!(plan, SessionPlan::Fork { .. });
    match found {
        SessionFileState::Empty | SessionFileState::Missing => None,
        _ if forks => Some(ResumeStrategy::Fork),
        SessionFileState::Ready => Some(ResumeStrategy::AsIs),
        // The agent passes over what is no row, and is told of what is missing: a repair that does not hold
        // is no loss.
        SessionFileState::Damaged | SessionFileState::Stale if tried.contains(ResumeStrategy::Repair) => {
            Some(ResumeStrategy::AsIs)
        }
        SessionFileState::Damaged | SessionFileState::Stale => Some(ResumeStrategy::Repair),
        SessionFileState::Elsewhere if tried.contains(ResumeStrategy::Relocate) => None,
        SessionFileState::Elsewhere => Some(ResumeStrategy::Relocate),
    }
}

/// The rung of a new session that follows another attempt, and why. A record that did not help is not told
/// a second time without progress.
pub(crate) fn strategy_for_new_session(
    plan: &AttemptPlan,
    tried: StrategySet,
    on_record: bool,
) -> (ResumeStrategy, StrategyReason) {
    match plan.prompt {
        PromptKind::TaskAfterLoss(fault) if on_record && !tried.contains(ResumeStrategy::Handoff) => {
            (ResumeStrategy::Handoff, StrategyReason::Fault(fault))
        }
        PromptKind::TaskAfterLoss(fault) => (ResumeStrategy::Fresh, StrategyReason::Fault(fault)),
        PromptKind::Task
        | PromptKind::FollowUp
        | PromptKind::Continue(_)
        | PromptKind::Nudge(_)
        | PromptKind::WrapUp(_)
        | PromptKind::LimitRaised(_)
        | PromptKind::KeepGoing(_)
        | PromptKind::ConfirmDone
        | PromptKind::CheckFailed(_) => (ResumeStrategy::Fresh, StrategyReason::NeverOpened),
    }
}

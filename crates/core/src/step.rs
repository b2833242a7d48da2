//! What one step yields: records to be written down first, actions to be performed after.

use crate::{Fault, KeepGoingPrompt, Limit, Outcome, Record, Remaining, ResumeStrategy, SessionId};
use serde::{Deserialize, Serialize};

/// One event's records and actions. The records must be on disk before an action touches anything.
#[must_use = "records must be written and actions performed"]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Decisions, in order, already applied to the run.
    pub records: Vec<Record>,
    /// Orders to the world, in order.
    pub actions: Vec<Action>,
}

/// An order to the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Look what there is of a session that is to be continued.
    InspectSession(SessionId),
    /// Have a model condense the older work for this attempt, and say what came of it when nothing that did it
    /// is left.
    StartSummary(AttemptPlan),
    /// End that now; what came of it is said all the same.
    StopSummary,
    /// Have the work judged, for the so manieth time, and say what came of it when nothing that did it is left.
    StartCheck(u32),
    /// End that now; what came of it is said all the same.
    StopCheck,
    /// Start the agent.
    Spawn(AttemptPlan),
    /// Tell the agent this, in the session that it has open.
    Say(PromptKind, Remaining),
    /// No more user lines will come: let the agent end by itself.
    CloseInput,
    /// Look what the processes of an agent do that is silent, and say what was seen.
    ProbeProcesses,
    /// Make the agent end.
    Stop(StopLevel),
    /// End every process that still carries the attempt's mark, and say when none is left.
    Sweep,
    /// The run is over; nothing of it may be left.
    Finish(Outcome),
}

/// How hard to stop; each level follows the one before when that is not heeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopLevel {
    /// Ask through the control protocol; a result with its cost follows.
    Interrupt,
    /// SIGTERM to the process group; the session stays neutral.
    Term,
    /// SIGKILL to the process group.
    Kill,
}

/// How to start one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptPlan {
    /// Which attempt of the run this is, from 1.
    pub attempt: u32,
    /// On which session.
    pub session: SessionPlan,
    /// What to tell the agent.
    pub prompt: PromptKind,
    /// How the history of the conversation reaches it; nothing where there is none, or before the session
    /// was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<ResumeStrategy>,
    /// Whether a model condensed the older work for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_summary: bool,
    /// What was left of the run's limits when it was ordered.
    #[serde(default, skip_serializing_if = "Remaining::is_unlimited")]
    pub remaining: Remaining,
}

impl AttemptPlan {
    /// Attempt number `attempt`, on this session, with this for the agent.
    pub fn new(attempt: u32, session: SessionPlan, say: PromptKind) -> AttemptPlan {
        AttemptPlan {
            attempt,
            session,
            prompt: say,
            strategy: None,
            with_summary: false,
            remaining: Remaining::default(),
        }
    }
}

/// On which session an attempt works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionPlan {
    /// A new session of this id.
    New(SessionId),
    /// This session, continued.
    Resume(SessionId),
    /// A new session that begins with the history of another.
    Fork {
        /// The one whose history it takes.
        from: SessionId,
        /// The new one.
        to: SessionId,
    },
}

impl SessionPlan {
    /// The session that the attempt writes to.
    pub fn id(&self) -> &SessionId {
        match self {
            SessionPlan::New(id) | SessionPlan::Resume(id) | SessionPlan::Fork { to: id, .. } => id,
        }
    }

    /// Whether an agent can be given its ids: a journal that comes from elsewhere may contain anything.
    pub fn is_valid(&self) -> bool {
        match self {
            SessionPlan::New(id) | SessionPlan::Resume(id) => id.is_name(),
            SessionPlan::Fork { from, to } => from.is_name() && to.is_name(),
        }
    }
}

/// What to tell the agent at the start of an attempt. The words are the dialect's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PromptKind {
    /// The task, in full.
    Task,
    /// The task, in full, with the truth that an earlier session worked on it and was lost to this fault.
    TaskAfterLoss(Fault),
    /// What somebody asked for when the run went on.
    FollowUp,
    /// What interrupted the work, and to inspect before repeating.
    Continue(Fault),
    /// A push on the same session.
    Nudge(Nudge),
    /// To save the work and to end, because of this limit.
    WrapUp(Limit),
    /// That there is more of this limit, which had ended the work, and to continue.
    LimitRaised(Limit),
    /// That this check did not pass, and what it said.
    CheckFailed(u32),
    /// To go on, after it stopped by itself.
    KeepGoing(KeepGoingPrompt),
    /// Whether it stands by it that the work is finished.
    ConfirmDone,
}

/// A push on the same session, without a fault of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Nudge {
    /// The answer is missing.
    Answer,
    /// The answer was too long.
    SmallerSteps,
}

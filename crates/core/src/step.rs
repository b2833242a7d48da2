//! A step: the records and actions that one event produces.
//!
//! This module only defines data. [`Run::step`](crate::Run::step) produces steps, and the supervisor carries
//! them out: it writes the records to disk first and performs the actions after.

use crate::{
    Fault, KeepGoingPrompt, Limit, Outcome, Record, Remaining, ResumeStrategy, SessionId, words::stored_enum,
};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The records and actions of one event. The records must be on disk before any action is performed.
#[must_use = "records must be written and actions performed"]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Decisions, in order. They are already applied to the run.
    pub records: Vec<Record>,
    /// Actions to perform, in order.
    pub actions: Vec<Action>,
}

/// An order to the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Inspect the file of a session before it is resumed.
    InspectSession(SessionId),
    /// Have a model summarize the older work for this attempt. Report the result once its processes are gone.
    StartSummary(AttemptPlan),
    /// Stop the summary that is running. Its result is still reported.
    StopSummary,
    /// Run the commands of check number `n` and report their result once their processes are gone.
    StartCheck(u32),
    /// Have a model review the work. Report its evidence once its processes are gone.
    StartReview(ReviewPlan),
    /// Stop the check that is running: its command or its reviewer. The result is still reported.
    StopCheck {
        /// Whether it took too long.
        timed_out: bool,
    },
    /// Start the agent.
    Spawn(AttemptPlan),
    /// Send a prompt to the running agent, in its open session.
    SendPrompt(PromptKind, Remaining),
    /// Close the agent's input, so that the agent exits on its own.
    CloseInput,
    /// Probe the processes of a silent agent and report their activity.
    ProbeProcesses,
    /// Stop the agent.
    Stop(StopLevel),
    /// Stop every process that carries the run marker, and report when none is left.
    Sweep,
    /// Finish the run. None of its processes may remain.
    Finish(Outcome),
}

/// How to start one reviewer process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewPlan {
    /// Number of the process in the run, starting at 1.
    pub review: u32,
    /// Number of the check, starting at 1.
    pub check: u32,
    /// Number of the attempt whose work is reviewed.
    pub attempt: u32,
    /// Remaining amounts of the run's limits.
    pub remaining: Remaining,
}

stored_enum! {
    /// How hard to stop the agent. If it does not react to one level within the grace period, the next level
    /// follows.
    pub enum StopLevel {
        /// Interrupt through the control protocol. The agent answers with a result that includes its cost.
        Interrupt = "interrupt",
        /// Send SIGTERM to the process group. The session records no interruption.
        Term = "term",
        /// Send SIGKILL to the process group.
        Kill = "kill",
    }
}

/// How to start one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptPlan {
    /// Number of the attempt in its run, starting at 1.
    pub attempt: u32,
    /// Session to work on.
    pub session: SessionPlan,
    /// Prompt to start with.
    pub prompt: PromptKind,
    /// How the conversation's history reaches the agent. `None` if there is no history, or if the session has
    /// not been inspected yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<ResumeStrategy>,
    /// Whether a model summarized the older work for this attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_summary: bool,
    /// Remaining amounts of the run's limits when the attempt was planned.
    #[serde(default, skip_serializing_if = "Remaining::is_unlimited")]
    pub remaining: Remaining,
}

impl AttemptPlan {
    /// Creates a plan without a resume strategy, a summary or limits.
    pub fn new(attempt: u32, session: SessionPlan, prompt: PromptKind) -> AttemptPlan {
        AttemptPlan {
            attempt,
            session,
            prompt,
            strategy: None,
            with_summary: false,
            remaining: Remaining::default(),
        }
    }
}

/// The session that an attempt works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionPlan {
    /// A new session with this id.
    New(SessionId),
    /// An existing session.
    Resume(SessionId),
    /// A new session that starts with the history of another.
    Fork {
        /// Session to copy the history from.
        from: SessionId,
        /// Id of the new session.
        to: SessionId,
    },
}

impl SessionPlan {
    /// Returns the session that the attempt writes to.
    pub fn id(&self) -> &SessionId {
        match self {
            SessionPlan::New(id) | SessionPlan::Resume(id) | SessionPlan::Fork { to: id, .. } => id,
        }
    }

    /// Returns the session whose history the attempt starts with, or `None` if it starts without one.
    pub fn source(&self) -> Option<&SessionId> {
        match self {
            SessionPlan::New(_) => None,
            SessionPlan::Resume(from) | SessionPlan::Fork { from, .. } => Some(from),
        }
    }

    /// Returns whether the ids can be passed to an agent. An imported journal may contain anything.
    pub fn is_valid(&self) -> bool {
        match self {
            SessionPlan::New(id) | SessionPlan::Resume(id) => id.is_name(),
            SessionPlan::Fork { from, to } => from.is_name() && to.is_name(),
        }
    }
}

/// The kind of prompt to send to the agent. The dialect supplies the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PromptKind {
    /// The task, in full.
    Task,
    /// The task, in full, with a note that an earlier session was lost to this fault.
    TaskAfterLoss(Fault),
    /// The user's request when resuming the run.
    FollowUp,
    /// The fault that interrupted the work, and a request to inspect the workspace before repeating anything.
    Continue(Fault),
    /// A request to give the missing answer, or a shorter one.
    Nudge(Nudge),
    /// A request to save the work and stop, because only the reserve of this limit remains.
    WrapUp(Limit),
    /// A request to continue, because this limit, which stopped the work, was raised.
    LimitRaised(Limit),
    /// A request to fix the work, with the output of this failed check.
    CheckFailed(u32),
    /// A request to continue, sent after the agent stopped on its own.
    KeepGoing(KeepGoingPrompt),
    /// A request to confirm that the work is done.
    ConfirmDone,
}

/// A short prompt on the same session, sent after an unusable answer rather than after a fault of the
/// environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Nudge {
    /// The answer was missing: ask for it.
    Answer,
    /// The answer was too long: ask for smaller steps.
    SmallerSteps,
}

//! From fault to remedy: the table that says what is done, and what the run ends as when that
//! is no longer allowed.

use crate::{Fault, Nudge, OutcomeKind};
use serde::{Deserialize, Serialize};

/// What to do about a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// Wait as long as the server needs, then resume. Bounded by time, not by attempts.
    WaitOut,
    /// Wait for the reset of a usage window with no process resident, then resume.
    Park,
    /// Resume after a short wait. Bounded by attempts without progress.
    Resume,
    /// Resume, once in a run.
    ResumeOnce,
    /// Resume as long as each attempt makes progress.
    ResumeWhileProgressing,
    /// Resume as long as each attempt makes progress, if a limit of the run's own on the same is not reached; else
    /// end.
    ResumeWithinLimit,
    /// Resume the session that turned out to exist.
    ResumeExisting,
    /// Go on in a new session, because the old one is not there.
    ReplaceLostSession,
    /// Go on in a new session, because the old one is full.
    ReplaceFullSession,
    /// Try once on a fork of the session, or on a new one where there is nothing to fork.
    TryFork,
    /// Push the agent on the same session, twice in a run.
    Nudge(Nudge),
    /// Go on in the same session, after the agent stopped by itself. No fault asks for it.
    KeepGoing,
    /// One conservative retry in a run.
    RetryOnce,
    /// End at once.
    End,
    /// End at once, unless the user accepted denied tools as part of the work.
    EndUnlessAllowed,
}

impl Remedy {
    /// Every remedy.
    pub const ALL: &'static [Remedy] = &[
        Remedy::WaitOut,
        Remedy::Park,
        Remedy::Resume,
        Remedy::ResumeOnce,
        Remedy::ResumeWhileProgressing,
        Remedy::ResumeWithinLimit,
        Remedy::ResumeExisting,
        Remedy::ReplaceLostSession,
        Remedy::ReplaceFullSession,
        Remedy::TryFork,
        Remedy::Nudge(Nudge::Answer),
        Remedy::Nudge(Nudge::SmallerSteps),
        Remedy::KeepGoing,
        Remedy::RetryOnce,
        Remedy::End,
        Remedy::EndUnlessAllowed,
    ];
}

/// What is done about a fault.
pub fn remedy(fault: Fault) -> Remedy {
    match fault {
        Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => Remedy::WaitOut,
        Fault::UsageLimit => Remedy::Park,
        Fault::Crashed | Fault::Interrupted | Fault::Stalled => Remedy::Resume,
        Fault::OutOfMemory => Remedy::ResumeOnce,
        Fault::AttemptTimeout => Remedy::ResumeWhileProgressing,
        Fault::SessionLost => Remedy::ReplaceLostSession,
        Fault::SessionExists => Remedy::ResumeExisting,
        Fault::ContextFull => Remedy::ReplaceFullSession,
        Fault::OutputLimit => Remedy::Nudge(Nudge::SmallerSteps),
        Fault::Unfinished => Remedy::Nudge(Nudge::Answer),
        Fault::BadRequest => Remedy::TryFork,
        Fault::Unknown => Remedy::RetryOnce,
        Fault::TurnLimit | Fault::AgentBudget => Remedy::ResumeWithinLimit,
        Fault::Permission => Remedy::EndUnlessAllowed,
        Fault::GuardLapsed
        | Fault::Auth
        | Fault::Billing
        | Fault::ModelUnknown
        | Fault::Refused
        | Fault::SessionBusy
        | Fault::AgentMissing
        | Fault::AgentUnusable => Remedy::End,
    }
}

/// What a run ends as when this fault decides it.
pub fn final_outcome(fault: Fault) -> OutcomeKind {
    match fault {
        Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network | Fault::UsageLimit => {
            OutcomeKind::RetryLater
        }
        Fault::Crashed
        | Fault::Interrupted
        | Fault::OutOfMemory
        | Fault::Stalled
        | Fault::SessionLost
        | Fault::SessionExists
        | Fault::ContextFull
        | Fault::OutputLimit
        | Fault::Unfinished
        | Fault::ModelUnknown
        | Fault::Refused
        | Fault::BadRequest => OutcomeKind::Failed,
        Fault::AttemptTimeout | Fault::TurnLimit => OutcomeKind::OutOfTime,
        Fault::AgentBudget => OutcomeKind::OverBudget,
        Fault::GuardLapsed | Fault::Permission | Fault::Auth | Fault::Billing | Fault::Unknown => {
            OutcomeKind::NeedsPerson
        }
        Fault::SessionBusy | Fault::AgentMissing | Fault::AgentUnusable => OutcomeKind::NotStarted,
    }
}

//! Maps faults to remedies: how the run reacts, and its outcome if the remedy is no longer allowed.

use crate::{Fault, Nudge, OutcomeKind};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The reaction to a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Remedy {
    /// Wait for the server, then resume. Limited by time, not by attempts.
    WaitOut,
    /// Wait for the reset of a usage window with no process running, then resume.
    Park,
    /// Resume after a short wait. Limited by attempts without progress.
    Resume,
    /// Resume, once in a run.
    ResumeOnce,
    /// Resume as long as each attempt makes progress.
    ResumeWhileProgressing,
    /// Resume as long as each attempt makes progress and the run's own corresponding limit is not reached.
    /// Otherwise finish the run.
    ResumeWithinLimit,
    /// Resume the session that already exists.
    ResumeExisting,
    /// Continue in a new session, because the old one is lost.
    ReplaceLostSession,
    /// Continue in a new session, because the old one is full.
    ReplaceFullSession,
    /// Retry once on a fork of the session, or on a new session if there is nothing to fork.
    TryFork,
    /// Nudge the agent on the same session, twice in a run.
    Nudge(Nudge),
    /// Continue the same session after the agent stopped on its own. No fault leads to it.
    KeepGoing,
    /// Retry once in a run, conservatively.
    RetryOnce,
    /// Finish the run.
    End,
    /// Finish the run, unless the user accepts denied tools.
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

/// Returns the remedy for a fault.
pub fn remedy(fault: Fault) -> Remedy {
    match fault {
        Fault::RateLimited | Fault::Overloaded | Fault::ServerError | Fault::Network => Remedy::WaitOut,
        Fault::UsageLimit => Remedy::Park,
        Fault::Crashed | Fault::Interrupted | Fault::Stalled => Remedy::Resume,
        Fault::OutOfMemory | Fault::InvalidResult => Remedy::ResumeOnce,
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

/// Returns the outcome of a run that finishes because of this fault.
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
        Fault::InvalidResult => OutcomeKind::CheckFailed,
        Fault::SessionBusy | Fault::AgentMissing | Fault::AgentUnusable => OutcomeKind::NotStarted,
    }
}

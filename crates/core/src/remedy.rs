//! Remedies: how the run reacts to faults. The table in `fault.rs` assigns them.

use crate::Nudge;
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
    /// Retry once without progress: on a fork of the session, or on a new session if there is nothing to fork.
    TryFork,
    /// Nudge the agent on the same session, twice: for a truncated answer again after progress.
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

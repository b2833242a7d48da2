//! How a run ended, and the exit code that says so.

use crate::{Fault, Limit, Moment};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The closed list of endings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The work is finished.
    Done,
    /// The agent gave up, or made no progress.
    Failed,
    /// Money or tokens ran out.
    OverBudget,
    /// Time or turns ran out.
    OutOfTime,
    /// Only a person can go on: credentials, payment, permissions.
    NeedsPerson,
    /// A check never passed.
    CheckFailed,
    /// The run was not started; nothing was spent.
    NotStarted,
    /// Iterations ran out, or some items failed.
    Incomplete,
    /// Our own invariant broke.
    Bug,
    /// A limit outlasts the run's patience; it can be resumed later.
    RetryLater,
    /// Somebody stopped the run.
    Cancelled,
    /// SIGTERM or SIGHUP stopped the run; `recover` continues it.
    Suspended,
}

impl OutcomeKind {
    /// Every kind, in the order of their exit codes.
    pub const ALL: &'static [OutcomeKind] = &[
        OutcomeKind::Done,
        OutcomeKind::Failed,
        OutcomeKind::OverBudget,
        OutcomeKind::OutOfTime,
        OutcomeKind::NeedsPerson,
        OutcomeKind::CheckFailed,
        OutcomeKind::NotStarted,
        OutcomeKind::Incomplete,
        OutcomeKind::Bug,
        OutcomeKind::RetryLater,
        OutcomeKind::Cancelled,
        OutcomeKind::Suspended,
    ];

    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            OutcomeKind::Done => "done",
            OutcomeKind::Failed => "failed",
            OutcomeKind::OverBudget => "over_budget",
            OutcomeKind::OutOfTime => "out_of_time",
            OutcomeKind::NeedsPerson => "needs_person",
            OutcomeKind::CheckFailed => "check_failed",
            OutcomeKind::NotStarted => "refused",
            OutcomeKind::Incomplete => "incomplete",
            OutcomeKind::Bug => "bug",
            OutcomeKind::RetryLater => "retry_later",
            OutcomeKind::Cancelled => "cancelled",
            OutcomeKind::Suspended => "suspended",
        }
    }
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

/// Who asked for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelSource {
    /// A person, with Ctrl-C: interrupt first, keep the result and its cost.
    Person,
    /// A person who pressed twice: stop now.
    PersonNow,
    /// SIGTERM to the supervisor: a reboot, `systemctl stop`, a preempted job.
    Sigterm,
    /// SIGHUP to the supervisor: its terminal is gone.
    Sighup,
}

impl CancelSource {
    /// The signal's name, as in `kill -l`.
    pub fn signal(self) -> &'static str {
        match self {
            CancelSource::Person | CancelSource::PersonNow => "SIGINT",
            CancelSource::Sigterm => "SIGTERM",
            CancelSource::Sighup => "SIGHUP",
        }
    }

    /// The exit code of a run that this cancelled or suspended: 128 + the signal's number.
    pub fn exit_code(self) -> u8 {
        match self {
            CancelSource::Person | CancelSource::PersonNow => 130,
            CancelSource::Sigterm => 143,
            CancelSource::Sighup => 129,
        }
    }
}

/// The proof that the work of a run is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verified {
    /// Every check passed.
    Checks,
    /// There is no proof: no check was set, or the work is not done.
    None,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Which of the closed list.
    pub kind: OutcomeKind,
    /// The fault that decided it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// When trying again makes sense, if that is known (`retry_later`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Moment>,
    /// The limit that decided it, if one did (`over_budget`, `out_of_time`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Who cancelled it (`cancelled`), or the signal that suspended it (`suspended`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<CancelSource>,
}

impl Outcome {
    /// The outcome of finished work.
    pub const DONE: Outcome =
        Outcome { kind: OutcomeKind::Done, fault: None, retry_at: None, limit: None, cancelled_by: None };

    /// An outcome decided by a fault.
    pub fn from_fault(kind: OutcomeKind, fault: Fault) -> Outcome {
        Outcome { kind, fault: Some(fault), ..Outcome::DONE }
    }

    /// An outcome decided by a limit; a fault may have kept the agent from ending well.
    pub fn from_limit(limit: Limit, fault: Option<Fault>) -> Outcome {
        Outcome { kind: limit.outcome(), fault, limit: Some(limit), ..Outcome::DONE }
    }

    /// A run that somebody stopped.
    pub fn cancelled(by: CancelSource) -> Outcome {
        Outcome { kind: OutcomeKind::Cancelled, cancelled_by: Some(by), ..Outcome::DONE }
    }

    /// A run that this signal suspended.
    pub fn suspended(by: CancelSource) -> Outcome {
        Outcome { kind: OutcomeKind::Suspended, cancelled_by: Some(by), ..Outcome::DONE }
    }

    /// The exit code of `longhaul run`. It is 0 for `done` and for nothing else.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            OutcomeKind::Done => 0,
            OutcomeKind::Failed => 20,
            OutcomeKind::OverBudget => 21,
            OutcomeKind::OutOfTime => 22,
            OutcomeKind::NeedsPerson => 23,
            OutcomeKind::CheckFailed => 24,
            OutcomeKind::NotStarted => 25,
            OutcomeKind::Incomplete => 26,
            OutcomeKind::Bug => 70,
            OutcomeKind::RetryLater => 75,
            OutcomeKind::Cancelled => self.cancelled_by.map_or(130, CancelSource::exit_code),
            OutcomeKind::Suspended => self.cancelled_by.map_or(143, CancelSource::exit_code),
        }
    }
}

//! Outcomes: how a run finished, and its exit code.

use crate::{Fault, Limit, Moment, words::stored_enum};
use serde::{Deserialize, Serialize};

stored_enum! {
    /// How a run finished.
    #[derive(Default)]
    pub enum OutcomeKind {
        /// The work is done.
        Done = "done",
        /// The agent gave up or made no progress.
        Failed = "failed",
        /// The budget or the token limit is exhausted.
        OverBudget = "over_budget",
        /// The time or turn limit is exhausted.
        OutOfTime = "out_of_time",
        /// A person must act: credentials, payment, permissions.
        NeedsPerson = "needs_person",
        /// A check never passed.
        CheckFailed = "check_failed",
        /// The run was not started and cost nothing.
        #[default]
        NotStarted = "not_started",
        /// Longhaul could not continue: no space for its journal, or some of several runs are not done.
        Incomplete = "incomplete",
        /// The iterations of a workflow ran out before its condition held, or some of its runs are not done.
        Partial = "partial",
        /// An invariant of Longhaul was violated.
        Bug = "bug",
        /// An outage or a usage limit outlasts the allowed wait. The run can be resumed later.
        RetryLater = "retry_later",
        /// The user or a signal stopped the run.
        Cancelled = "cancelled",
        /// SIGTERM or SIGHUP stopped the run; `recover` continues it.
        Suspended = "suspended",
    }
}

stored_enum! {
    /// The source of a request to stop the run.
    pub enum CancelSource {
        /// The user pressed Ctrl-C: interrupt first, to keep the result and its cost.
        Person = "person",
        /// The user pressed Ctrl-C twice: stop at once.
        PersonNow = "person_now",
        /// SIGTERM to the supervisor: a reboot, `systemctl stop`, a preempted job.
        Sigterm = "sigterm",
        /// SIGHUP to the supervisor: its terminal closed.
        Sighup = "sighup",
    }
}

impl CancelSource {
    /// Returns the signal's name, as in `kill -l`.
    pub fn signal(self) -> &'static str {
        match self {
            CancelSource::Person | CancelSource::PersonNow => "SIGINT",
            CancelSource::Sigterm => "SIGTERM",
            CancelSource::Sighup => "SIGHUP",
        }
    }

    /// Returns who cancelled or suspended: `the user`, or the signal's name.
    pub fn actor(self) -> &'static str {
        match self {
            CancelSource::Person | CancelSource::PersonNow => "the user",
            CancelSource::Sigterm | CancelSource::Sighup => self.signal(),
        }
    }

    /// Returns the exit code of a run that this source cancelled or suspended: 128 + the signal's number.
    pub fn exit_code(self) -> u8 {
        match self {
            CancelSource::Person | CancelSource::PersonNow => 130,
            CancelSource::Sigterm => 143,
            CancelSource::Sighup => 129,
        }
    }
}

/// The proof that the work of a run is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verified {
    /// Every check command passed, and the reviewer too if there is one.
    Checks,
    /// A reviewer considers the task complete. No check command was configured.
    Review,
    /// There is no proof: no check was configured, or the work is not done.
    #[default]
    None,
}

/// How a run finished, with the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Kind of outcome.
    pub kind: OutcomeKind,
    /// Fault that led to it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Earliest moment at which a retry makes sense, if known (`retry_later`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Moment>,
    /// Limit that led to it, if any (`over_budget`, `out_of_time`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Source of the cancellation (`cancelled`), or the signal that suspended the run (`suspended`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<CancelSource>,
}

impl Outcome {
    /// The outcome of finished work.
    pub const DONE: Outcome =
        Outcome { kind: OutcomeKind::Done, fault: None, retry_at: None, limit: None, cancelled_by: None };

    /// The outcome of work that only a person can check.
    pub const NEEDS_PERSON: Outcome = Outcome { kind: OutcomeKind::NeedsPerson, ..Outcome::DONE };

    /// Creates the outcome for a fault.
    pub fn from_fault(kind: OutcomeKind, fault: Fault) -> Outcome {
        Outcome { kind, fault: Some(fault), ..Outcome::DONE }
    }

    /// Creates the outcome for a limit. A fault may have prevented a clean end.
    pub fn from_limit(limit: Limit, fault: Option<Fault>) -> Outcome {
        Outcome { kind: limit.outcome(), fault, limit: Some(limit), ..Outcome::DONE }
    }

    /// Creates the outcome of a cancelled run.
    pub fn cancelled(source: CancelSource) -> Outcome {
        Outcome { kind: OutcomeKind::Cancelled, cancelled_by: Some(source), ..Outcome::DONE }
    }

    /// Creates the outcome of a run that this signal suspended.
    pub fn suspended(source: CancelSource) -> Outcome {
        Outcome { kind: OutcomeKind::Suspended, cancelled_by: Some(source), ..Outcome::DONE }
    }

    /// Returns the exit code of `longhaul run`. It is 0 only for `done`.
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
            OutcomeKind::Partial => 27,
            OutcomeKind::Bug => 70,
            OutcomeKind::RetryLater => 75,
            OutcomeKind::Cancelled => self.cancelled_by.map_or(130, CancelSource::exit_code),
            OutcomeKind::Suspended => self.cancelled_by.map_or(143, CancelSource::exit_code),
        }
    }
}

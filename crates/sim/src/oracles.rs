//! The properties that must hold in every run. The oracles judge a run by the world's truth and by their own
//! counts, never by the core's counts. Each oracle has a name, and a violation of any oracle fails the seed.
//!
//! An oracle names only the events and records that it watches. `OracleSet` lists every record.

mod bounds;
mod checks;
mod clocks;
mod endings;
mod facts;
mod keep_going;
mod limits;
mod promises;
mod resume_strategy;
mod reviews;
mod sessions;
mod side_process;
mod spawns;
mod stalls;
mod stops;
mod summaries;
mod waits;

pub(crate) use bounds::{AttemptCase, Bounds};
pub(crate) use checks::CheckWatch;
pub(crate) use endings::{check_ending, check_stable, check_truth};
pub(crate) use facts::Facts;
pub(crate) use keep_going::KeepGoingWatch;
pub(crate) use limits::LimitWatch;
pub(crate) use promises::check_reaction;
pub(crate) use resume_strategy::StrategyWatch;
pub(crate) use reviews::ReviewWatch;
pub(crate) use sessions::SessionWatch;
pub(crate) use spawns::{check_journaled, check_spawn};
pub(crate) use stalls::StallWatch;
pub(crate) use stops::StopWatch;
pub(crate) use summaries::SummaryWatch;
pub(crate) use waits::{check_spread, check_wait};

use longhaul_core::word_enum;
use std::fmt;

word_enum! {
    /// A property that must hold.
    pub enum Oracle {
        /// A run finishes within a bounded number of steps, and never waits without a reason.
        Ends = "ends",
        /// Another attempt follows if and only if the policy allows one.
        Bounds = "bounds",
        /// A wait is within its schedule.
        Waits = "waits",
        /// Waits with jitter differ between rolls.
        Jitter = "jitter",
        /// No process starts before its decided moment or a known reset.
        NotBefore = "not_before",
        /// At most one process tree lives, and none after the run.
        OneTree = "one_tree",
        /// Leftover processes of an attempt are swept before the next attempt.
        SweptFirst = "swept_first",
        /// No action happens before its record is journaled.
        Journaled = "journaled",
        /// A run rebuilt from the records equals the live run, at every step and at the end.
        Shadow = "shadow",
        /// A tick at the deadline leads to a decision.
        Deadline = "deadline",
        /// The decided fault is the true fault.
        Truth = "truth",
        /// `done`, and exit code 0, only occur if the work is done.
        NoFalseSuccess = "no_false_success",
        /// A run gives up only for documented reasons and with documented outcomes.
        GivesUp = "gives_up",
        /// A cancelled run finishes as cancelled, and starts no further attempt.
        Cancels = "cancels",
        /// Sessions are opened once, resumed if open, and never resumed after they were abandoned.
        Sessions = "sessions",
        /// The history reaches an attempt by the right resume strategy, and by none twice for the same reason.
        Strategies = "resume_strategy",
        /// A run continues when its agent stops on its own, until the agent confirmed that it is done or the
        /// workspace no longer changes.
        KeepsGoing = "keeps_going",
        /// Work is checked if the policy requires it, in time, and at most as often as allowed. Work that fails
        /// its check is not done.
        Checks = "checks",
        /// Work is reviewed if the policy requires it, with no process alive and in time. It is done only after a
        /// verdict that passed, and reviewers without a verdict are bounded.
        Reviews = "reviews",
        /// Older work is summarized if the policy requires it, once per handoff and in time. A prompt contains a
        /// summary if and only if one was written.
        Summaries = "summaries",
        /// A run exceeds its limits at most by the responses in flight, and saves its work before that.
        Limits = "limits",
        /// A working agent is never stopped, and a stalled agent is always stopped.
        Stalls = "stalls",
        /// Stops escalate by one level per grace period, and the number of kills is bounded.
        Stops = "stops",
        /// Wall-clock time is the sum of active time, waits and downtime.
        Clocks = "clocks",
        /// The recorded usage is what the world billed.
        Usage = "usage",
        /// A finished run or workflow does not change.
        Stable = "stable",
        /// A phase or an iteration of a workflow starts after everything that it needs.
        Needs = "needs",
        /// The numbers of live runs and of items stay within their maxima.
        Parallel = "parallel",
        /// The cost and the shares of all runs stay within the limits of the workflow, and are divided fairly.
        Shares = "shares",
        /// Each planned run of a workflow ends once, and starts again only if it is resumed or retried.
        OneEnd = "one_end",
        /// No run of a workflow starts after a stop, while another is parked, or without a measurement.
        NoStart = "no_start",
    }
}

/// A violation of an oracle in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The violated oracle.
    pub oracle: Oracle,
    /// Description of the violation.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(oracle: Oracle, message: impl Into<String>) -> Violation {
        Violation { oracle, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.oracle, self.message)
    }
}

pub(crate) type OracleResult = Result<(), Violation>;

/// Returns a violation unless `holds`. The message is only built if needed.
pub(crate) fn ensure(holds: bool, oracle: Oracle, message: impl FnOnce() -> String) -> OracleResult {
    if holds { Ok(()) } else { Err(Violation::new(oracle, message())) }
}

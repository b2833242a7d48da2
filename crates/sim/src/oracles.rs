//! What must hold in every run, judged from the world's truth and from an own count, never from
//! the core's. Each oracle has a name; an objection of any of them fails the seed.

mod bounds;
mod checks;
mod clocks;
mod endings;
mod jitter;
mod keep_going;
mod limits;
mod resume_strategy;
mod sessions;
mod spawns;
mod stalls;
mod stops;
mod summaries;
mod waits;

pub(crate) use bounds::{AttemptCase, Bounds};
pub(crate) use checks::CheckWatch;
pub(crate) use clocks::ClockWatch;
pub(crate) use endings::{check_ending, check_stable, check_truth};
pub(crate) use jitter::check_spread;
pub(crate) use keep_going::KeepGoingWatch;
pub(crate) use limits::LimitWatch;
pub(crate) use resume_strategy::StrategyWatch;
pub(crate) use sessions::SessionWatch;
pub(crate) use spawns::{check_journalled, check_spawn};
pub(crate) use stalls::StallWatch;
pub(crate) use stops::StopWatch;
pub(crate) use summaries::SummaryWatch;
pub(crate) use waits::check_wait;

use std::fmt;

macro_rules! oracles {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// What must hold.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Oracle {
            $($(#[$doc])* $name,)*
        }

        impl Oracle {
            /// Every oracle.
            pub const ALL: &'static [Oracle] = &[$(Oracle::$name,)*];

            /// Its name.
            pub fn word(self) -> &'static str {
                match self { $(Oracle::$name => $word,)* }
            }
        }
    };
}

oracles! {
    /// A run ends within bounded steps and never waits for nothing.
    Ends = "ends",
    /// Another attempt is made if and only if the policy still allows one.
    Bounds = "bounds",
    /// A wait lies within its schedule, and after the server's hint.
    Waits = "waits",
    /// Waits that chance should spread are spread.
    Spread = "spread",
    /// Nothing is spawned before the decided moment or a known reset.
    NotBefore = "not_before",
    /// At most one process tree lives, and none after the run.
    OneTree = "one_tree",
    /// What an attempt left behind is swept before the next one.
    SweptFirst = "swept_first",
    /// Nothing is touched before it is journalled.
    Journalled = "journalled",
    /// A run that saw only the records is the same run, at every step and at the end.
    Shadow = "shadow",
    /// A tick at the deadline decides something.
    Deadline = "deadline",
    /// The fault decided is the one that was.
    Truth = "truth",
    /// `done` is said only of work that is done, and exit code 0 with it.
    NoFalseSuccess = "no_false_success",
    /// A run gives up only for the reasons and with the words of the table.
    GivesUp = "gives_up",
    /// A cancelled run ends as cancelled, and starts nothing more.
    Cancels = "cancels",
    /// Sessions are opened once, resumed when open, and never resumed once left behind.
    Sessions = "sessions",
    /// The history reaches an attempt by the right rung, and by none twice for the same reason.
    Ladder = "ladder",
    /// A run goes on when its agent stops by itself, until that has said twice that the work is finished or nothing
    /// changes any more.
    KeepsGoing = "keeps_going",
    /// Work is judged where that is wanted, in time, and so often as it may; and what does not pass is not done.
    Checks = "checks",
    /// Older work is condensed where that is wanted, once for a seed and in time; it is told if and only if it was.
    Condensing = "condensing",
    /// A run uses no more than it may but for what is under way, and its work is saved before that.
    Limits = "limits",
    /// No agent is stopped that works, and none is left alone that hangs.
    Patience = "patience",
    /// Stops escalate by one level a grace period, and not for ever.
    Stops = "stops",
    /// Wall time is active, waiting and downtime.
    Clocks = "clocks",
    /// The tally is what the world billed.
    Tally = "tally",
    /// After the end nothing changes.
    Stable = "stable",
}

impl fmt::Display for Oracle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.word())
    }
}

/// What an oracle says against a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Who says it.
    pub oracle: Oracle,
    /// What is wrong.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(oracle: Oracle, what: impl Into<String>) -> Violation {
        Violation { oracle, message: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.oracle, self.message)
    }
}

/// An oracle's verdict.
pub(crate) type OracleResult = Result<(), Violation>;

/// Objects unless `holds`. The words are made only when needed.
pub(crate) fn ensure(holds: bool, oracle: Oracle, what: impl FnOnce() -> String) -> OracleResult {
    if holds { Ok(()) } else { Err(Violation::new(oracle, what())) }
}

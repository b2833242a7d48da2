//! The pure policy of Longhaul: what to do when an unattended agent run meets a fault.
//!
//! A [`Run`] is a sans-IO state machine. Events go in, a [`Step`] of records and actions comes out;
//! the caller writes the records down and only then performs the actions. Time and chance are
//! arguments ([`Now`]), so the whole policy can be simulated millions of times a minute.
//!
//! This crate never reads a clock, an environment variable, a file or a random number: its
//! `clippy.toml` forbids it.

mod call;
mod chance;
mod check;
mod classify;
mod clocks;
mod condense;
mod event;
mod evidence;
mod fault;
mod ids;
mod keep_going;
mod ladder;
mod limits;
mod money;
mod outcome;
mod policy;
mod presets;
mod record;
mod remains;
mod remedy;
mod run;
mod schedule;
#[cfg(feature = "schema")]
pub mod schema;
mod setting;
mod silence;
mod step;
mod time;
mod tokens;
mod worst;

pub use call::{Call, CallError, CallNext, CallPolicy, GaveUp};
pub use chance::{Now, draw, draw_uuid};
pub use check::{Checked, Checking};
pub use classify::classify;
pub use clocks::Clocks;
pub use condense::{Condensation, Condensed};
pub use event::{Ask, Event, Found, Notice, Proc, RateLimit, RateLimitStatus, SpawnError};
pub use evidence::{
    ApiError, Ending, Evidence, Exit, MessageError, Questions, StartupError, StopReason, Tally, TurnResult,
};
pub use fault::{Fault, ParseFaultError};
pub use ids::{RunId, SessionId};
pub use keep_going::{KeepGoing, Push};
pub use ladder::{Because, Continuity, Rung, RungSet, SessionFound};
pub use limits::{Left, Limit, Limits, Reach, Used, WrapUp};
pub use money::Usd;
pub use outcome::{By, Outcome, OutcomeKind, Verified};
pub use policy::{Backoff, Jitter, OnTerminate, Policy, ServerBound, SessionLoss, TimeoutRule};
pub use presets::Preset;
pub use record::{Next, Record, StopWhy};
pub use remains::Remains;
pub use remedy::{Remedy, ends_as, remedy};
pub use run::{Deadline, Phase, Reached, Run, Seen, Stage, State, Why};
pub use setting::{SettingChange, typed};
pub use silence::{EXAMINE_PATIENCE, EXCUSED_TIMES_MAX, Posture, Signs, Silence};
pub use step::{Action, Nudge, Say, SessionPlan, SpawnPlan, Step, StopLevel};
pub use time::{Moment, Span};
pub use tokens::Tokens;
pub use worst::WorstCase;

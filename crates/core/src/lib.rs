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

pub use call::{ApiCall, ApiCallError, CallDecision, ApiCallPolicy, GiveUpReason};
pub use chance::{Now, draw, draw_uuid};
pub use check::{CheckResult, CheckPolicy};
pub use classify::classify;
pub use clocks::Clocks;
pub use condense::{SummaryReport, SummaryResult};
pub use event::{ResumeRequest, Event, FoundAttempt, Notice, ProcessId, RateLimit, RateLimitStatus, SpawnError};
pub use evidence::{
    ApiError, TerminalReason, Evidence, Exit, MessageError, Questions, StartupError, StopReason, Usage, AgentResult,
};
pub use fault::{Fault, ParseFaultError};
pub use ids::{RunId, SessionId};
pub use keep_going::{KeepGoing, KeepGoingPrompt};
pub use ladder::{StrategyReason, Continuity, ResumeStrategy, StrategySet, SessionFileState};
pub use limits::{Remaining, Limit, Limits, LimitThreshold, LimitUsage, WrapUp};
pub use money::Usd;
pub use outcome::{CancelSource, Outcome, OutcomeKind, Verified};
pub use policy::{Backoff, Jitter, OnTerminate, Policy, OutageBound, SessionLoss, TimeoutAction};
pub use presets::Preset;
pub use record::{AfterAttempt, Record, StopCause};
pub use remains::RecoveryFinding;
pub use remedy::{Remedy, final_outcome, remedy};
pub use run::{Deadline, Phase, LimitState, Run, Observations, WrapUpStage, State, DeadlineKind};
pub use setting::{SettingChange, typed};
pub use silence::{PROBE_TIMEOUT, STALL_DEFERRAL_FACTOR_MAX, ProcessState, ProcessActivity, StallReport};
pub use step::{Action, Nudge, PromptKind, SessionPlan, AttemptPlan, Step, StopLevel};
pub use time::{Moment, Span};
pub use tokens::Tokens;
pub use worst::WorstCase;

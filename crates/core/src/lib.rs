//! The pure policy of Longhaul: decides how an unattended agent run reacts to faults.
//!
//! A [`Run`] is a sans-IO state machine. It takes an event and returns a [`Step`] of records and actions. The
//! caller writes the records to disk before it performs the actions. Time and chance are arguments ([`Now`]),
//! so a simulation can execute millions of steps a minute.
//!
//! This crate never reads a clock, an environment variable, a file or a random number. Its `clippy.toml`
//! forbids it.

mod amounts;
mod api_call;
mod attempt_notes;
mod backoff;
mod calendar;
mod check;
mod classify;
mod clocks;
mod did_you_mean;
mod event;
mod evidence;
mod fault;
mod history;
mod ids;
mod keep_going;
mod limits;
mod money;
mod now;
mod os_text;
mod outcome;
mod policy;
mod presets;
mod printed;
mod record;
mod remedy;
mod resume_strategy;
mod review;
mod run;
#[cfg(feature = "schema")]
pub mod schema;
mod spec;
mod stall_report;
mod step;
mod summary;
mod time;
mod tokens;
#[cfg(test)]
mod trace_words;
mod words;
mod workflow;
mod worst_case;

pub use amounts::{exact_span, parse_bytes, parse_dollars, parse_duration};
pub use api_call::{ApiCall, ApiCallError, ApiCallPolicy, CallDecision, GiveUpReason};
pub use attempt_notes::{AnsweredQuestion, BackgroundTask, BlockedCall};
pub use calendar::{parse_rfc3339, rfc3339};
pub use check::{CheckResult, CheckStage, Checks};
pub use classify::classify;
pub use clocks::Clocks;
pub use did_you_mean::did_you_mean;
pub use event::{
    Event, FoundAttempt, Notice, ProcessId, RateLimit, RateLimitStatus, ResumeRequest, SpawnError,
};
pub use evidence::{
    AgentResult, ApiError, Evidence, Exit, MessageError, Questions, StartupError, StopReason, TerminalReason,
    Usage,
};
pub use fault::{Fault, final_outcome, remedy};
pub use history::{
    AttemptHistory, CheckHistory, HistoryEvent, HistoryEventKind, OutageHistory, ReviewHistory, RunHistory,
    StopOrder, SummaryHistory, WaitHistory,
};
pub use ids::{RunId, SessionId};
pub use keep_going::{KeepGoing, KeepGoingPrompt};
pub use limits::{Limit, LimitThreshold, LimitUsage, Limits, Remaining, WrapUp};
pub use money::Usd;
pub use now::{Now, draw, draw_uuid, split_mix};
pub use os_text::OsText;
pub use outcome::{CancelSource, Outcome, OutcomeKind, Verified};
pub use policy::{Backoff, Jitter, OnTerminate, OutageBound, Policy, SessionLoss, TimeoutAction};
pub use presets::Preset;
pub use printed::{Dollars, Rfc3339, Seconds, shorten, shorten_line};
pub use record::{AfterAttempt, AttemptEnd, Record, StopCause};
pub use remedy::Remedy;
pub use resume_strategy::{Continuity, ResumeStrategy, SessionFileState, StrategyReason};
pub use review::{Review, ReviewResult, ReviewVerdict};
pub use run::{
    AfterWait, Deadline, DeadlineKind, LimitState, Observations, Phase, PhaseKind, RecoveryFinding, Run,
    State, WaitBound, WrapUpStage,
};
pub use spec::{
    AgentProgram, GuardRules, HANDOFF_TOKENS_MAX, Harness, LearnOptions, RunSpec, SettingChange, SpecError,
};
pub use stall_report::{
    PROBE_TIMEOUT, ProcessActivity, ProcessState, STALL_DEFERRAL_FACTOR_MAX, StallReport,
};
pub use step::{Action, AttemptPlan, Nudge, PromptKind, ReviewPlan, SessionPlan, Step, StopLevel};
pub use summary::{HandoffSummary, SummaryReport, SummaryResult};
pub use time::{Moment, Span};
pub use tokens::Tokens;
pub use workflow::{
    AfterRun, ItemState, ItemStatus, PhasePolicy, PhaseStage, PhaseState, PhaseStatus, Reaction, Reactions,
    RunCost, RunEnd, RunKey, RunShare, UntilState, WorkClock, Workflow, WorkflowAction, WorkflowDeadline,
    WorkflowDeadlineKind, WorkflowEvent, WorkflowLimits, WorkflowPolicy, WorkflowRecord, WorkflowStage,
    WorkflowState, WorkflowStep,
};
pub use worst_case::WorstCase;

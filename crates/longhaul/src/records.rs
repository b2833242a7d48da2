//! The types in the [records](crate::Record) of a run and in the [state](State) that they add up to.
//!
//! Only [`Run`](crate::Run) interprets records; a program that follows a run applies them.

// Attempts: their plans and how they end.
pub use longhaul_core::{
    AfterAttempt, AnsweredQuestion, ApiError, AttemptEnd, AttemptPlan, BlockedCall, Continuity, Evidence,
    Exit, KeepGoingPrompt, MessageError, Nudge, ProcessActivity, ProcessId, ProcessState, PromptKind,
    RateLimit, RateLimitStatus, RecoveryFinding, Remedy, ResumeStrategy, SessionFileState, SettingChange,
    StallReport, StopCause, StopLevel, StopReason, StrategyReason, TerminalReason,
};

// Checks, reviews, summaries and limits.
pub use longhaul_core::{
    CheckResult, CheckStage, LimitThreshold, LimitUsage, Remaining, ReviewPlan, ReviewResult, ReviewVerdict,
    SummaryReport, SummaryResult,
};

// The state of a run, and its next step.
pub use longhaul_core::{
    Action, AfterWait, Deadline, DeadlineKind, Event, FoundAttempt, LimitState, Notice, Now, Observations,
    Phase, PhaseKind, SpawnError, State, WrapUpStage,
};

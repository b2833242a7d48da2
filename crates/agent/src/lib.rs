//! Dialects of agent CLIs: how each one is started, prompted and decoded.
//!
//! A [`Dialect`] turns an [`AgentContext`] and a plan into an [`Invocation`]. Its [`Decoder`] turns the bytes of
//! the agent's stream into notices, and finally into the evidence that the core classifies.
//!
//! This crate is pure: it starts no process and reads no file, clock or environment variable. The agent's
//! prose never affects control flow. Only fields that the vendor sets affect it, and, if there is no field, a
//! short documented list of the vendor's messages. Two exceptions are opt-in: [`DoneSignals::line`], and the
//! structured verdict of a reviewer, [`ReviewAnswer`].

mod acp;
mod activity;
mod answers;
mod byte_scan;
pub mod claude;
mod conversation;
mod dialect;
mod done_claim;
mod effects;
mod guards;
mod handoff;
mod json_line;
mod json_reader;
mod line_splitter;
mod messages;
mod network;
mod pattern;
mod prices;
mod prompts;
mod python_repr;
mod review;
mod side_effects;
mod snapshot;
mod toml_table;
mod tool_input;
pub mod transcript_message;
mod user_tables;

pub use answers::{Answers, AnswersError, Question};
pub use claude::environment::AgentEnvironment;
pub use claude::{Health, ResumePoint, SessionDocument, SessionHistory, SessionLayout, researchgym};
pub use conversation::Conversation;
pub use dialect::{
    AGENTS, AgentContext, AgentRequest, Decoder, Dialect, DoneSignals, Invocation, PriorAttempts, Program,
    RecordedAttempt, SessionStart, default_dialect, default_environment, dialect_for, dialect_named,
    task_with_follow_ups,
};
pub use effects::{EffectRules, EffectScope};
pub use guards::{
    BlockedPathError, BlockedPaths, EditPaths, GuardError, GuardedCall, Guards, ToolPattern, UrlPattern,
    UrlPatternError, Verdict, url_patterns,
};
pub use handoff::{
    HandoffContext, HandoffReason, SUMMARY_TOKENS_MAX, WrittenSummary, estimated_tokens, handoff_prompt,
    summary_prompt, truncate_middle,
};
pub use longhaul_core::did_you_mean;
pub use messages::for_user;
pub use network::{NetworkError, check_hosts};
pub use prices::Prices;
pub use prompts::{is_wrap_up_prompt, session_prompt};
pub use review::{
    REVIEW_DIFF_BYTES_MAX, REVIEW_TURNS_MAX, ReviewAnswer, ReviewDiff, ReviewRequest, review_prompt,
};
pub use side_effects::{BoundedLog, EndedCall, SideEffects, UnresolvedCall};
pub use snapshot::AttemptSnapshot;
pub use toml_table::TableError;
pub use tool_input::ToolArgument;
pub use user_tables::{Tables, UserTablesError};

//! Dialects of agent CLIs: how each is started, spoken to and understood.
//!
//! A [`Dialect`] turns an [`Order`] and a plan into an [`Invocation`]; its [`Decoder`] turns the bytes
//! of the agent's stream into notices, and at the end into the evidence that the core classifies.
//!
//! This crate is pure: it starts nothing and reads no file, clock or environment variable.
//! An agent's prose never reaches control flow here: only vendor-authored fields do, and, where the
//! vendor has no field, a short documented list of vendor-authored sentences. The one exception is asked for by a
//! person, word by word: [`Claims::by_line`].

mod answers;
pub mod claude;
mod deeds;
mod dialect;
mod effects;
mod glance;
mod guards;
mod lines;
pub mod message;
mod messages;
mod near;
mod network;
mod pattern;
mod prices;
mod python;
mod report;
pub mod researchgym;
mod seed;
mod sessions;
mod table;
mod tables;
pub mod transcript;

pub use answers::{GivenAnswer, Answers, AnswersError, Question};
pub use claude::session_file::{Damage, DamageKind, Health};
pub use deeds::{SideEffects, CompletedEffect, EndedCall, BoundedLog, UnresolvedCall};
pub use dialect::{
    DoneSignals, Decoder, Dialect, Invocation, LearnSpec, AgentSpec, PriorAttempts, Program, RecordedAttempt, dialect_for, dialect_with_tables,
    task_with_follow_ups,
};
pub use effects::{EffectRules, EffectScope};
pub use glance::{BackgroundTask, BlockedCall, EventCounts, AttemptSnapshot};
pub use guards::{
    BlockedPathError, BlockedPaths, GuardedCall, GuardError, Guards, ToolPattern, UrlListError, UrlPattern,
    UrlPatternError, Verdict, url_patterns,
};
pub use message::TranscriptDecoder;
pub use messages::for_user;
pub use near::did_you_mean;
pub use network::{Network, NetworkError};
pub use prices::Prices;
pub use report::{StreamReport, stream_report};
pub use seed::{
    HandoffContext, SUMMARY_TOKENS_MAX, HandoffReason, HANDOFF_TOKENS_MAX, Summary, summary_prompt, estimated_tokens, handoff_prompt,
    truncate_middle, handoff_prompt_with_summary,
};
pub use sessions::SessionLayout;
pub use table::TableError;
pub use tables::{UserTables, UserTablesError};
pub use transcript::Conversation;

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

pub use answers::{Answered, Answers, AnswersError, Question};
pub use claude::session_file::{Damage, DamageKind, Health};
pub use deeds::{Deeds, Done, Ended, Latest, Unfinished};
pub use dialect::{
    Claims, Decoder, Dialect, Invocation, Learn, Order, Past, Program, Recorded, dialect, dialect_with,
    whole_task,
};
pub use effects::{Effects, Reach};
pub use glance::{BackgroundTask, BlockedCall, EventCounts, Glance};
pub use guards::{
    BlockedPathError, BlockedPaths, Call, GuardError, Guards, ToolPattern, UrlListError, UrlPattern,
    UrlPatternError, Verdict, url_patterns,
};
pub use message::Scribe;
pub use messages::for_user;
pub use near::near;
pub use network::{Network, NetworkError};
pub use prices::Prices;
pub use report::{Report, report};
pub use seed::{
    About, CONDENSE_TOKENS_MAX, Reason, SEED_TOKENS_MAX, Summary, condensing_prompt, estimated_tokens, seed,
    shortened, summarised_seed,
};
pub use sessions::Sessions;
pub use table::TableError;
pub use tables::{Tables, TablesError};
pub use transcript::Transcript;

//! Learns from past sessions: a model judges what helped, a small playbook of key points is maintained for
//! each project, and the next session starts with it.
//!
//! A hook of the agent only queues a transcript ([`LearningDb::enqueue`]). A worker takes the queued
//! transcripts, slice by slice. The reflector ([`judging`]) rates the points that were used, and the curator
//! proposes changes.
//!
//! Both results are applied to the playbook together ([`PlaybookFile`]). Each step is on disk before the next
//! one starts. A worker may therefore die at any time: nothing is learned twice, and nothing is lost.
//!
//! This crate prints nothing, starts no process and reads no environment variable: variables, moments and
//! random numbers are arguments. Its HTTP client never retries a request by itself; the core decides whether
//! and when to retry (`longhaul_core::ApiCall`).

mod backup;
pub mod bootstrap;
pub mod database;
pub mod diagnostics;
mod failpoints;
mod file;
pub mod hooks;
pub mod judge;
pub mod judging;
pub mod keypoints;
mod messages;
mod paths;
pub mod points;
mod retained_transcripts;
pub mod settings;
mod templates;
mod user_error;
pub mod worker;

pub use database::LearningDb;
pub use file::{ChangeOutcome, ChangeResult, FileError, LoadedPlaybook, PlaybookFile, UndoError, UndoPlan};
pub use hooks::replace_user_file;
pub use judge::{Judge, JudgeError, JudgeReply};
pub use paths::LearningPaths;
pub use points::{Playbook, Point, PointId, Section};
pub use retained_transcripts::retain_transcript;
pub use settings::JudgeSettings;
pub use templates::Templates;
pub use user_error::UserError;

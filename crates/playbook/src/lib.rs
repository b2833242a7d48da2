//! Learning from past sessions: a model judges what helped, a small playbook of key points is kept for each project,
//! and the next session starts with it.
//!
//! A hook of the agent only says that there is something to learn from ([`Learning::enqueue`]). A worker takes what was
//! queued, slice by slice of each transcript: the reflector ([`judging`]) says which points helped, the curator what the
//! playbook should say from now on, and both are applied to it at once ([`PlaybookFile`]). Every step is on disk before the
//! next one is made, so that a worker may die at any of them: nothing is learnt twice, and nothing is lost.
//!
//! This crate prints nothing, starts no process and reads no environment: variables, moments and chance are arguments. Its
//! HTTP client never repeats a request by itself; whether and when one is repeated is the core's to say
//! (`longhaul_core::Call`).

mod backup;
pub mod bootstrap;
pub mod database;
pub mod diagnostics;
mod file;
mod hashed_name;
pub mod hooks;
pub mod judge;
pub mod judging;
pub mod keypoints;
pub mod messages;
mod paths;
pub mod points;
mod retained_transcripts;
pub mod settings;
pub mod worker;

pub use database::LearningDb;
pub use file::{Changed, FileError, Found, Outcome, PlaybookFile, UndoError, Undoing};
pub use judge::{Judge, JudgeError, Reply};
pub use paths::LearningPaths;
pub use points::{Playbook, Point, PointId, Section};
pub use retained_transcripts::keep;
pub use settings::JudgeSettings;

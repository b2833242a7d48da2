//! Everything durable: where runs live, what a run directory holds, and the journal, which is a
//! run's truth.
//!
//! A [`Home`] holds run directories ([`RunDir`]), each made whole by [`Home::create_run`] or not at
//! all. Decisions go to the [`Journal`]: append a step, sync, and only then act. Every other file
//! is written once or can be derived again. Two locks keep supervisors apart: one on the journal
//! (one supervisor a run) and one per session of an agent ([`SessionLock`]).
//!
//! This crate is synchronous, decides nothing, starts nothing and reads no environment: variables,
//! dates and chance are arguments. Directories are 0700, files 0600, and no secret has a field to
//! be written to: environment variables are known here by their names only.

mod answered;
mod argv;
mod atomic;
mod attempt_session;
mod changes;
mod compact;
mod create;
mod database;
mod day;
mod disk;
mod dollars;
mod error;
mod exit;
mod files;
mod find;
mod harness;
mod home;
mod incoming;
mod journal;
mod ledger;
mod lines;
mod note;
mod orphaned;
mod os_text;
mod plan;
mod regular;
mod remove;
mod requests;
mod run_name;
mod rundir;
mod sections;
mod session_lock;
mod spent;
mod stamp;
mod status;
mod stopped_task;
mod summary;
mod told;

pub use answered::AnsweredQuestion;
pub use argv::{Argv, EnvNames};
pub use atomic::{Durability, replace, replace_json};
pub use attempt_session::SessionBaseline;
pub use changes::{DiffStat, RunBoundary, UnrecordedReason, WorkspaceEnd, WorkspaceRecord, WorkspaceState};
pub use compact::{CompactionStats, compact};
pub use create::{NewRun, Placement};
pub use database::empty_database;
pub use day::Day;
pub use error::StoreError;
pub use exit::AttemptExit;
pub use harness::{BlockedUrl, Harness, Metadata};
pub use home::Home;
pub use incoming::ImportedRunDir;
pub use journal::{JournalEntry, History, Journal, JournalFollower, JournalLock};
pub use ledger::{
    CatchUpStats, CostBy, CostRow, Difference, DifferenceKind, JournalPosition, Ledger, LedgerAttempt, LedgerEntry,
    LedgerError, LedgerRun, LedgerSpend, RunFilter, RunState, model_usage_of,
};
pub use lines::{ArrayFile, LineLog, read_lines, read_lines_from};
pub use note::write_diagnostic;
pub use orphaned::WatchdogStop;
pub use os_text::OsText;
pub use plan::{PlanAgent, Binary, Imported, Inherited, Plan, PlanGuards, PlanLearn, PlanPrompt};
pub use regular::{open_regular, read_regular, read_regular_to_string};
pub use remove::OUTSIDE;
pub use requests::SupervisorRequest;
pub use run_name::is_run_id;
pub use rundir::{AttemptDir, RunDir};
pub use sections::add_section;
pub use session_lock::SessionLock;
pub use spent::ModelUsage;
pub use stamp::rfc3339;
pub use status::{Status, StatusPhase};
pub use stopped_task::StoppedTask;
pub use summary::{CostSummary, SessionSummary, CostBreakdown, SubagentCost, TimeSummary, TotalTokens, TurnCost};

//! Stores everything durable: the home, the run directory, the ledger, and the journal, which is a run's
//! append-only truth.
//!
//! A [`Home`] holds run directories ([`RunDir`]); [`Home::create_run`] creates each one completely or not at
//! all. Decisions go to the [`Journal`]: append a step, sync, and only then act. Every other file is written
//! once or can be derived again. Two locks separate supervisors: one on the journal (one supervisor per run),
//! and one per session of an agent ([`SessionLock`]).
//!
//! Every function that can fail returns [`StoreError::Io`] if the system refuses an operation, and
//! [`StoreError::Unreadable`] if a JSON file is malformed. A function documents only its other errors.
//!
//! This crate is synchronous. It never decides, starts a process or reads the environment: variables, dates
//! and random numbers are arguments. Directories have mode 0700, files 0600. No type has a field for a
//! secret: of environment variables only the names are stored.

mod atomic;
mod attempt_dir;
mod attempt_files;
mod compact_stream;
mod cost_summary;
mod create;
mod database;
mod diagnostic_file;
mod error;
mod failpoint_io;
mod files;
mod find_run;
mod harness;
mod home;
mod import;
mod journal;
mod journal_dir;
mod ledger;
mod line_log;
mod local_zone;
mod notify_receipts;
mod plan;
mod redact;
mod remove;
mod run_dir;
mod run_id;
mod section_log;
mod session_lock;
mod status;
mod supervisor_requests;
mod workflow_dir;
mod workflow_plan;
mod workflow_status;
mod workspace_record;

pub use atomic::{Durability, replace, replace_json};
pub use attempt_dir::AttemptDir;
pub use attempt_files::{
    Argv, AttemptExit, AttemptFile, EnvNames, ModelUsage, SessionBaseline, WatchdogStop,
};
pub use compact_stream::compact;
pub use cost_summary::{
    CostBreakdown, CostSummary, SessionSummary, SubagentCost, TimeSummary, TotalTokens, TurnCost,
};
pub use create::{NewRun, Placement};
pub use database::{Database, DatabaseError, empty_database, with_suffix};
pub use diagnostic_file::write_diagnostic;
pub use error::{StoreError, is_disk_full};
pub use files::{
    if_exists, open_regular, read_at_most, read_json_if_exists, read_regular, read_regular_to_string,
    remove_if_exists,
};
pub use find_run::{JUDGE_RUN, has_started, is_judge_run, only_match};
pub use harness::{BlockedUrl, Metadata, harness_variables};
pub use home::Home;
pub use import::ImportedDir;
pub use jiff::civil::Date as Day;
pub use journal::{Journal, JournalEntry, JournalFollower, JournalLock, LoadedJournal};
pub use journal_dir::JournalDir;
pub use ledger::{
    CatchUpStats, CostBy, CostRow, JournalPosition, Ledger, LedgerAttempt, LedgerEntry, LedgerError,
    LedgerRun, LedgerSpend, QUARTER_MS, Quarter, RunFilter, RunState, VerifyStats, spend_by_model,
};
pub use line_log::{ArrayFile, LineLog, read_lines, read_lines_from};
pub use local_zone::local_zone;
pub use longhaul_core::{OsText, rfc3339};
pub use notify_receipts::NotifyFiles;
pub use plan::{Binary, ImportOrigin, Inherited, Plan};
pub use redact::redact;
pub use remove::{OUTSIDE_LINK, REMOVED_PREFIX, remove_dir};
pub use run_dir::RunDir;
pub use run_id::is_run_id;
pub use section_log::add_section;
pub use session_lock::SessionLock;
pub use status::{Status, StatusUsage};
pub use supervisor_requests::SupervisorRequests;
pub use workflow_dir::{WorkflowDir, WorkflowHint, WorkflowResult, worktree_branch};
pub use workflow_plan::{WorkflowPlan, WorkflowPosition, WorkflowSource};
pub use workflow_status::{ItemReport, PhaseReport, WorkflowStatus};
pub use workspace_record::{
    DiffStat, RunBoundary, UnrecordedReason, WorkspaceEnd, WorkspaceRecord, WorkspaceState,
};

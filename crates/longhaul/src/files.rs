//! The files of a run's directory: its plan, its journal, its status and the files of its attempts.
//!
//! A [`Supervisor`](crate::Supervisor) writes them. Other programs only read them.

// The run directory.
pub use longhaul_store::{
    Binary, BlockedUrl, CostBreakdown, CostSummary, EnvNames, ImportOrigin, Journal, JournalLock,
    LoadedJournal, NotifyFiles, Plan, SessionSummary, Status, StatusUsage, SubagentCost, SupervisorRequests,
    TimeSummary, TotalTokens, TurnCost,
};

// The directory of an attempt.
pub use longhaul_store::{AttemptDir, AttemptFile, Durability};

// Directories in creation.
pub use longhaul_store::{Day, ImportedDir, NewRun};

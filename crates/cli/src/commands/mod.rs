//! One file per command.

pub mod attach;
pub mod cancel;
pub mod completions;
pub mod config;
pub mod cost;
pub mod detach;
pub mod drill;
pub mod dry_run;
pub mod export;
pub mod finish_tool;
pub mod import;
pub mod ledger;
pub mod logs;
pub mod man;
pub mod recover;
pub mod report;
pub mod research;
pub mod resume;
pub mod run;
pub mod runs;
pub mod seed;
pub mod show;
pub mod simulate;
pub mod status;
pub mod watchdog;
pub mod why;

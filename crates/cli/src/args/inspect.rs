//! The arguments of the commands that inspect runs.

use crate::time_arg::when;
use clap::{Args, Subcommand, ValueEnum};
use longhaul_core::{Moment, OutcomeKind, word_enum};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Only runs in these states or with these outcomes
    ///
    /// States: running, waiting, suspended, orphaned (its supervisor died), unreadable, finished. Outcomes:
    /// done, failed, over_budget, out_of_time, needs_person, check_failed, not_started, incomplete, partial,
    /// retry_later, bug, cancelled.
    #[arg(long, short, value_name = "STATE", value_delimiter = ',', value_parser = state)]
    pub state: Vec<StateFilter>,
    /// Only runs that started since WHEN: a duration like 12h or 7d, a date, or a time
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Only runs in this directory or below it
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Only runs of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only runs that used the session with this id prefix
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only runs whose task or name contains this text
    #[arg(value_name = "WORDS")]
    pub text: Option<String>,
    /// Maximum number of runs, newest first [default: 30 on a terminal; all in a pipe or a file]
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "all", allow_negative_numbers = true)]
    pub limit: Option<NonZeroU64>,
    /// List all runs
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// A workflow: id prefix, name, or `@` for the latest one [default: everything unfinished]
    #[arg(value_name = "WORKFLOW", conflicts_with = "watch")]
    pub workflow: Option<String>,
    /// Only what works in this directory or below it; repeatable
    #[arg(long, value_name = "DIR", conflicts_with = "watch")]
    pub project: Vec<PathBuf>,
    /// Show each workflow and each run live, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

/// A state or an outcome to filter by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFilter {
    State(RowState),
    Outcome(OutcomeKind),
}

word_enum! {
    /// State of a run, including whether a supervisor is attached.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum RowState {
        /// An agent is working, or a step for one is running.
        Running = "running",
        /// Waiting for the next attempt. No process is running.
        Waiting = "waiting",
        /// SIGTERM or SIGHUP stopped it; `recover` continues it.
        Suspended = "suspended",
        /// Unfinished, without a supervisor.
        Orphaned = "orphaned",
        /// The files cannot be read.
        Unreadable = "unreadable",
        /// Finished with an outcome.
        Finished = "finished",
    }
}

fn state(text: &str) -> Result<StateFilter, String> {
    let states = RowState::ALL.iter().map(|state| (state.as_str(), StateFilter::State(*state)));
    one_of(states.chain(outcomes().map(|kind| (kind.as_str(), StateFilter::Outcome(kind)))), text)
}

pub(super) fn outcome(text: &str) -> Result<OutcomeKind, String> {
    one_of(outcomes().map(|kind| (kind.as_str(), kind)), text)
}

/// Returns the outcomes of finished runs.
fn outcomes() -> impl Iterator<Item = OutcomeKind> {
    OutcomeKind::ALL.iter().copied().filter(|kind| *kind != OutcomeKind::Suspended)
}

fn one_of<T>(all: impl Iterator<Item = (&'static str, T)>, text: &str) -> Result<T, String> {
    let mut words = Vec::new();
    for (word, value) in all {
        if word == text {
            return Ok(value);
        }
        words.push(word);
    }
    Err(format!("expected one of {}", words.join(", ")))
}

#[derive(Debug, Args)]
pub struct CostArgs {
    /// Group spending by this
    #[arg(long = "by", value_enum, value_name = "WHAT", default_value = "day")]
    pub group_by: GroupBy,
    /// Only spending since WHEN: a duration like 12h or 7d, a date, or a time [default: 30d]
    ///
    /// The time is rounded down to a quarter of an hour.
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "all")]
    pub since: Option<Moment>,
    /// Show the spending of all time
    #[arg(long)]
    pub all: bool,
    /// Print comma-separated values with a header line
    #[arg(long)]
    pub csv: bool,
}

word_enum! {
    #[derive(ValueEnum)]
    pub enum GroupBy {
        /// The local date
        Day = "day",
        /// The model
        Model = "model",
        /// The working directory
        Project = "project",
        /// The run
        Run = "run",
        /// The agent
        Agent = "agent",
        /// The workflow that started the run
        Workflow = "workflow",
    }
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub enum LedgerCommand {
    /// Rebuild the ledger from the directories of all runs
    Rebuild,
    /// Compare the ledger with the journals, and print each difference
    Verify,
}

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Run id prefix, name, directory, or `@` for the latest run
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
    /// Keep printing until the run finishes, across a recovery too
    #[arg(long, short)]
    pub follow: bool,
    /// Only this attempt, from 1
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Only messages since WHEN: 10m, 22:04, 2026-11-22T22:04 or 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Print the agent's own stream, line by line, unchanged
    #[arg(long, conflicts_with = "json_array")]
    pub raw: bool,
    /// Print one JSON array with an object per message
    #[arg(long, conflicts_with = "follow")]
    pub json_array: bool,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Run id prefix, name, directory, or `@` for the latest run
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
    /// Print how much changed in each file, instead of the changes
    #[arg(long)]
    pub stat: bool,
    /// Print only file names
    #[arg(long, conflicts_with = "stat")]
    pub name_only: bool,
    /// Only these files and directories, as git pathspecs relative to the top of the repository
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run or workflow: id prefix, name, directory, or `@` [default: all of the last 24 hours]
    #[arg(value_name = "RUN", conflicts_with = "since")]
    pub run: Option<String>,
    /// All runs active since WHEN: a duration like 12h or 7d, or a date and time like 2026-05-01T18:30
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Format of the report: an HTML page, text of 100 columns, or JSON [default: html]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<ReportFormat>,
    /// The file to write; `-` is stdout [default: `reports/report-DATE.html`, or `report-RUN.html`, in `$LONGHAUL_HOME`; stdout for
    /// text and JSON]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One HTML page that loads nothing and runs nothing
    Html,
    /// Text of 100 columns
    Text,
    /// One JSON object
    Json,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run or workflow: id prefix, name, directory, or `@` for the latest one
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
}

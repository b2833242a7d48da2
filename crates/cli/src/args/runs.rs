//! `longhaul runs`, `status`, `cost` and `ledger`.

use crate::time_arg::when;
use clap::{Args, Subcommand, ValueEnum};
use longhaul_core::{Moment, OutcomeKind};
use std::num::NonZeroU64;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Only runs in these states or with these outcomes
    ///
    /// States: running, waiting, suspended, orphaned (its supervisor died), unreadable, finished. Outcomes:
    /// done, failed, over_budget, out_of_time, needs_person, check_failed, incomplete, retry_later,
    /// cancelled.
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
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "all")]
    pub limit: Option<NonZeroU64>,
    /// List all runs
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Show each run live, in up to five lines, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

/// A state or an outcome to filter by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFilter {
    Running,
    Waiting,
    Suspended,
    Orphaned,
    Unreadable,
    Finished,
    Outcome(OutcomeKind),
}

const STATES: [(&str, StateFilter); 6] = [
    ("running", StateFilter::Running),
    ("waiting", StateFilter::Waiting),
    ("suspended", StateFilter::Suspended),
    ("orphaned", StateFilter::Orphaned),
    ("unreadable", StateFilter::Unreadable),
    ("finished", StateFilter::Finished),
];

pub(super) fn state(text: &str) -> Result<StateFilter, String> {
    // A suspended run has no outcome: it is a state above.
    let outcomes = OutcomeKind::ALL.iter().filter(|kind| **kind != OutcomeKind::Suspended);
    let outcomes = outcomes.map(|kind| (kind.as_str(), StateFilter::Outcome(*kind)));
    let all: Vec<(&str, StateFilter)> = STATES.into_iter().chain(outcomes).collect();
    let found = all.iter().find(|(word, _)| *word == text);
    found.map(|(_, state)| *state).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
        format!("expected one of {}", words.join(", "))
    })
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupBy {
    /// The local date
    Day,
    /// The model
    Model,
    /// The working directory
    Project,
    /// The run
    Run,
    /// The agent
    Agent,
}

#[derive(Debug, Args)]
pub struct LedgerArgs {
    #[command(subcommand)]
    pub command: LedgerCommand,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub enum LedgerCommand {
    /// Rebuild the ledger from the directories of all runs
    Rebuild,
    /// Compare the ledger with the journals, and print each difference
    Verify,
}

//! The arguments of `longhaul playbook bootstrap`.

use super::ProjectArgs;
use crate::args::limits::budget;
use crate::args::run_learn::JudgeArg;
use crate::time_arg::when;
use clap::{Args, ValueEnum};
use longhaul_core::{Moment, Usd};
use std::num::NonZeroUsize;

#[derive(Debug, Args)]
pub struct BootstrapArgs {
    /// Maximum number of sessions
    #[arg(long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    /// Order of the sessions
    #[arg(long, value_enum, value_name = "ORDER", default_value = "oldest")]
    pub order: OrderArg,
    /// Only sessions since WHEN: a duration like 30d, or a date like 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Print the sessions and the estimated cost; ask no model
    #[arg(long)]
    pub dry_run: bool,
    /// Include sessions that `.claude/bootstrap_state.json` lists as done; judged parts are not judged again
    #[arg(long)]
    pub force: bool,
    /// Start no further session once this many dollars are spent; `none` is unlimited [default: none]
    ///
    /// Needs --judge api and a model with a known price.
    #[arg(long, value_name = "USD", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Usd>,
    /// Judge: `api` asks the Messages API with your key, `claude` asks Claude Code with its login
    #[arg(long, value_enum, value_name = "JUDGE", default_value = "api")]
    pub judge: JudgeArg,
    /// Do not ask for confirmation of the cost
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// Which sessions come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArg {
    /// Oldest first: later lessons correct earlier ones
    Oldest,
    /// Newest first: current lessons come first
    Newest,
}

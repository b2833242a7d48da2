//! What `longhaul playbook bootstrap` takes.

use super::ProjectArgs;
use crate::args::limits::budget;
use crate::args::run_learn::JudgeArg;
use crate::time_arg::when;
use clap::{Args, ValueEnum};
use longhaul_core::{Moment, Usd};
use std::num::NonZeroUsize;

#[derive(Debug, Args)]
pub struct BootstrapArgs {
    /// Learn from at most so many sessions
    #[arg(long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    /// Which sessions come first
    #[arg(long, value_enum, value_name = "ORDER", default_value = "oldest")]
    pub order: OrderArg,
    /// Leave out sessions that are older: a duration before now like 30d, or a date like 2026-11-22
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Print what would be learnt from, and about what that costs. Asks nobody
    #[arg(long)]
    pub dry_run: bool,
    /// Look again at sessions that `.claude/bootstrap_state.json` says are done: what of them was judged here is not
    /// judged again
    #[arg(long)]
    pub force: bool,
    /// Begin no further session when this much was spent, in dollars: with --judge api, and a model that has a price;
    /// `none` is unlimited [default: none]
    #[arg(long, value_name = "USD", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Usd>,
    /// Who judges: `api` asks the Messages API with your key, `claude` asks Claude Code with its login
    #[arg(long, value_enum, value_name = "JUDGE", default_value = "api")]
    pub judge: JudgeArg,
    /// Go on without being asked whether it may cost that much
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

/// Which sessions come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArg {
    /// As they were: what was learnt later corrects what was learnt before
    Oldest,
    /// The other way round: what matters today first
    Newest,
}

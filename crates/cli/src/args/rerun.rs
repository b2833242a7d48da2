//! What `longhaul rerun` takes.

use super::ChangeArgs;
use crate::time_arg::when;
use clap::Args;
use longhaul_core::Moment;

#[derive(Debug, Args)]
pub struct RerunArgs {
    /// The runs: the first letters of their ids, their names, or `@` for the last one
    #[arg(value_name = "RUN", required_unless_present = "failed", conflicts_with = "failed")]
    pub runs: Vec<String>,
    /// All tasks whose last run failed: those that were neither done nor cancelled, in the directory that they worked in
    #[arg(long)]
    pub failed: bool,
    /// Only tasks whose last run was begun since then [default: 24h]
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "runs")]
    pub since: Option<Moment>,
    /// Tell what would be carried out once more, and start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Last, because the headings in the help hold for everything behind them.
    #[command(flatten)]
    pub changes: ChangeArgs,
}

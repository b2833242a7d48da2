//! The arguments of `longhaul rerun`.

use super::ChangeArgs;
use crate::time_arg::when;
use clap::Args;
use longhaul_core::Moment;

#[derive(Debug, Args)]
pub struct RerunArgs {
    /// Run id prefixes, names, or `@` for the latest run
    #[arg(value_name = "RUN", required_unless_present = "failed", conflicts_with = "failed")]
    pub runs: Vec<String>,
    /// All tasks in the directory whose last run was neither done nor cancelled
    #[arg(long)]
    pub failed: bool,
    /// Only tasks whose last run started since WHEN [default: 24h]
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "runs")]
    pub since: Option<Moment>,
    /// Print what would run; start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Last, because their help headings apply to all flags after them.
    #[command(flatten)]
    pub changes: ChangeArgs,
}

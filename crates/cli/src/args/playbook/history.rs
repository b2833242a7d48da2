//! What `longhaul playbook history` takes.

use super::ProjectArgs;
use clap::Args;
use std::num::NonZeroUsize;

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// How many changes, the newest first
    #[arg(short = 'n', long, value_name = "N", default_value = "20", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// Every change
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

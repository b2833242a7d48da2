//! The arguments of `longhaul playbook history`.

use super::ProjectArgs;
use clap::Args;
use std::num::NonZeroUsize;

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Maximum number of changes, newest first
    #[arg(short = 'n', long, value_name = "N", default_value = "20", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// All changes
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

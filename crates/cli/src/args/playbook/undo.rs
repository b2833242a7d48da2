//! The arguments of `longhaul playbook undo`.

use super::ProjectArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Restore the playbook from before this change; later changes are reverted too [default: the last
    /// change]
    #[arg(value_name = "CHANGE")]
    pub change: Option<i64>,
    /// Also revert manual edits made since
    #[arg(long)]
    pub force: bool,
    /// Print what would be reverted; change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

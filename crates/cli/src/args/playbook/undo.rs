//! What `longhaul playbook undo` takes.

use super::ProjectArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Go back to what the playbook was before this change; later ones are taken back with it [default: the last change]
    #[arg(value_name = "CHANGE")]
    pub change: Option<i64>,
    /// Take back what was written by hand since, too
    #[arg(long)]
    pub force: bool,
    /// Tell what would be taken back, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

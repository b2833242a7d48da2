//! What `longhaul playbook uninstall` takes.

use super::install::ScopeArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct UninstallArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// Change nothing; print what the file would be
    #[arg(long)]
    pub dry_run: bool,
}

//! The arguments of `longhaul playbook uninstall`.

use super::install::ScopeArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct UninstallArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// Print the new settings; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

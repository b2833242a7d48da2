//! What `longhaul playbook uninstall` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct UninstallArgs {}

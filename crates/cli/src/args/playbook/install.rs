//! What `longhaul playbook install` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct InstallArgs {}

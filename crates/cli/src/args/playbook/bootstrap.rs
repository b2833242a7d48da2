//! What `longhaul playbook bootstrap` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct BootstrapArgs {}

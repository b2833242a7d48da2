//! What `longhaul playbook check` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct CheckArgs {}

//! What `longhaul playbook inject` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct InjectArgs {}

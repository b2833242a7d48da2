//! What `longhaul playbook learn` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct LearnArgs {}

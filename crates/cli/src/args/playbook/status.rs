//! What `longhaul playbook status` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct PlaybookStatusArgs {}

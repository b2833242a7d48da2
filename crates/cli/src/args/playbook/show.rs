//! What `longhaul playbook show` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct ShowPlaybookArgs {}

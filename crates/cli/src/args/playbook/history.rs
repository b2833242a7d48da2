//! What `longhaul playbook history` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct HistoryArgs {}

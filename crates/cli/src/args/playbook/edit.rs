//! What `longhaul playbook edit` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct EditArgs {}

//! What `longhaul playbook undo` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct UndoArgs {}

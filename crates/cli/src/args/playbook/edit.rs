//! What `longhaul playbook edit` takes.

use super::ProjectArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct EditArgs {
    /// Begin with the text of this file, such as one that an earlier edit has left
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

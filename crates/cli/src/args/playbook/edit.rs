//! The arguments of `longhaul playbook edit`.

use super::ProjectArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct EditArgs {
    /// Start with the text of this file, such as one that an earlier edit left
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

//! What `longhaul playbook check` takes.

use super::ProjectArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub project: ProjectArgs,
}

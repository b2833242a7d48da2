//! The arguments of `longhaul playbook check`.

use super::ProjectArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub project: ProjectArgs,
}

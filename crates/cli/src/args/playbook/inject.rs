//! What `longhaul playbook inject` takes.

use super::ProjectArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct InjectArgs {
    /// What the session is asked: of a large playbook, what fits it best is told
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub prompt: String,
    /// Tell no more than about so many tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

//! The arguments of `longhaul playbook inject`.

use super::ProjectArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct InjectArgs {
    /// The session's prompt; of a large playbook, the points that match it best are chosen
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub prompt: String,
    /// Maximum number of tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    #[command(flatten)]
    pub project: ProjectArgs,
}

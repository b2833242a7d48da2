//! The arguments of `longhaul playbook status`.

use clap::Args;

#[derive(Debug, Args)]
pub struct PlaybookStatusArgs {
    /// Number of recent lessons to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub lessons: u32,
}

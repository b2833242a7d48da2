//! What `longhaul playbook status` takes.

use clap::Args;

#[derive(Debug, Args)]
pub struct PlaybookStatusArgs {
    /// How many of the last lessons to tell
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub lessons: u32,
}

//! What `longhaul keypoints` takes.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct KeypointsArgs {
    #[command(subcommand)]
    pub command: KeypointsCommand,
}

#[derive(Debug, Subcommand)]
pub enum KeypointsCommand {
    /// Ask a model once what a transcript teaches, and print it
    Extract(ExtractArgs),
}

#[derive(Debug, Args)]
pub struct ExtractArgs {}

//! `longhaul man`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this directory, created if missing
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

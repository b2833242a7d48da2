//! `longhaul doctor`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The agent's program [default: `claude`, in PATH or where its installers put it]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
}

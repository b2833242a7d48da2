//! The arguments of `longhaul export` and `longhaul import`.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run id prefix, name, directory, or `@` for the latest run
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The file to write [default: the run's id with `.longhaul`, in this directory]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A file that `longhaul export` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Directory for the workspace, new or empty
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// Use the workspace that is already in the directory
    #[arg(long)]
    pub use_existing: bool,
    /// Import a file that unpacks to more than ten times its size (and more than 16 MiB)
    #[arg(long)]
    pub allow_large: bool,
    /// The agent's program [default: the recorded one, or `claude` if that is missing]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
}

//! What `longhaul export` and `longhaul import` take.

use clap::Args;
use std::path::PathBuf;

/// Said at the end of the help of `export`.
pub(super) const EXPORTED: &str = "Of a workspace in git the file has HEAD with its whole history, what is staged, and every other file \
                        that is not ignored; not its remotes, settings, hooks and other branches. Nothing is changed.";

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The file to write [default: the run's id, with `.longhaul`, in this directory]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file if it is there
    #[arg(long)]
    pub force: bool,
}

/// Said at the end of the help of `import`.
pub(super) const TRUSTED: &str = "The run goes on with the prompt, the agent arguments and the files that are in the file: import only \
                       what you would run yourself.";

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// What `longhaul export` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The directory for the workspace, new or empty
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// Use the workspace that is in the directory already
    #[arg(long)]
    pub use_existing: bool,
    /// Import a file that unpacks to more than ten times its size (and more than 16 MiB)
    #[arg(long)]
    pub allow_large: bool,
    /// The agent's program [default: the recorded one, or where that is missing, `claude`]
    #[arg(long, value_name = "FILE")]
    pub agent_path: Option<PathBuf>,
}

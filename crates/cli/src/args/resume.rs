//! The arguments of `longhaul resume`.

use super::{ChangeArgs, EventsArgs};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Run id prefix, name, directory, or `@` for the latest run
    #[arg(value_name = "RUN")]
    pub run: String,
    /// A further request; `-` reads it from stdin [default: continue]
    #[arg(value_name = "PROMPT", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// Read the request from a file
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// Send the original task again
    #[arg(long, conflicts_with_all = ["prompt", "prompt_file"])]
    pub repeat_task: bool,
    /// Start a new run whose session begins with the history of this one, which stays unchanged
    #[arg(long)]
    pub fork: bool,
    /// Working directory, if the workspace has moved [default: the same]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Run in the background; the run survives this terminal
    #[arg(long)]
    pub detach: bool,
    /// Marks the supervisor that `--detach` starts
    #[arg(long, hide = true)]
    pub detached: bool,
    /// Last, because their help headings apply to all flags after them.
    #[command(flatten)]
    pub changes: ChangeArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

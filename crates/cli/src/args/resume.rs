//! What `longhaul resume` takes.

use super::{ChangeArgs, EventsArgs};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN")]
    pub run: String,
    /// What else the agent is to do; `-` reads it from stdin [default: to continue]
    #[arg(value_name = "PROMPT", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// Say the task once more
    #[arg(long, conflicts_with_all = ["prompt", "prompt_file"])]
    pub repeat_task: bool,
    /// Branch off: a new run whose session begins with the history of this one, which stays as it is
    #[arg(long)]
    pub fork: bool,
    /// The directory to work in, if the workspace has moved [default: the same]
    #[arg(long, short = 'C', value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Leave the run to a supervisor of its own that survives this terminal
    #[arg(long)]
    pub detach: bool,
    /// What a supervisor is started with by `--detach`
    #[arg(long, hide = true)]
    pub detached: bool,
    /// Last, because the headings in the help hold for everything behind them.
    #[command(flatten)]
    pub changes: ChangeArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

//! The arguments of the commands that continue, repeat or hand over earlier runs.

use super::agent::model;
use super::limits::{NONE, count};
use super::{ChangeArgs, EventsArgs, NotifyArgs};
use crate::time_arg::{duration, when};
use clap::Args;
use longhaul_core::{Moment, Span};
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub struct ResumeArgs {
    /// Run or workflow: id prefix, name, directory, or `@` for the latest one
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
    /// New maximum number of iterations, for a workflow
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<NonZeroU32>,
    /// Run in the background; the run survives this terminal
    #[arg(long)]
    pub detach: bool,
    #[command(flatten)]
    pub changes: ChangeArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

#[derive(Debug, Args)]
pub struct RerunArgs {
    /// Run id prefixes, names, or `@` for the latest run
    #[arg(value_name = "RUN", required_unless_present = "failed", conflicts_with = "failed")]
    pub runs: Vec<String>,
    /// All tasks in this directory, or below it, whose last run was neither done nor cancelled
    #[arg(long)]
    pub failed: bool,
    /// Only tasks whose last run started since WHEN [default: 24h]
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "runs")]
    pub since: Option<Moment>,
    /// Print what would run; start nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub changes: ChangeArgs,
}

#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// Run or workflow: id prefix, name, directory, or `@` [default: every orphaned or suspended one]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Only runs that were active in this last period, such as 7d
    #[arg(long, value_name = "DURATION", value_parser = age, default_value = "168h", conflicts_with = "run")]
    pub active_within: Option<Span>,
    /// Print the runs that would be recovered; start nothing
    #[arg(long)]
    pub list: bool,
    /// Recover at every boot, or at every login if user services start with one
    #[arg(long, conflicts_with_all = ["run", "list"])]
    pub install: bool,
    /// Undo --install
    #[arg(long, conflicts_with_all = ["run", "list", "active_within", "install"])]
    pub uninstall: bool,
    /// Print the service that --install would write; change nothing
    #[arg(long, conflicts_with_all = ["run", "list", "install", "uninstall"])]
    pub print_service: bool,
    /// Recover RUN in the background; the run survives this terminal
    #[arg(long, requires = "run", conflicts_with = "list")]
    pub detach: bool,
    #[command(flatten)]
    pub notify: NotifyArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

/// Reads a duration, or `none`, which is unlimited, as 0 is.
fn age(text: &str) -> Result<Span, String> {
    if text.trim() == NONE { Ok(Span::ZERO) } else { duration(text) }
}

#[derive(Debug, Args)]
pub struct HandoffArgs {
    /// Run id prefix, name, directory, or `@` for the latest run [default: @]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Session files of Claude Code, or streams of attempts, instead of a run; repeatable
    ///
    /// Session files are `~/.claude/projects/*/*.jsonl`, streams are `attempts/*/stream.jsonl` of a run.
    /// Several are taken in order.
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub from_transcript: Vec<PathBuf>,
    /// The task [default: the session's first prompt, or the one in the run's plan]
    #[arg(long, value_name = "TEXT", requires = "from_transcript", conflicts_with = "run")]
    pub task: Option<String>,
    /// Read the task from a file
    #[arg(long, value_name = "FILE", requires = "from_transcript", conflicts_with_all = ["task", "run"])]
    pub task_file: Option<PathBuf>,
    /// Maximum size of the handoff prompt, in tokens [default: that of the run, or 12000]
    #[arg(long, value_name = "N", value_parser = count)]
    pub handoff_tokens: Option<u64>,
    /// Summarize older work in the handoff prompt with this model
    ///
    /// The model has one minute. If it fails, older work is listed in one line per step.
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub handoff_summary: Option<String>,
    /// The agent's program, which calls the model [default: `claude`, on PATH or where its installers put it]
    #[arg(long, value_name = "FILE", requires = "handoff_summary")]
    pub agent_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Run or workflow: id prefix, name, directory, or `@` for the latest one
    #[arg(value_name = "RUN", default_value = "@")]
    pub run: String,
    #[command(flatten)]
    pub events: EventsArgs,
}

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// Run or workflow: id prefix, name, directory, or `@` for the latest one
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Do not wait for the agent's result; unfinished work of the agent is lost
    #[arg(long = "now")]
    pub immediately: bool,
}

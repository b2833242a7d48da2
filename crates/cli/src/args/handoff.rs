//! The arguments of `longhaul handoff`.

use super::agent::model;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct HandoffArgs {
    /// Run id prefix, name, directory, or `@` for the latest run
    #[arg(value_name = "RUN", required_unless_present = "from_transcript")]
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
    /// Maximum size of the handoff prompt, in tokens
    #[arg(long, value_name = "N", default_value_t = longhaul_core::HANDOFF_TOKENS_MAX)]
    pub handoff_tokens: u64,
    /// Summarize older work in the handoff prompt with this model
    ///
    /// The model has one minute. If it fails, older work is listed in one line per step.
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub handoff_summary: Option<String>,
    /// The agent's program, which calls the model [default: `claude`, in PATH or where its installers put it]
    #[arg(long, value_name = "FILE", requires = "handoff_summary")]
    pub agent_path: Option<PathBuf>,
}

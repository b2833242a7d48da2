//! What `longhaul playbook learn` takes.

use super::ProjectArgs;
use crate::args::run_learn::JudgeArg;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct LearnArgs {
    /// Session files of Claude Code (`~/.claude/projects/*/*.jsonl`), or streams of attempts, to learn from besides what is
    /// queued
    #[arg(value_name = "TRANSCRIPT")]
    pub transcripts: Vec<PathBuf>,
    /// Try again what failed, from where it had come to: no answer is asked for twice
    #[arg(long)]
    pub retry_failed: bool,
    /// Who judges: only what is queued for this judge is learnt from
    #[arg(long, value_enum, value_name = "JUDGE", default_value = "api")]
    pub judge: JudgeArg,
    /// Started by hooks: leaves the terminal, says nothing, and stays for an hour for what is not due yet
    #[arg(long, hide = true, conflicts_with_all = ["transcripts", "failed"])]
    pub worker: bool,
    /// Whose playbook learns from the transcripts that are named.
    #[command(flatten)]
    pub project: ProjectArgs,
}

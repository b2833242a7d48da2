//! The arguments of `longhaul playbook learn`.

use super::ProjectArgs;
use crate::args::run_learn::JudgeArg;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct LearnArgs {
    /// Session files of Claude Code (`~/.claude/projects/*/*.jsonl`) or streams of attempts, in addition to
    /// the queue
    #[arg(value_name = "TRANSCRIPT")]
    pub transcripts: Vec<PathBuf>,
    /// Retry failed transcripts where they stopped; no answer is paid twice
    #[arg(long)]
    pub retry_failed: bool,
    /// Judge; only transcripts that are queued for it are learned
    #[arg(long, value_enum, value_name = "JUDGE", default_value = "api")]
    pub judge: JudgeArg,
    /// Started by hooks: leaves the terminal, prints nothing, and waits up to an hour for items that are not
    /// due yet
    #[arg(long, hide = true, conflicts_with_all = ["transcripts", "retry_failed"])]
    pub worker: bool,
    /// Project whose playbook learns from the named transcripts.
    #[command(flatten)]
    pub project: ProjectArgs,
}

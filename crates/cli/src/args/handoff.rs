//! What `longhaul seed` takes.

use super::agent::model;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct HandoffArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory
    #[arg(value_name = "RUN", required_unless_present = "from_transcript")]
    pub run: Option<String>,
    /// Instead of a run: a session file of Claude Code (`~/.claude/projects/*/*.jsonl`), or the stream of an attempt
    /// (`attempts/*/stream.jsonl` of a run). Several are told one after the other
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub from_transcript: Vec<PathBuf>,
    /// What was to be done [default: what the session was first asked, or the prompt in the plan of the run]
    #[arg(long, value_name = "TEXT", requires = "from_transcript", conflicts_with = "run")]
    pub task: Option<String>,
    /// Read what was to be done from a file
    #[arg(long, value_name = "FILE", requires = "from_transcript", conflicts_with_all = ["task", "run"])]
    pub task_file: Option<PathBuf>,
    /// How long it may be, in tokens
    #[arg(long, value_name = "N", default_value_t = longhaul_agent::HANDOFF_TOKENS_MAX)]
    pub handoff_tokens: u64,
    /// Have this model condense what is older than the most recent work, in at most a minute; where it does not, that
    /// is told in a line each
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub handoff_summary: Option<String>,
    /// The agent's program, which asks that model [default: `claude`, on PATH and where its installers put it]
    #[arg(long, value_name = "FILE", requires = "handoff_summary")]
    pub agent_path: Option<PathBuf>,
}

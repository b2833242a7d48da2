//! The arguments of `longhaul playbook extract`.

use crate::args::limits::duration_limit;
use clap::Args;
use longhaul_core::Span;
use longhaul_playbook::diagnostics::is_name;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// A session file of Claude Code (`~/.claude/projects/*/*.jsonl`), or the stream of an attempt; `-` reads
    /// it from stdin
    #[arg(value_name = "TRANSCRIPT", required_unless_present = "run")]
    pub transcript: Option<PathBuf>,
    /// A run instead of a file: id prefix, name, directory, or `@` for the latest run
    #[arg(long, value_name = "RUN", conflicts_with = "transcript")]
    pub run: Option<String>,
    /// The playbook whose points are judged [default: the project's `.claude/playbook.json`]
    ///
    /// The project is CLAUDE_PROJECT_DIR, else the run's directory, else this one.
    #[arg(long, value_name = "FILE")]
    pub playbook: Option<PathBuf>,
    /// Maximum time for all requests, including waits; `none` is unlimited
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, default_value = "120s")]
    pub time_budget: Span,
    /// Name of the diagnostic text with prompt and answer
    ///
    /// It is written to `.claude/diagnostic` if the file `.claude/diagnostic_mode` exists.
    #[arg(long, value_name = "NAME", value_parser = name, default_value = "reflection")]
    pub diagnostic_name: String,
    /// Do not queue the transcript after a failure
    #[arg(long)]
    pub no_queue: bool,
}

fn name(text: &str) -> Result<String, String> {
    if is_name(text) {
        Ok(text.to_owned())
    } else {
        Err("expected a part of a file's name: letters, digits, `_`, `-`, `.` and spaces".to_owned())
    }
}

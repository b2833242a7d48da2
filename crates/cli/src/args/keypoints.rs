//! What `longhaul keypoints` takes.

use super::limits::duration_limit;
use clap::{Args, Subcommand};
use longhaul_core::Span;
use longhaul_playbook::diagnostics::is_name;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct KeypointsArgs {
    #[command(subcommand)]
    pub command: KeypointsCommand,
}

#[derive(Debug, Subcommand)]
pub enum KeypointsCommand {
    /// Ask a model once what a transcript teaches, and print it
    ///
    /// Prints what the playbook does not know yet, and how its points did, as JSON: `new_key_points` and `evaluations`. It
    /// changes no playbook. Both lists are empty where something went wrong; then the transcript is queued, for
    /// `longhaul playbook learn` to learn from. The model is asked by the Messages API, with ANTHROPIC_API_KEY or
    /// ANTHROPIC_AUTH_TOKEN.
    Extract(ExtractArgs),
}

#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// A session file of Claude Code (`~/.claude/projects/*/*.jsonl`), or the stream of an attempt; `-` reads it from stdin
    #[arg(value_name = "TRANSCRIPT", required_unless_present = "run")]
    pub transcript: Option<PathBuf>,
    /// Instead of a file: a run, by the first letters of its id, `@` for the last one, or its directory
    #[arg(long, value_name = "RUN", conflicts_with = "transcript")]
    pub run: Option<String>,
    /// The playbook whose points are judged [default: `.claude/playbook.json` of the project: CLAUDE_PROJECT_DIR, else the
    /// directory of the run, else this one]
    #[arg(long, value_name = "FILE")]
    pub playbook: Option<PathBuf>,
    /// How long all requests may take, with the waits between them; `none` is unlimited
    #[arg(long, value_name = "DURATION", value_parser = duration_limit, default_value = "120s")]
    pub time_budget: Span,
    /// What the text with prompt and answer is called in `.claude/diagnostic`, where the file `.claude/diagnostic_mode` asks
    /// for texts
    #[arg(long, value_name = "NAME", value_parser = name, default_value = "reflection")]
    pub diagnostic_name: String,
    /// Queue nothing where something goes wrong
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

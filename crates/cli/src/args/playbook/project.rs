//! Whose playbook is meant.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// The project whose playbook is meant [default: CLAUDE_PROJECT_DIR, else the nearest directory above with a
    /// .claude/playbook.json, else this one]
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
}

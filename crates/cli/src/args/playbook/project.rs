//! The project whose playbook a command uses.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// The project [default: CLAUDE_PROJECT_DIR, else the nearest directory above with a
    /// .claude/playbook.json, else this one]
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
}

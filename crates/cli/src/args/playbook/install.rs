//! What `longhaul playbook install` takes.

use crate::args::hook::LearningArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub learning: LearningArgs,
    /// Take the ACE playbook hooks out: theirs and ours would tell and judge every session twice
    #[arg(long)]
    pub replace_ace: bool,
    /// Change nothing; print what the file would be
    #[arg(long)]
    pub dry_run: bool,
}

/// Whose settings: those that hold for all of a user's projects, unless it is said.
#[derive(Clone, Debug, Default, Args)]
#[group(multiple = false)]
pub struct ScopeArgs {
    /// The settings of all your projects: `$CLAUDE_CONFIG_DIR/settings.json`, else `~/.claude/settings.json` [default]
    #[arg(long)]
    pub user: bool,
    /// The settings of the project in the working directory, which its repository may hold: `.claude/settings.json`
    #[arg(long)]
    pub project: bool,
    /// Your own settings of the project in the working directory: `.claude/settings.local.json`
    #[arg(long)]
    pub local: bool,
}

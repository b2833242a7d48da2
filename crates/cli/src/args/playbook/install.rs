//! The arguments of `longhaul playbook install`.

use crate::args::hook::LearningArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub learning: LearningArgs,
    /// Remove the ACE playbook hooks, which would inject and judge every session twice
    #[arg(long)]
    pub replace_ace: bool,
    /// Print the new settings; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// The settings file to change. The default applies to all of a user's projects.
#[derive(Clone, Debug, Default, Args)]
#[group(multiple = false)]
pub struct ScopeArgs {
    /// The settings of all your projects: `$CLAUDE_CONFIG_DIR/settings.json`, else `~/.claude/settings.json`
    /// [default]
    #[arg(long)]
    pub user: bool,
    /// The settings of the project in the working directory, which its repository may contain:
    /// `.claude/settings.json`
    #[arg(long)]
    pub project: bool,
    /// Your own settings of the project in the working directory: `.claude/settings.local.json`
    #[arg(long)]
    pub local: bool,
}

//! The arguments of `longhaul playbook`.

mod bootstrap;
mod check;
mod edit;
mod extract;
mod history;
mod inject;
mod install;
mod learn;
mod project;
mod show;
mod status;
mod undo;
mod uninstall;

pub use bootstrap::{BootstrapArgs, OrderArg};
pub use check::CheckArgs;
pub use edit::EditArgs;
pub use extract::ExtractArgs;
pub use history::HistoryArgs;
pub use inject::InjectArgs;
pub use install::{InstallArgs, ScopeArgs};
pub use learn::LearnArgs;
pub use project::ProjectArgs;
pub use show::ShowPlaybookArgs;
pub use status::PlaybookStatusArgs;
pub use undo::UndoArgs;
pub use uninstall::UninstallArgs;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct PlaybookArgs {
    #[command(subcommand)]
    pub command: PlaybookCommand,
}

#[derive(Debug, Subcommand)]
pub enum PlaybookCommand {
    /// Show the playbook of a project
    Show(ShowPlaybookArgs),
    /// Print what a session would receive from the playbook
    Inject(InjectArgs),
    /// Change the playbook in your editor; it is checked before it is saved
    Edit(EditArgs),
    /// Validate the playbook
    Check(CheckArgs),
    /// List the changes of the playbook and their causes
    History(HistoryArgs),
    /// Revert changes of the playbook
    Undo(UndoArgs),
    /// Learn from queued transcripts, or from ones that you name
    Learn(LearnArgs),
    /// Show what is queued, learned and failed, and what it cost
    Status(PlaybookStatusArgs),
    /// Ask a model what one transcript teaches, and print it
    ///
    /// Prints the new points and how the playbook's points performed, as JSON: `new_key_points` and `evaluations`. It
    /// changes no playbook. If something fails, both lists are empty and the transcript is queued for
    /// `longhaul playbook learn`. The Messages API is asked, with ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN.
    Extract(ExtractArgs),
    /// Learn from the project's past sessions
    Bootstrap(BootstrapArgs),
    /// Install Longhaul's hooks at session start and end
    Install(InstallArgs),
    /// Remove Longhaul's hooks from Claude Code's settings
    Uninstall(UninstallArgs),
}

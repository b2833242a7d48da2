//! What `longhaul playbook` takes.

mod bootstrap;
mod check;
mod edit;
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
    /// Print what a session would be told of the playbook
    Inject(InjectArgs),
    /// Change the playbook in your editor, checked before it is saved
    Edit(EditArgs),
    /// Say whether the playbook can be understood, and what is wrong in it
    Check(CheckArgs),
    /// List the states of the playbook, and what each change was for
    History(HistoryArgs),
    /// Take back a change of the playbook
    Undo(UndoArgs),
    /// Learn from what is queued, or from transcripts that you name
    Learn(LearnArgs),
    /// Tell what is queued, what was learnt, what failed and what it cost
    Status(PlaybookStatusArgs),
    /// Learn from the project's past sessions
    Bootstrap(BootstrapArgs),
    /// Have Claude Code call Longhaul at the begin and the end of its sessions
    Install(InstallArgs),
    /// Take Longhaul's hooks out of Claude Code's settings
    Uninstall(UninstallArgs),
}

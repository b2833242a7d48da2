//! `longhaul playbook`: lessons learned from past sessions. Each subcommand has its own file.

pub mod bootstrap;
pub mod change_report;
pub mod check;
mod edit;
mod extract;
pub mod history;
pub mod inject;
mod install;
pub mod learn;
mod project;
pub mod settings;
pub mod show;
pub mod status;
mod transcript;
mod undo;

pub use inject::injection_for_prompt;
pub use project::{current_project, templates};

use crate::args::GlobalArgs;
use crate::args::playbook::PlaybookCommand;
use crate::failure::Failure;

pub fn playbook(global: &GlobalArgs, command: &PlaybookCommand) -> Result<u8, Failure> {
    match command {
        PlaybookCommand::Show(args) => show::show(global, args),
        PlaybookCommand::Inject(args) => inject::inject(global, args),
        PlaybookCommand::Edit(args) => edit::edit(global, args),
        PlaybookCommand::Extract(args) => Ok(extract::extract(global, args)),
        PlaybookCommand::Check(args) => check::check(global, args),
        PlaybookCommand::History(args) => history::history(global, args),
        PlaybookCommand::Undo(args) => undo::undo(global, args),
        PlaybookCommand::Learn(args) => learn::learn(global, args),
        PlaybookCommand::Status { lessons } => status::status(global, *lessons),
        PlaybookCommand::Bootstrap(args) => bootstrap::bootstrap(global, args),
        PlaybookCommand::Install(args) => install::install(global, args),
        PlaybookCommand::Uninstall(args) => install::uninstall(global, args),
    }
}

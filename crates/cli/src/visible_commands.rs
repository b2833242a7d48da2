//! The command tree without hidden flags. Completions and manual pages are generated from it.

use clap::Command;

/// Copies the tree without hidden flags. The copy is for display and is never used for parsing.
pub fn tree(command: &Command) -> Command {
    let mut copy = Command::new(command.get_name().to_owned())
        .disable_help_subcommand(true)
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()))
        .subcommands(command.get_subcommands().map(tree));
    if let Some(version) = command.get_version() {
        copy = copy.version(version.to_owned());
    }
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(text) = command.get_after_help() {
        copy = copy.after_help(text.clone());
    }
    copy.propagate_version(true).subcommand_required(command.is_subcommand_required_set())
}

#[cfg(test)]
mod tests;

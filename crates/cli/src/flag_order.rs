//! Reorders arguments so that flags work before and after the subcommand: `longhaul --model x run …` means
//! `longhaul run --model x …`.
//! Only flags of a subcommand that stand before it are moved.

use clap::{ArgAction, Command};
use std::ffi::OsString;

/// Moves flags behind the subcommand that they belong to. Returns the arguments in the order that clap
/// expects.
pub fn reorder(command: &Command, arguments: Vec<OsString>) -> Vec<OsString> {
    let mut global = Vec::new();
    let mut moved = Vec::new();
    let mut rest = arguments.into_iter();
    global.extend(rest.next());
    while let Some(argument) = rest.next() {
        let Some(text) = argument.to_str() else {
            global.push(argument);
            break;
        };
        if command.find_subcommand(text).is_some() {
            global.push(argument);
            global.append(&mut moved);
            break;
        }
        match owner(command, text) {
            FlagOwner::Subcommand { takes_value } => {
                moved.push(argument);
                moved.extend(takes_value.then(|| rest.next()).flatten());
            }
            FlagOwner::Global { takes_value } => {
                global.push(argument);
                global.extend(takes_value.then(|| rest.next()).flatten());
            }
            // Unknown flag: it stays in its position, and clap reports it.
            FlagOwner::Unknown => {
                global.push(argument);
                break;
            }
        }
    }
    // Without a subcommand nothing is moved.
    global.append(&mut moved);
    global.extend(rest);
    global
}

enum FlagOwner {
    Global { takes_value: bool },
    Subcommand { takes_value: bool },
    Unknown,
}

fn owner(command: &Command, text: &str) -> FlagOwner {
    let (name, inline) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
    let takes_value = |command: &Command| {
        command
            .get_arguments()
            .find(|argument| names(argument, name))
            .map(|argument| !inline && matches!(argument.get_action(), ArgAction::Set | ArgAction::Append))
    };
    if !name.starts_with('-') {
        return FlagOwner::Unknown;
    }
    if let Some(takes_value) = takes_value(command) {
        return FlagOwner::Global { takes_value };
    }
    match command.get_subcommands().find_map(takes_value) {
        Some(takes_value) => FlagOwner::Subcommand { takes_value },
        None => FlagOwner::Unknown,
    }
}

fn names(argument: &clap::Arg, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(long) => {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long() == Some(long) || aliases.contains(&long)
        }
        None => name.strip_prefix('-').is_some_and(|short| {
            let mut letters = short.chars();
            argument.get_short() == letters.next() && letters.next().is_none()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    fn check(before: &str, after: &str) {
        let arguments = before.split(' ').map(OsString::from).collect();
        let after: Vec<OsString> = after.split(' ').map(OsString::from).collect();
        assert_eq!(reorder(&Cli::command(), arguments), after);
    }

    #[test]
    fn moves_flags_behind_their_subcommand() {
        check("longhaul --model x run p", "longhaul run --model x p");
        check("longhaul --model=x --quiet run p", "longhaul --quiet run --model=x p");
        check("longhaul --output-format json -C d run p", "longhaul --output-format json run -C d p");
        check("longhaul run p --model x", "longhaul run p --model x");
        check("longhaul --dry-run run -- --model y", "longhaul run --dry-run -- --model y");
        check("longhaul --claude-hours 2 research t", "longhaul research --claude-hours 2 t");
    }

    #[test]
    fn keeps_unknown_flags_in_place() {
        check("longhaul --nonsense run p", "longhaul --nonsense run p");
        check("longhaul --model x", "longhaul --model x");
        check("longhaul frobnicate --model x", "longhaul frobnicate --model x");
    }
}

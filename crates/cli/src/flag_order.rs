//! Reorders arguments so that flags work before and after the subcommand: `longhaul --model x run …` means
//! `longhaul run --model x …`.
//! Only flags of a subcommand that stand before it are moved.

use clap::{ArgAction, Command};
use std::ffi::OsString;

/// Moves flags behind the subcommand that they belong to. Returns the arguments in the order that clap
/// expects. Without a subcommand, or after an unknown flag, the order stays.
pub fn reorder(command: &Command, arguments: Vec<OsString>) -> Vec<OsString> {
    let mut rest = arguments.into_iter();
    let mut ordered: Vec<OsString> = rest.next().into_iter().collect();
    let mut moved = Vec::new();
    while let Some(argument) = rest.next() {
        let Some(flag) = argument.to_str().and_then(|text| flag(command, text)) else {
            ordered.push(argument);
            break;
        };
        let target = if flag.is_global { &mut ordered } else { &mut moved };
        target.push(argument);
        target.extend(flag.takes_value.then(|| rest.next()).flatten());
    }
    ordered.into_iter().chain(moved).chain(rest).collect()
}

struct Flag {
    is_global: bool,
    /// Whether the next argument is its value.
    takes_value: bool,
}

fn flag(command: &Command, text: &str) -> Option<Flag> {
    let (name, inline) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
    let find = |command: &Command| command.get_arguments().find(|argument| names(argument, name)).cloned();
    let global = find(command);
    let is_global = global.is_some();
    let argument = global.or_else(|| command.get_subcommands().find_map(find))?;
    let takes_value = !inline && matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    Some(Flag { is_global, takes_value })
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

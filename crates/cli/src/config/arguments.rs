//! Makes the configured values the defaults of their flags, so that typed arguments take precedence. A key is
//! omitted if its flag was typed or excludes a typed flag.

use super::keys::{Key, Keys, REVIEW, excluded, excludes_others, name};
use super::layers::{Values, table_values};
use super::loaded::LoadedConfig;
use crate::args::{Cli, ConfigSourceArgs};
use crate::configured_values::ConfiguredValues;
use crate::failure::Failure;
use crate::researchgym_dir::is_researchgym_dir;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Id};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::{env, mem};

/// The keys of the checks. `check_flags.rs` reports details without them, because a resumed run may have checks.
const CHECK: &str = "check";

/// Keys that refine another key, with that key. Any of several keys is sufficient. Configured alone, they have no effect and are allowed,
/// because the user may set them in advance. Typed alone, they are an error.
const DETAILS: &[(&str, &str)] = &[
    ("keep_improving", "keep_going"),
    ("done_when", "keep_going"),
    ("status_every", "keep_going"),
    ("max_idle_stops", "keep_going"),
    ("max_failed_checks", CHECK),
    ("max_failed_checks", REVIEW),
    ("check_timeout", CHECK),
    ("review_timeout", REVIEW),
    ("learn_judge", "learn"),
    ("learn_tokens", "learn"),
];

/// The configuration that a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigScope {
    Nothing,
    /// Only how to print. An invalid file must not prevent inspecting or stopping a run.
    Printing,
    /// How to print, and the command's own table.
    Table,
    /// The user's plain keys for which the command has flags, and its own table. It does not work on a
    /// project.
    User,
    /// All plain keys for which the command has a flag.
    Everything,
}

impl ConfigScope {
    fn for_command(command: &Command) -> ConfigScope {
        match command.get_name() {
            "run" | "simulate" => ConfigScope::Everything,
            "research" | "doctor" => ConfigScope::User,
            "recover" => ConfigScope::Table,
            // Shells read completions when they start.
            "completions" | "man" => ConfigScope::Nothing,
            _ => ConfigScope::Printing,
        }
    }
}

/// The contribution of the configuration to a command.
#[derive(Default)]
pub struct Configured {
    pub values: ConfiguredValues,
    /// An error in a file that this command does not need.
    pub warning: Option<Failure>,
}

/// Makes the configuration of the typed command the defaults of its flags, except for the keys in `off`.
pub fn configure(root: &mut Command, typed: &[OsString], off: &[&str]) -> Result<Configured, Failure> {
    // Errors in the flags, and help, are handled when the line is parsed again.
    let matches = tree_for(root, typed).ignore_errors(true).try_get_matches_from(typed);
    let subcommand = matches.ok().and_then(|mut matches| matches.remove_subcommand());
    let Some((name, matches)) = subcommand else { return Ok(Configured::default()) };
    let Some(command) = root.find_subcommand(&name) else { return Ok(Configured::default()) };
    let scope = match ConfigScope::for_command(command) {
        ConfigScope::Nothing => return Ok(Configured::default()),
        // A run of Longhaul keeps its settings: when it is resumed, only printing is configurable.
        ConfigScope::User if resumes_own_run(&matches) => ConfigScope::Printing,
        scope => scope,
    };
    match configured_values(root, command, scope, &matches) {
        Ok(mut values) => {
            values.retain(|key, _| !off.contains(&key.as_str()));
            Ok(Configured { values: apply(root, &name, values, &matches), warning: None })
        }
        // These commands report errors in files themselves.
        Err(_) if ["config", "doctor"].contains(&name.as_str()) => Ok(Configured::default()),
        Err(failure) if scope == ConfigScope::Printing => {
            Ok(Configured { warning: Some(failure), ..Configured::default() })
        }
        Err(failure) => Err(failure),
    }
}

/// Returns whether the command resumes a run of Longhaul. From a run of ResearchGym, it starts a new one.
fn resumes_own_run(matches: &ArgMatches) -> bool {
    let selector = matches.try_get_one::<String>("resume").ok().flatten();
    selector.is_some_and(|selector| !is_researchgym_dir(selector))
}

/// Copies the tree with only those commands that the typed words can name. A copy of all of them takes as long as
/// everything else that a short command does.
fn tree_for(root: &Command, typed: &[OsString]) -> Command {
    let words = typed.iter().filter_map(|word| word.to_str());
    let named = words.filter_map(|word| root.find_subcommand(word));
    let named: BTreeMap<&str, &Command> = named.map(|command| (command.get_name(), command)).collect();
    Command::new(root.get_name().to_owned())
        .version(root.get_version().unwrap_or_default().to_owned())
        .propagate_version(true)
        .args(root.get_arguments())
        .groups(root.get_groups())
        .subcommands(named.into_values())
}

/// Makes these values the defaults of their flags, unless the typed flags override them.
fn apply(root: &mut Command, name: &str, mut values: Values, matches: &ArgMatches) -> ConfiguredValues {
    values.retain(|_, value| !value.values.is_empty());
    let mut typed = BTreeSet::new();
    if let Some(command) = root.find_subcommand(name) {
        let args = typed_args(root, matches).chain(typed_args(command, matches));
        typed = args.map(super::keys::name).collect();
        let mut excluded = excluded(root, name);
        if typed.contains(REVIEW) && !excludes_others(REVIEW, &typed_values(matches, REVIEW)) {
            excluded.retain(|(_, other)| other != REVIEW);
        }
        drop_overridden(command, &mut values, &typed, &excluded);
    }
    let keys = Keys::for_command(root);
    let key_of = |typed: &str| keys.find(None, typed).or_else(|| keys.find(Some(name), typed));
    typed.retain(|typed| key_of(typed).is_some_and(|key| !key.arg.is_global_set()));
    let set = |command: Command| with_defaults(command, &values);
    *root = set(mem::take(root)).mut_subcommand(name, set);
    ConfiguredValues::new(typed, values.into_iter().map(|(key, value)| (key, value.origin())))
}

fn with_defaults(mut command: Command, values: &Values) -> Command {
    let ids: BTreeMap<String, Id> =
        command.get_arguments().map(|arg| (name(arg), arg.get_id().clone())).collect();
    for (key, value) in values {
        if let Some(id) = ids.get(key) {
            command = command.mut_arg(id, |arg| {
                // Help must not show it as a default of the program. That of a switch is never shown.
                let takes_values = arg.get_action().takes_values();
                arg.default_values(value.values.clone()).hide_default_value(takes_values)
            });
        }
    }
    for (detail, whole) in DETAILS.iter().filter(|(_, whole)| ![CHECK, REVIEW].contains(whole)) {
        // A default does not count as present.
        if let (Some(detail), Some(whole), false) =
            (ids.get(*detail), ids.get(*whole), values.contains_key(*whole))
        {
            command = command.mut_arg(detail, |arg| arg.requires(whole.clone()));
        }
    }
    command
}

/// Returns a typed argument of this command that is not among these, by their ids.
pub fn typed_except(ids: &[&str], command: &str, matches: &ArgMatches) -> Option<String> {
    let root = Cli::command();
    let command = root.find_subcommand(command).expect("there is such a command");
    let other = typed_args(command, matches).find(|arg| !ids.contains(&arg.get_id().as_str()))?;
    Some(match other.get_long() {
        _ if other.is_last_set() => "an argument of the agent".to_owned(),
        Some(flag) => format!("--{flag}"),
        None => other.to_string(),
    })
}

fn typed_args<'c>(command: &'c Command, matches: &ArgMatches) -> impl Iterator<Item = &'c Arg> {
    command.get_arguments().filter(move |arg| is_typed(matches, arg.get_id().as_str()))
}

pub fn is_typed(matches: &ArgMatches, id: &str) -> bool {
    // A flag that this command does not have cannot have been typed.
    matches.try_contains_id(id).unwrap_or(false) && matches.value_source(id) == Some(ValueSource::CommandLine)
}

fn typed_values(matches: &ArgMatches, id: &str) -> Vec<String> {
    let values = matches.try_get_raw(id).ok().flatten().filter(|_| is_typed(matches, id));
    values.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect()
}

/// Removes typed keys, keys that these exclude, and details of keys that are neither typed nor configured.
fn drop_overridden(
    command: &Command,
    values: &mut Values,
    typed: &BTreeSet<String>,
    excluded: &[(String, String)],
) {
    values.retain(|key, _| {
        let is_excluded = |(one, other): &(String, String)| {
            (one == key && typed.contains(other)) || (other == key && typed.contains(one))
        };
        !typed.contains(key) && !excluded.iter().any(is_excluded)
    });
    let set: BTreeSet<String> = values.keys().chain(typed).cloned().collect();
    // `research` always keeps going: it has flags for the details but none for the main key.
    let has_flag = |whole: &str| command.get_arguments().any(|arg| name(arg) == whole);
    values.retain(|key, _| {
        let mut wholes =
            DETAILS.iter().filter(|(detail, _)| detail == key).map(|(_, whole)| whole).peekable();
        wholes.peek().is_none() || wholes.any(|whole| !has_flag(whole) || set.contains(*whole))
    });
}

fn configured_values(
    root: &Command,
    command: &Command,
    scope: ConfigScope,
    matches: &ArgMatches,
) -> Result<Values, Failure> {
    let keys = Keys::for_command(root);
    let reads_flags = matches!(scope, ConfigScope::User | ConfigScope::Everything);
    let flags: BTreeSet<String> = command.get_arguments().filter(|_| reads_flags).map(name).collect();
    let is_read = |key: &Key<'_>| key.arg.is_global_set() || flags.contains(&key.name);
    let directory = (scope == ConfigScope::Everything).then(|| directory(matches));
    let source = ConfigSourceArgs::from_arg_matches(matches).unwrap_or_default();
    let mut loaded = LoadedConfig::read(&keys, directory.as_deref(), &source, is_read)?;
    loaded.plain.retain(|name, _| keys.find(None, name).is_some_and(is_read));
    if scope != ConfigScope::Printing {
        loaded.plain.extend(table_values(&loaded.files.user, command.get_name()));
    }
    Ok(loaded.plain)
}

fn directory(matches: &ArgMatches) -> PathBuf {
    let typed = matches.try_get_one::<PathBuf>("cwd").ok().flatten().cloned();
    typed.or_else(|| env::current_dir().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;

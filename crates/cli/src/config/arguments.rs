//! Makes the configured values the defaults of their flags, so that typed arguments take precedence. A key is
//! omitted if its flag was typed or excludes a typed flag.

use super::ConfiguredValues;
use super::keys::{Key, Keys, name};
use super::layers::EffectiveValue;
use super::loaded::LoadedConfig;
use crate::args::ConfigSourceArgs;
use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, FromArgMatches, Id};
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// The key of the checks. `check_flags.rs` reports details without it, because a resumed run may have checks.
const CHECK: &str = "check";

/// Keys that refine another key, with that key. Configured alone, they have no effect and are allowed,
/// because the user may set them in advance. Typed alone, they are an error.
const DETAILS: &[(&str, &str)] = &[
    ("keep_improving", "keep_going"),
    ("done_when", "keep_going"),
    ("status_every", "keep_going"),
    ("max_idle_stops", "keep_going"),
    ("max_failed_checks", CHECK),
    ("check_timeout", CHECK),
    ("learn_judge", "learn"),
    ("learn_tokens", "learn"),
];

/// The configuration that a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigScope {
    /// No configuration.
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
            _ if command.is_hide_set() => ConfigScope::Nothing,
            _ => ConfigScope::Printing,
        }
    }
}

/// A command tree that contains the configuration.
pub struct ConfiguredCommand {
    /// The command tree. The default of each configured flag is its value.
    pub root: Command,
    pub configured: ConfiguredValues,
    /// An error in a file that this command does not need.
    pub warning: Option<Failure>,
}

impl ConfiguredCommand {
    /// Reads the configuration of the typed command.
    pub fn new(root: &Command, typed: &[OsString]) -> Result<ConfiguredCommand, Failure> {
        let plain = |warning| {
            let configured = ConfiguredValues::default();
            ConfiguredCommand { root: root.clone(), configured, warning }
        };
        // Errors in the flags, and help, are handled when the line is parsed again.
        let matches = root.clone().ignore_errors(true).try_get_matches_from(typed);
        let subcommand = matches.ok().and_then(|mut matches| matches.remove_subcommand());
        let Some((name, matches)) = subcommand else { return Ok(plain(None)) };
        let Some(command) = root.find_subcommand(&name) else { return Ok(plain(None)) };
        let scope = ConfigScope::for_command(command);
        // A run keeps its settings: when it is resumed, only printing is configurable.
        let scope = if scope == ConfigScope::User && is_typed(&matches, "resume") {
            ConfigScope::Printing
        } else {
            scope
        };
        if scope == ConfigScope::Nothing {
            return Ok(plain(None));
        }
        match configured_values(root, command, scope, &matches) {
            Ok(values) => Ok(ConfiguredCommand::with(root, command, values, &matches)),
            // These commands report errors in files themselves.
            Err(_) if ["config", "doctor"].contains(&command.get_name()) => Ok(plain(None)),
            Err(failure) if scope == ConfigScope::Printing => Ok(plain(Some(failure))),
            Err(failure) => Err(failure),
        }
    }

    fn with(
        root: &Command,
        command: &Command,
        mut values: Vec<(Key, EffectiveValue)>,
        matches: &ArgMatches,
    ) -> ConfiguredCommand {
        values.retain(|(_, value)| !value.values.is_empty());
        let typed = typed_keys(root, command, matches);
        drop_overridden(command, &mut values, &typed, &Keys::for_command(root).excluded(command.get_name()));
        let root = with_defaults(root, command.get_name(), &values);
        let origins = values.into_iter().map(|(key, value)| (key.name, value.origin()));
        ConfiguredCommand { root, configured: ConfiguredValues::new(origins.collect()), warning: None }
    }
}

/// Returns the command tree with these values as the defaults of their flags.
fn with_defaults(root: &Command, command: &str, values: &[(Key, EffectiveValue)]) -> Command {
    let set = |mut command: Command| {
        for (key, value) in values {
            if let Some(id) = id(&command, &key.name) {
                command = command.mut_arg(id, |arg| {
                    // Help must not show it as a default of the program. That of a switch is never shown.
                    let takes_values = arg.get_action().takes_values();
                    arg.default_values(value.values.clone()).hide_default_value(takes_values)
                });
            }
        }
        for (detail, whole) in DETAILS.iter().filter(|(_, whole)| *whole != CHECK) {
            // A default does not count as present.
            let is_configured = values.iter().any(|(key, _)| key.name == *whole);
            if let (Some(detail), Some(whole), false) =
                (id(&command, detail), id(&command, whole), is_configured)
            {
                command = command.mut_arg(detail, |arg| arg.requires(whole));
            }
        }
        command
    };
    set(root.clone()).mut_subcommand(command, set)
}

/// Returns the id of the argument that sets this key.
fn id(command: &Command, key: &str) -> Option<Id> {
    command.get_arguments().find(|arg| name(arg) == key).map(|arg| arg.get_id().clone())
}

/// Returns the names of the keys whose flags were typed.
fn typed_keys(root: &Command, command: &Command, matches: &ArgMatches) -> BTreeSet<String> {
    let args = root.get_arguments().chain(command.get_arguments());
    args.filter(|arg| is_typed(matches, arg.get_id().as_str())).map(name).collect()
}

fn is_typed(matches: &ArgMatches, id: &str) -> bool {
    // A flag that this command does not have cannot have been typed.
    matches.try_contains_id(id).unwrap_or(false) && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// Removes typed keys, keys that these exclude, and details of keys that are neither typed nor configured.
fn drop_overridden(
    command: &Command,
    values: &mut Vec<(Key, EffectiveValue)>,
    typed: &BTreeSet<String>,
    excluded: &[(String, String)],
) {
    values.retain(|(key, _)| {
        let is_excluded = |(one, other): &(String, String)| {
            (*one == key.name && typed.contains(other)) || (*other == key.name && typed.contains(one))
        };
        !typed.contains(&key.name) && !excluded.iter().any(is_excluded)
    });
    let set: BTreeSet<String> = values.iter().map(|(key, _)| key.name.clone()).chain(typed.clone()).collect();
    // `research` always keeps going: it has flags for the details but none for the main key.
    let has_flag = |whole: &str| id(command, whole).is_some();
    values.retain(|(key, _)| {
        let whole = DETAILS.iter().find(|(detail, _)| *detail == key.name);
        whole.is_none_or(|(_, whole)| !has_flag(whole) || set.contains(*whole))
    });
}

/// Returns the configured values for this command.
fn configured_values(
    root: &Command,
    command: &Command,
    scope: ConfigScope,
    matches: &ArgMatches,
) -> Result<Vec<(Key, EffectiveValue)>, Failure> {
    let keys = Keys::for_command(root);
    let is_read = |key: &Key| {
        key.arg.is_global_set()
            || id(command, &key.name).is_some()
                && matches!(scope, ConfigScope::User | ConfigScope::Everything)
    };
    let directory = (scope == ConfigScope::Everything).then(|| directory(matches));
    let source = ConfigSourceArgs::from_arg_matches(matches).unwrap_or_default();
    let mut loaded = LoadedConfig::read(&keys, directory.as_deref(), &source, is_read)?;
    let mut table = loaded.table(command.get_name());
    let table_keys = keys.in_table(Some(command.get_name()));
    let mut values: Vec<(Key, EffectiveValue)> =
        table_keys.filter_map(|key| Some((key.clone(), table.remove(&key.name)?))).collect();
    for key in keys.plain().filter(|key| is_read(key)) {
        if !values.iter().any(|(existing, _)| existing.name == key.name) {
            values.extend(loaded.plain.remove(&key.name).map(|value| (key.clone(), value)));
        }
    }
    Ok(values)
}

/// Returns the directory of the run.
fn directory(matches: &ArgMatches) -> PathBuf {
    let typed = matches.try_get_one::<PathBuf>("cwd").ok().flatten().cloned();
    typed.or_else(|| env::current_dir().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;

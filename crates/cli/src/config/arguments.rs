//! Builds one command line from the configuration and the typed arguments. Typed arguments take precedence: a
//! key is omitted if its flag was typed or excludes a typed flag.

use super::file::{Setting, validate_value};
use super::find::{self, ConfigFiles};
use super::keys::{Key, Keys, PROFILE, ValueKind, name};
use super::layers::{ChosenProfile, EffectiveValue, excluded, merge, table_values};
use super::{ConfiguredValues, Origin};
use crate::failure::Failure;
use crate::flag_order::ReorderedArgs;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROFILE_VARIABLE: &str = "LONGHAUL_PROFILE";

/// Keys that refine another key, with that key. Configured alone, they have no effect and are allowed,
/// because the user may set them in advance. Typed alone, they are an error.
const DETAILS: &[(&str, &str)] = &[
    ("keep_improving", "keep_going"),
    ("done_when", "keep_going"),
    ("status_every", "keep_going"),
    ("max_idle_stops", "keep_going"),
    ("max_failed_checks", "check"),
    ("check_timeout", "check"),
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

/// A complete command line.
pub struct CommandLine {
    pub arguments: Vec<OsString>,
    pub configured: ConfiguredValues,
    /// An error in a file that this command does not need.
    pub warning: Option<Failure>,
}

/// Reads the configuration and inserts it before the typed arguments.
pub fn add_configured_args(root: &Command, typed: ReorderedArgs) -> Result<CommandLine, Failure> {
    let Some((index, command)) = typed_command(root, &typed) else {
        return Ok(CommandLine::plain(typed.arguments, None));
    };
    // Errors in the flags, and help, are handled when the whole line is parsed.
    let matches = root.clone().ignore_errors(true).try_get_matches_from(&typed.arguments);
    let matches =
        matches.ok().and_then(|mut matches| matches.remove_subcommand()).map(|(_, matches)| matches);
    let Some(matches) = matches else { return Ok(CommandLine::plain(typed.arguments, None)) };
    let scope = ConfigScope::for_command(command);
    // A run keeps its settings: when it is resumed, only printing is configurable.
    let scope = if scope == ConfigScope::User && is_typed(&matches, "resume") {
        ConfigScope::Printing
    } else {
        scope
    };
    match configured_values(root, command, scope, &matches) {
        Ok(values) => Ok(CommandLine::with(root, command, typed.arguments, index, values, &matches)),
        // These commands report errors in files themselves.
        Err(_) if ["config", "doctor"].contains(&command.get_name()) => {
            Ok(CommandLine::plain(typed.arguments, None))
        }
        Err(failure) if scope == ConfigScope::Printing => {
            Ok(CommandLine::plain(typed.arguments, Some(failure)))
        }
        Err(failure) => Err(failure),
    }
}

/// Returns the typed command and the index of its name, if it reads any configuration.
fn typed_command<'a>(root: &'a Command, typed: &ReorderedArgs) -> Option<(usize, &'a Command)> {
    let index = typed.command?;
    let command = root.find_subcommand(typed.arguments[index].to_str()?)?;
    (ConfigScope::for_command(command) != ConfigScope::Nothing).then_some((index, command))
}

impl CommandLine {
    fn plain(arguments: Vec<OsString>, warning: Option<Failure>) -> CommandLine {
        CommandLine { arguments, configured: ConfiguredValues::default(), warning }
    }

    fn with(
        root: &Command,
        command: &Command,
        mut arguments: Vec<OsString>,
        index: usize,
        mut values: Vec<(Key, EffectiveValue)>,
        matches: &ArgMatches,
    ) -> CommandLine {
        values.retain(|(_, value)| !value.values.is_empty());
        drop_overridden(
            command,
            &mut values,
            &typed_keys(root, command, matches),
            &excluded(root, command.get_name()),
        );
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (key, value) in &values {
            let words = value.values.iter().map(|value| OsString::from(key.as_arg(value)));
            if key.arg.get_long().is_some() { before.extend(words) } else { after.extend(words) }
        }
        if !after.is_empty() && !arguments.iter().skip(index).any(|word| word == "--") {
            arguments.push("--".into());
        }
        arguments.extend(after);
        arguments.splice(index + 1..index + 1, before);
        let origins = values.into_iter().map(|(key, value)| (key.name, value.origin()));
        CommandLine { arguments, configured: ConfiguredValues::new(origins.collect()), warning: None }
    }
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
    let has_flag = |whole: &str| command.get_arguments().any(|arg| name(arg) == whole);
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
    let has_flag = |key: &Key| command.get_arguments().any(|arg| name(arg) == key.name);
    let is_read = |key: &&Key| {
        key.arg.is_global_set()
            || has_flag(key) && matches!(scope, ConfigScope::User | ConfigScope::Everything)
    };
    let directory = (scope == ConfigScope::Everything).then(|| directory(matches));
    let profile = matches.try_get_one::<String>(PROFILE).ok().flatten();
    let profile = profile.map(String::as_str);
    let is_enabled = !is_typed(matches, "no_config");
    let loaded = LoadedConfig::read(root, &keys, directory.as_deref(), profile, is_enabled)?;
    let variables = variables(root, keys.plain().filter(is_read), |name| env::var_os(name))?;
    let mut plain = merge(root, &keys, &loaded.files, &variables, loaded.chosen.as_ref())?;
    let mut table_values = table_values(&loaded.files.user, command.get_name());
    let table_keys = keys.in_table(Some(command.get_name()));
    let mut values: Vec<(Key, EffectiveValue)> =
        table_keys.filter_map(|key| Some((key.clone(), table_values.remove(&key.name)?))).collect();
    for key in keys.plain().filter(is_read) {
        if !values.iter().any(|(existing, _)| existing.name == key.name) {
            values.extend(plain.remove(&key.name).map(|value| (key.clone(), value)));
        }
    }
    Ok(values)
}

/// Returns the directory of the run.
fn directory(matches: &ArgMatches) -> PathBuf {
    let typed = matches.try_get_one::<PathBuf>("cwd").ok().flatten().cloned();
    typed.or_else(|| env::current_dir().ok()).unwrap_or_default()
}

/// The configuration files that apply to a command line.
pub struct LoadedConfig {
    pub files: ConfigFiles,
    pub chosen: Option<ChosenProfile>,
}

impl LoadedConfig {
    /// Reads the files, or none with `--no-config`.
    pub fn read(
        root: &Command,
        keys: &Keys,
        directory: Option<&Path>,
        profile: Option<&str>,
        is_enabled: bool,
    ) -> Result<LoadedConfig, Failure> {
        if !is_enabled {
            return Ok(LoadedConfig { files: ConfigFiles::default(), chosen: None });
        }
        let files = find::read(root, keys, directory)?;
        if let Some(name) = profile {
            let chosen = ChosenProfile { name: name.to_owned(), source: format!("--{PROFILE}") };
            return Ok(LoadedConfig { files, chosen: Some(chosen) });
        }
        let variable = utf8_value(PROFILE_VARIABLE, env::var_os(PROFILE_VARIABLE))?;
        let chosen = variable.map(|name| ChosenProfile { name, source: PROFILE_VARIABLE.to_owned() });
        // The variable also reaches commands that do not read the project's file, which may define the
        // profile.
        let chosen =
            chosen.filter(|chosen| directory.is_some() || files.user.profiles.contains_key(&chosen.name));
        Ok(LoadedConfig { files, chosen })
    }
}

/// Reads these keys from the environment, each as a single value of its flag. Empty variables are ignored.
pub fn variables<'a>(
    root: &Command,
    keys: impl Iterator<Item = &'a Key>,
    value: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<Setting>, Failure> {
    let mut settings = Vec::new();
    for key in keys {
        let Some(variable) = key.variable() else { continue };
        let Some(text) = utf8_value(&variable, value(&variable))? else { continue };
        let values = match (key.kind, text.as_str()) {
            (ValueKind::Switch, "0") => Vec::new(),
            (ValueKind::Switch, "1") => vec!["true".to_owned()],
            (ValueKind::Switch, _) => {
                let error = format!("cannot read {variable}: `{text}` is neither 1 nor 0");
                return Err(Failure::usage(error, "set it to 1, or unset it"));
            }
            (
                ValueKind::Count | ValueKind::Amount | ValueKind::Text | ValueKind::Path | ValueKind::List,
                _,
            ) => {
                validate_value(root, key, &text).map_err(|reason| {
                    Failure::usage(
                        format!("cannot read {variable}: `{text}`: {reason}"),
                        "fix it, or unset it",
                    )
                })?;
                vec![text]
            }
        };
        settings.push(Setting { key: key.name.clone(), values, origin: Origin::Variable(variable) });
    }
    Ok(settings)
}

fn utf8_value(variable: &str, value: Option<OsString>) -> Result<Option<String>, Failure> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let text = value.into_string().map_err(|value| {
        let error = format!("cannot read {variable}: `{}` is not UTF-8", value.to_string_lossy());
        Failure::usage(error, "fix it, or unset it")
    });
    text.map(Some)
}

#[cfg(test)]
mod tests;

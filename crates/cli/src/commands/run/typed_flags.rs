//! Reuses the flags of `longhaul run` for other commands that start runs: collects those that were typed, and parses
//! them as `run` would, with the configuration below them. It starts nothing.

use crate::args::{Cli, Command, RunArgs};
use crate::config::arguments::{configure, is_typed};
use crate::config::keys::{RUN, name};
use crate::configured_values::ConfiguredValues;
use crate::failure::{Failure, OrFailure};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;

/// Typed flags that a command shares with `run`: by key, the words as they are typed for `run`.
pub struct TypedFlags(pub BTreeMap<String, Vec<OsString>>);

impl TypedFlags {
    /// Reads the flags from the parsed arguments of a command, except the keys that mean something else there.
    pub fn read(matches: &ArgMatches, excluded: &[&str]) -> TypedFlags {
        let root = Cli::command();
        let run = root.find_subcommand(RUN).expect("there is such a command");
        let flags = root.get_arguments().chain(run.get_arguments()).filter_map(|arg| {
            let (key, id, long) = (name(arg), arg.get_id().as_str(), arg.get_long()?);
            let is_taken = !excluded.contains(&key.as_str()) && is_typed(matches, id);
            let words = match (is_taken, arg.get_action().takes_values()) {
                (false, _) => return None,
                (true, false) => vec![OsString::from(format!("--{long}"))],
                (true, true) => matches.get_raw(id)?.map(|value| flag_with_value(long, value)).collect(),
            };
            Some((key, words))
        });
        TypedFlags(flags.collect())
    }

    pub fn set(&mut self, key: &str, value: impl Into<OsString>) {
        self.0.insert(key.to_owned(), vec![flag_with_value(&key.replace('_', "-"), &value.into())]);
    }

    /// Adds a value before those of a repeatable flag.
    pub fn prepend(&mut self, key: &str, value: impl Into<OsString>) {
        let words = self.0.remove(key);
        self.set(key, value);
        self.0.entry(key.to_owned()).or_default().extend(words.into_iter().flatten());
    }

    pub fn set_default(&mut self, key: &str, value: impl Into<OsString>) {
        if !self.0.contains_key(key) {
            self.set(key, value);
        }
    }
}

/// Returns a flag and its value as one word: some flags accept no separate value.
pub fn flag_with_value(long: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(format!("--{long}="));
    word.push(value);
    word
}

/// Parses words as the arguments of `longhaul run`, with the configuration as their defaults, except for the keys in
/// `off`. Errors start with `action`.
pub fn parse_run(
    words: impl IntoIterator<Item = OsString>,
    off: &[&str],
    action: impl Display,
    hint: &str,
) -> Result<(Box<RunArgs>, ConfiguredValues), Failure> {
    let mut command = Cli::command();
    let words: Vec<OsString> = ["longhaul", RUN].map(OsString::from).into_iter().chain(words).collect();
    let configured = configure(&mut command, &words, off)?;
    let parsed = command.try_get_matches_from_mut(words).and_then(|matches| Cli::from_arg_matches(&matches));
    let parsed = parsed.map_err(|error| first_line(&error.to_string())).or_usage(&action, hint)?;
    match parsed.command {
        Command::Run(args) => Ok((args, configured.values)),
        _ => Err(Failure::unexpected(format!("{action}: the flags start no run"))),
    }
}

fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

//! The configuration keys: one for each flag, taken from the command tree, so that no flag lacks one. A key
//! is spelled like its flag, with `_`.

use super::trust::{self, ProjectTrust};
use crate::args::NONE;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use longhaul_core::{Jitter, Preset, Span, Usd};
use longhaul_gsd::PhaseId;
use serde_json::Value;
use std::any::TypeId;
use std::error::Error;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The command whose flags are the plain keys.
pub const RUN: &str = "run";
/// Commands with keys of their own, in a table with their name.
pub const TABLES: [&str; 2] = ["research", "recover"];
/// The table that holds a file's profiles. `DEFAULT_PROFILE` is the key that selects one of them.
pub const PROFILE: &str = "profile";
pub const DEFAULT_PROFILE: &str = "default_profile";

/// Flags without a key, and the reason.
const FLAG_ONLY: &[(&[&str], &str)] = &[
    (&["prompt", "prompt_file", "task_dir"], "the task is given with each run"),
    (&["agent"], "the command of an agent is given with each run"),
    (&["runtime"], "there is only one"),
    (&["run", "run_id", "name", "key"], "it applies to a single run"),
    (&["session_id", "resume", "resume_or_new", "resume_session"], "it applies to a single run"),
    (&["cwd"], "the search for the project's file starts there"),
    (&["retry", "no_attach", "detach", "dry_run", "list"], "it applies to a single call"),
    (&["install", "uninstall", "print_service", "help", "version"], "it applies to a single call"),
    (&["json"], "`output_format` sets the format"),
    (&["no_config"], "it decides whether files are read at all"),
];

/// Keys that exclude each other although clap accepts both: see `failure.rs`.
const EXCLUDED: &[(&str, &str)] = &[("keep_going", "check"), ("keep_going", REVIEW)];
pub const REVIEW: &str = "review";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Count,
    /// A number, or a text with a unit.
    Amount,
    Text,
    /// A text that names a file or a directory.
    Path,
    /// A list of texts.
    List,
}

impl ValueKind {
    pub fn expected(self) -> &'static str {
        match self {
            ValueKind::Switch => "`true` or `false`",
            ValueKind::Count => "a whole number",
            ValueKind::Amount => "a number, or a string in quotes",
            ValueKind::Text => "a string in quotes",
            ValueKind::Path => "a path in quotes",
            ValueKind::List => "a list of strings, as in [\"…\"]",
        }
    }

    /// Returns the words of a value as they would be typed. A switch that is off has none. Returns `None` if the value has
    /// another type.
    pub fn words(self, value: &Value) -> Option<Vec<String>> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match self {
            ValueKind::Switch => {
                value.as_bool().map(|is_on| is_on.then(|| "true".to_owned()).into_iter().collect())
            }
            ValueKind::List => value.as_array()?.iter().map(text).collect(),
            ValueKind::Count => value.as_u64().map(|number| vec![number.to_string()]),
            ValueKind::Amount if value.is_number() => Some(vec![value.to_string()]),
            ValueKind::Amount | ValueKind::Text | ValueKind::Path => text(value).map(|text| vec![text]),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Key<'a> {
    /// The table of the key, named after a command. `None` for plain keys: those of `run` and of the global
    /// flags.
    pub table: Option<&'static str>,
    pub name: String,
    pub kind: ValueKind,
    pub trust: ProjectTrust,
    pub arg: &'a Arg,
}

impl Key<'_> {
    /// Returns the key with its table, as in `research.claude_hours`.
    pub fn path(&self) -> String {
        self.table.map_or_else(|| self.name.clone(), |table| format!("{table}.{}", self.name))
    }

    /// Returns the hint about a value of another type.
    pub fn kind_hint(&self) -> &'static str {
        match self.name.as_str() {
            REVIEW => "write a model, `same` for that of the run, or `none`",
            _ => "write it as its flag accepts it",
        }
    }

    /// Returns the variable that sets the key, or `None` unless it is a plain key with a flag.
    pub fn variable(&self) -> Option<String> {
        // A key without a flag takes several arguments, which one variable cannot hold.
        let has_flag = self.table.is_none() && self.arg.get_long().is_some();
        has_flag.then(|| format!("LONGHAUL_{}", self.name.to_ascii_uppercase()))
    }

    /// Returns whether its flag may stand alone, so that `false` is its opposite.
    pub fn can_be_off(&self) -> bool {
        let may_lack_value = || self.arg.get_num_args().is_some_and(|range| range.min_values() == 0);
        self.kind == ValueKind::Switch || may_lack_value()
    }

    pub fn about(&self) -> String {
        self.arg.get_help().map(ToString::to_string).unwrap_or_default()
    }
}

/// All keys of a command tree.
#[derive(Clone, Debug)]
pub struct Keys<'a> {
    /// The command tree, whose flags validate the values.
    pub root: &'a Command,
    keys: Vec<Key<'a>>,
}

impl<'a> Keys<'a> {
    pub fn for_command(root: &'a Command) -> Keys<'a> {
        let args = |name| root.find_subcommand(name).expect("there is such a command").get_arguments();
        let plain = root.get_arguments().chain(args(RUN)).map(|arg| (None, arg));
        let tables = TABLES.into_iter().flat_map(|table| args(table).map(move |arg| (Some(table), arg)));
        let key = |(table, arg): (Option<&'static str>, &'a Arg)| {
            let name = name(arg);
            // A file selects a profile with `default_profile`.
            let has_key = !arg.is_hide_set() && name != PROFILE && flag_only_reason(&name).is_none();
            let trust = match table {
                None => trust::for_key(&name),
                Some(_) => ProjectTrust::UserOnly("only `run` and `simulate` read a project's file"),
            };
            has_key.then(|| Key { table, name, kind: kind(arg), trust, arg })
        };
        Keys { root, keys: plain.chain(tables).filter_map(key).collect() }
    }

    pub fn all(&self) -> impl Iterator<Item = &Key<'a>> {
        self.keys.iter()
    }

    pub fn plain(&self) -> impl Iterator<Item = &Key<'a>> {
        self.in_table(None)
    }

    pub fn in_table(&self, table: Option<&str>) -> impl Iterator<Item = &Key<'a>> {
        self.keys.iter().filter(move |key| key.table == table)
    }

    /// Returns the key with this name in this table, or among the plain keys.
    pub fn find(&self, table: Option<&str>, name: &str) -> Option<&Key<'a>> {
        self.in_table(table).find(|key| key.name == name)
    }

    /// Returns the key's default as it would be typed, or `None` if there is no default that can be typed.
    pub fn default(&self, key: &Key<'_>) -> Option<Vec<String>> {
        let mut policy = Preset::Default.policy().settings().into_iter();
        if let Some((_, value)) = policy.find(|(name, _)| key.table.is_none() && *name == key.name) {
            return value.map(|value| vec![value]);
        }
        let values = key.arg.get_default_values();
        let value = values.first().and_then(|value| value.to_str()).map(|value| vec![value.to_owned()]);
        match key.kind {
            ValueKind::Switch => Some(Vec::new()),
            // Some defaults appear only in the help; a number there is also the default here.
            ValueKind::Count | ValueKind::Amount => value.or_else(|| {
                let about = key.about();
                let default = about.split_once("[default: ")?.1.split_once(']')?.0;
                self.validate(key, default).is_ok().then(|| vec![default.to_owned()])
            }),
            ValueKind::Text | ValueKind::Path | ValueKind::List => value,
        }
    }

    /// Validates a value with the flag of its key. An error is the flag's own message.
    pub fn validate(&self, key: &Key<'_>, value: &str) -> Result<(), String> {
        let Err(error) = self.parse(key, value) else { return Ok(()) };
        match error.kind() {
            ErrorKind::ValueValidation => {
                Err(error.source().map_or_else(|| "it cannot be read".to_owned(), ToString::to_string))
            }
            ErrorKind::InvalidValue => Err(match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(values)) => format!("expected one of {}", values.join(", ")),
                Some(_) | None => "expected a value".to_owned(),
            }),
            // A flag alone is not a complete command, so other errors are expected.
            _ => Ok(()),
        }
    }

    /// Parses a value with the flag of its key, as if it was typed. Values without a flag are passed to the
    /// agent unchanged, so anything is accepted.
    pub fn parse(&self, key: &Key<'_>, value: &str) -> Result<ArgMatches, clap::Error> {
        let flag = key.arg.get_long().filter(|_| key.kind != ValueKind::Switch);
        let flag = flag.map(|flag| format!("--{flag}={value}"));
        let command = key.table.unwrap_or(RUN);
        let args = ["longhaul", command].map(str::to_owned).into_iter().chain(flag).chain(["-".to_owned()]);
        self.root.clone().try_get_matches_from(args)
    }
}

/// Returns the pairs of mutually exclusive flags of this command, by the names of their keys.
pub fn excluded(root: &Command, command: &str) -> Vec<(String, String)> {
    let pairs = [Some(root), root.find_subcommand(command)].into_iter().flatten().flat_map(|command| {
        command.get_arguments().flat_map(move |arg| {
            command.get_arg_conflicts_with(arg).into_iter().map(move |other| (name(arg), name(other)))
        })
    });
    let extra = EXCLUDED.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned()));
    pairs.chain(extra).collect()
}

/// Returns whether a key with these values excludes others: a setting that is switched off excludes none.
pub fn excludes_others(key: &str, values: &[impl PartialEq<str>]) -> bool {
    !values.is_empty() && (key != REVIEW || values.iter().any(|value| *value != *NONE))
}

/// Returns the reason why this flag has no key, or `None` if it has one.
pub fn flag_only_reason(name: &str) -> Option<&'static str> {
    FLAG_ONLY.iter().find(|(flags, _)| flags.contains(&name)).map(|(_, reason)| *reason)
}

/// Returns the flag's name with `_`, or the argument's name if it has no flag.
pub fn name(arg: &Arg) -> String {
    arg.get_long().unwrap_or(arg.get_id().as_str()).replace('-', "_")
}

pub fn kind(arg: &Arg) -> ValueKind {
    let value = arg.get_value_parser().type_id();
    let is_one_of = |types: &[TypeId]| types.iter().any(|kind| value == *kind);
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        ValueKind::Switch
    } else if matches!(arg.get_action(), ArgAction::Append) {
        ValueKind::List
    } else if is_one_of(&[TypeId::of::<u32>(), TypeId::of::<NonZeroU32>()]) {
        ValueKind::Count
    } else if is_one_of(&[
        TypeId::of::<u64>(),
        TypeId::of::<Span>(),
        TypeId::of::<Usd>(),
        TypeId::of::<Jitter>(),
        TypeId::of::<PhaseId>(),
    ]) {
        ValueKind::Amount
    } else if is_one_of(&[TypeId::of::<PathBuf>()]) {
        ValueKind::Path
    } else {
        ValueKind::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_flag_has_a_key_or_a_reason() {
        let root = Cli::command();
        let keys = Keys::for_command(&root);
        let check = |table, name: &str, kind| {
            assert_eq!(keys.find(table, name).map(|key| key.kind), Some(kind), "{name}");
        };
        check(None, "model", ValueKind::Text);
        check(None, "agent_path", ValueKind::Path);
        check(None, "agent_args", ValueKind::List);
        check(None, "deny_tools", ValueKind::List);
        check(None, "block_url", ValueKind::List);
        check(None, "keep_going", ValueKind::Switch);
        check(None, "max_retries", ValueKind::Count);
        check(None, "max_idle_stops", ValueKind::Count);
        check(None, "max_turns", ValueKind::Amount);
        check(None, "stall_timeout", ValueKind::Amount);
        check(None, "budget", ValueKind::Amount);
        check(None, "memory_limit", ValueKind::Amount);
        check(None, "retry_jitter", ValueKind::Amount);
        check(None, "output_format", ValueKind::Text);
        check(None, "quiet", ValueKind::Switch);
        check(Some("research"), "claude_hours", ValueKind::Amount);
        check(Some("recover"), "active_within", ValueKind::Amount);
        assert!(keys.find(None, "claude_hours").is_none() && keys.find(None, "prompt").is_none());
        let commands = [&root]
            .into_iter()
            .chain([RUN].iter().chain(&TABLES).filter_map(|name| root.find_subcommand(name)));
        let flags: Vec<String> = commands.flat_map(Command::get_arguments).map(name).collect();
        let flag_only = FLAG_ONLY.iter().flat_map(|(names, _)| names.iter().copied());
        for flag in flag_only.filter(|flag| !["help", "version"].contains(flag)) {
            assert!(flags.iter().any(|known| known == flag), "no command has a flag `{flag}`");
        }
        let mut variables: Vec<_> = keys.plain().filter_map(Key::variable).collect();
        // These variables have other meanings: some a run sets for its agent, one is the home, one selects
        // the profile.
        variables.extend(["RUN", "ATTEMPT", "HOME", "PROFILE"].map(|name| format!("LONGHAUL_{name}")));
        variables.sort();
        let all = variables.len();
        variables.dedup();
        assert_eq!(variables.len(), all);
    }
}

//! Parses a configuration file into settings, each with its line. Errors name the line, the key and the
//! expected value. Never touches another file.

use super::keys::{DEFAULT_PROFILE, Key, Keys, PROFILE, RUN, TABLES, ValueKind, flag_only_reason};
use super::trust::ProjectTrust;
use super::{FileOwner, Origin};
use crate::failure::Failure;
use crate::next_commands::quoted;
use longhaul_agent::did_you_mean;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The values of one key as they would be typed, with their origins. A switch that is off has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub key: String,
    pub values: Vec<String>,
    pub origins: Vec<Origin>,
}

impl Setting {
    pub fn layer(&self) -> Option<u8> {
        self.origins.iter().map(Origin::layer).max()
    }

    pub fn origin(&self) -> String {
        self.origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

#[derive(Clone, Debug, Default)]
pub struct File {
    pub plain: Vec<Setting>,
    pub profiles: BTreeMap<String, Vec<Setting>>,
    /// The keys of single commands.
    pub tables: BTreeMap<&'static str, Vec<Setting>>,
    /// The profile that the file selects. It is always its own, so a project cannot select one of the user's.
    pub profile: Option<String>,
}

/// Whether the user allowed a project's file to set keys with [`ProjectTrust::Trusted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTrust {
    Unknown,
    /// Trusted with different content.
    Changed,
    Trusted,
}

/// The origin of a file and the context to parse it in.
pub struct Reader<'a> {
    pub keys: &'a Keys<'a>,
    pub owner: FileOwner,
    pub path: &'a Path,
    /// The content of the file.
    pub text: &'a str,
    /// The directory that `~/` stands for, if known.
    pub home: Option<&'a Path>,
    /// The user's own file, for hints about keys that only the user may set.
    pub user_file: Option<&'a Path>,
    /// Whether the user trusts this content.
    pub trust: FileTrust,
}

impl Reader<'_> {
    pub fn read(&self) -> Result<File, Failure> {
        let syntax_error = |error: toml::de::Error| {
            let line = self.line_at(error.span().map_or(0, |span| span.start));
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            self.failure_at(line, message, "write TOML: `key = value`, with strings in quotes")
        };
        let table = DeTable::parse(self.text).map_err(syntax_error)?;
        let mut file = File::default();
        let mut default_profile = None;
        for (key, value) in in_order(table.get_ref()) {
            let line = self.line_at(key.span().start);
            match (key.get_ref().as_ref(), value.get_ref()) {
                (PROFILE, profiles) => {
                    let profiles = profiles.as_table().ok_or_else(|| {
                        let hint = format!(
                            "select one with `{DEFAULT_PROFILE} = \"NAME\"`, define one with `[profile.NAME]`"
                        );
                        self.failure_at(line, "`profile` must be a table of profiles", hint)
                    })?;
                    file.profiles = self.profiles(profiles)?;
                }
                (DEFAULT_PROFILE, name) => {
                    let name = name.as_str().ok_or_else(|| {
                        let hint = "name one of the file's profiles, in quotes";
                        self.failure_at(line, "`default_profile` must be a string", hint)
                    })?;
                    default_profile = Some((line, name.to_owned()));
                }
                (name, DeValue::Table(keys)) => {
                    let table = self.table(line, name)?;
                    let section = Section { table: Some(table), profile: None };
                    file.tables.insert(table, self.settings(section, keys)?);
                }
                (_, _) => file.plain.push(self.setting(Section::default(), key, value)?),
            }
        }
        if let Some((line, name)) = default_profile {
            if !file.profiles.contains_key(&name) {
                let error = format!("there is no profile `{name}` in this file");
                return Err(self.failure_at(line, error, profiles_hint(&name, file.profiles.keys())));
            }
            file.profile = Some(name);
        }
        Ok(file)
    }

    fn profiles(&self, profiles: &DeTable<'_>) -> Result<BTreeMap<String, Vec<Setting>>, Failure> {
        let mut read = BTreeMap::new();
        for (name, value) in in_order(profiles) {
            let line = self.line_at(name.span().start);
            let name = name.get_ref().as_ref();
            let DeValue::Table(keys) = value.get_ref() else {
                let error = format!("profile `{name}` must be a table");
                return Err(self.failure_at(line, error, "define it with `[profile.NAME]`"));
            };
            let section = Section { table: None, profile: Some(name) };
            read.insert(name.to_owned(), self.settings(section, keys)?);
        }
        Ok(read)
    }

    fn table(&self, line: usize, name: &str) -> Result<&'static str, Failure> {
        if let Some(table) = TABLES.into_iter().find(|table| *table == name) {
            return Ok(table);
        }
        let (error, hint) = if name == RUN {
            (
                "the keys of `run` belong in no table".to_owned(),
                "put them at the top, or into a `[profile.NAME]`".to_owned(),
            )
        } else if name == "resume" {
            let hint = "use its flags: longhaul resume --help".to_owned();
            ("`resume` has no keys: a run continues as it was started".to_owned(), hint)
        } else if let Some(key) = self.keys.find(None, name) {
            (format!("`{name}` is a table"), format!("it must be {}", key.kind.expected()))
        } else {
            let tables: Vec<String> = TABLES.iter().map(|table| format!("[{table}]")).collect();
            (
                format!("there is no table `[{name}]`"),
                format!("there are {} and [profile.NAME]", tables.join(", ")),
            )
        };
        Err(self.failure_at(line, error, hint))
    }

    fn settings(&self, section: Section<'_>, keys: &DeTable<'_>) -> Result<Vec<Setting>, Failure> {
        in_order(keys).into_iter().map(|(key, value)| self.setting(section, key, value)).collect()
    }

    fn setting(
        &self,
        section: Section<'_>,
        name: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Setting, Failure> {
        let line = self.line_at(name.span().start);
        let key = self.key(line, section.table, name.get_ref().as_ref())?;
        let values = self.values(key, line, value)?;
        let profile = section.profile.map(str::to_owned);
        let origin = Origin::File { owner: self.owner, path: self.path.to_owned(), line, profile };
        Ok(Setting { key: key.name.clone(), values, origins: vec![origin] })
    }

    /// Returns the key with this name if it is allowed here.
    fn key(&self, line: usize, table: Option<&str>, name: &str) -> Result<&Key<'_>, Failure> {
        let Some(key) = self.keys.find(table, name) else { return Err(self.unknown(line, table, name)) };
        if self.owner == FileOwner::User {
            return Ok(key);
        }
        match key.trust {
            ProjectTrust::UserOnly(reason) => {
                let error = format!("`{}` cannot be set by a project: {reason}", key.path());
                let file = self.user_file.unwrap_or(Path::new("your own file")).display();
                Err(self.failure_at(line, error, format!("put it into {file}, or pass it with each run")))
            }
            ProjectTrust::Trusted(reason) if self.trust != FileTrust::Trusted => {
                let cause = match self.trust {
                    FileTrust::Changed => "the file changed since you trusted it",
                    FileTrust::Unknown | FileTrust::Trusted => "you have not trusted this file",
                };
                let error = format!("`{}` cannot be set yet: {reason}, and {cause}", key.path());
                let folder = self.path.parent().unwrap_or(Path::new("/")).display().to_string();
                let hint =
                    format!("read the file, then type `longhaul config trust --cwd {}`", quoted(&folder));
                Err(self.failure_at(line, error, hint))
            }
            ProjectTrust::Trusted(_)
            | ProjectTrust::Any
            | ProjectTrust::OnlyLower
            | ProjectTrust::OnlyAdd
            | ProjectTrust::OnlyIfUnset => Ok(key),
        }
    }

    fn unknown(&self, line: usize, table: Option<&str>, name: &str) -> Failure {
        let flat = name.trim_start_matches('-').replace('-', "_");
        if let Some(key) = self.keys.find(table, &flat) {
            let hint = format!("it is spelled `{}`", key.name);
            return self.failure_at(line, format!("there is no key `{name}`"), hint);
        }
        if let Some(reason) = flag_only_reason(&flat) {
            let error = format!("`{name}` cannot be configured: {reason}");
            return self.failure_at(line, error, "remove it, and pass the flag where you need it");
        }
        let other_table = self.keys.all().find(|key| key.name == flat);
        let near = did_you_mean(&flat, self.keys.in_table(table).map(|key| key.name.as_str()));
        let hint = match (near.as_slice(), other_table) {
            ([], Some(Key { table: Some(table), .. })) => format!("it is a key of [{table}]"),
            ([], Some(Key { table: None, .. })) => {
                "it belongs at the top of the file, outside of any table".to_owned()
            }
            ([], None) => {
                let command = table.unwrap_or("run");
                format!("keys are named like the flags that `longhaul {command} --help` lists")
            }
            (near, _) => format!("did you mean {}?", near.join(" or ")),
        };
        self.failure_at(line, format!("there is no key `{name}`"), hint)
    }

    /// Returns the values as they would be typed, after its flag has validated them.
    fn values(
        &self,
        key: &Key<'_>,
        line: usize,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<String>, Failure> {
        let kind_error = |line| {
            let error = format!("`{}` must be {}", key.path(), key.kind.expected());
            self.failure_at(line, error, key.kind_hint())
        };
        let values_by_line = match (key.kind, value.get_ref()) {
            (ValueKind::Switch, DeValue::Boolean(is_on)) => {
                return Ok(if *is_on { vec!["true".to_owned()] } else { Vec::new() });
            }
            (ValueKind::List, DeValue::Array(elements)) => {
                let word_at = |element: &Spanned<DeValue<'_>>| {
                    let line = self.line_at(element.span().start);
                    let word = element.get_ref().as_str().ok_or_else(|| kind_error(line))?;
                    Ok((line, word.to_owned()))
                };
                elements.iter().map(word_at).collect::<Result<Vec<_>, Failure>>()?
            }
            (kind, value) => vec![(line, self.word(kind, value).ok_or_else(|| kind_error(line))?)],
        };
        for (line, word) in &values_by_line {
            if word.contains('\0') {
                let error = format!("`{}` contains a NUL", key.path());
                return Err(self.failure_at(*line, error, "no argument of a program can contain it"));
            }
            self.keys.validate(key, word).map_err(|reason| {
                let error = format!("`{}` is `{word}`: {reason}", key.path());
                self.failure_at(*line, error, "write it as its flag accepts it")
            })?;
        }
        // A project's model must not be interpreted as a flag of the agent.
        if let Some((line, word)) = values_by_line.iter().find(|(_, word)| word.starts_with('-'))
            && (self.owner, key.kind) == (FileOwner::Project, ValueKind::Text)
        {
            let error = format!("`{}` is `{word}`, which looks like a flag", key.path());
            return Err(self.failure_at(*line, error, "such a value cannot begin with `-`"));
        }
        // A project's paths are relative to its file, in whatever subdirectory a run starts. Those below `~` follow a run
        // to another home directory.
        let is_path = self.owner == FileOwner::Project && key.name == "block_path";
        let is_relative = |word: &str| is_path && !word.starts_with("~/");
        let resolved =
            |(_, word): (usize, String)| if is_relative(&word) { self.absolute(&word) } else { word };
        Ok(values_by_line.into_iter().map(resolved).collect())
    }

    /// Returns a single value as it would be typed, or `None` if it has another type.
    fn word(&self, kind: ValueKind, value: &DeValue<'_>) -> Option<String> {
        let text = value.as_str();
        match kind {
            ValueKind::Switch | ValueKind::List => None,
            ValueKind::Text => text.map(str::to_owned),
            ValueKind::Path => text.map(|text| self.absolute(text)),
            ValueKind::Count => integer(value),
            ValueKind::Amount => {
                let float = || value.as_float().map(|number| number.as_str());
                text.or_else(float).map(str::to_owned).or_else(|| integer(value))
            }
        }
    }

    /// Resolves a path against the directory of the file.
    fn absolute(&self, text: &str) -> String {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let path = match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (_, _) => folder.join(text),
        };
        path.display().to_string()
    }

    /// Returns the line of this byte, starting at 1.
    fn line_at(&self, byte: usize) -> usize {
        1 + self.text.bytes().take(byte).filter(|byte| *byte == b'\n').count()
    }

    fn failure_at(&self, line: usize, error: impl Display, hint: impl Into<String>) -> Failure {
        Failure::usage(format!("cannot read {}:{line}: {error}", self.path.display()), hint)
    }
}

/// Returns the entries of a table in file order, so that the first of several errors is reported.
fn in_order<'a, 'text>(
    table: &'a DeTable<'text>,
) -> Vec<(&'a Spanned<DeString<'text>>, &'a Spanned<DeValue<'text>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Location of a key: the table of a command, a profile, or neither.
#[derive(Clone, Copy, Default)]
struct Section<'a> {
    table: Option<&'static str>,
    profile: Option<&'a str>,
}

pub fn profiles_hint<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> String {
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    match (names.as_slice(), did_you_mean(name, names.iter().copied()).first()) {
        ([], _) => "define one with `[profile.NAME]` in a configuration file".to_owned(),
        (_, Some(near)) => format!("did you mean {near}? There are {}", names.join(", ")),
        (names, None) => format!("there are {}", names.join(", ")),
    }
}

fn integer(value: &DeValue<'_>) -> Option<String> {
    value.as_integer().filter(|number| number.radix() == 10).map(|number| number.as_str().to_owned())
}

#[cfg(test)]
mod tests;

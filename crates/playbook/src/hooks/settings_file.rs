//! Claude Code's settings, with our hooks in them or without. Everything else in the file stays as it is, byte for byte; a file
//! that is not understood is not touched.

mod entries;
mod error;
mod spans;
mod write;

pub use entries::HookEntry;
pub use error::InstallError;

use entries::{Entry, entries, put};
use error::unreadable;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A file of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    path: PathBuf,
    program_name: String,
}

/// What is to become of a file, as long as nobody else changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    path: PathBuf,
    before: Option<String>,
    /// What the file will be.
    pub after: String,
    /// Whether the file is first copied beside itself: nothing in it was ours yet, or something that is not ours goes.
    backs_up: bool,
    /// What a person should know of it.
    pub warnings: Vec<SettingsWarning>,
}

/// What is not wrong, but unlikely to be wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsWarning {
    /// The settings have every hook switched off.
    HooksAreDisabled,
    /// The ACE playbook hooks are there as well: both would tell and judge.
    AceHooks,
}

impl SettingsFile {
    /// The file at this path; it need not be there. A hook that calls a program of this name is ours, as those are that call
    /// `longhaul`.
    pub fn at(path: PathBuf, program_name: &str) -> SettingsFile {
        SettingsFile { path, program_name: program_name.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// With these hooks, and no others of ours. With `replace_ace`, without the ACE playbook hooks.
    ///
    /// # Errors
    /// [`InstallError`]; the file is not touched in any case.
    pub fn with_hooks(&self, wanted: &[HookEntry], replace_ace: bool) -> Result<Change, InstallError> {
        let before = self.read()?;
        let mut text =
            before.clone().filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "{}\n".to_owned());
        self.look(&text)?;
        let found = entries(&text);
        let has_ace = found.iter().any(Entry::is_ace);
        let has_ours = found.iter().any(|entry| entry.is_ours(&self.program_name));
        let backs_up = before.is_some() && (!has_ours || has_ace && replace_ace);
        // First put, then take out: what was made for one hook of ours stays in its place when it is replaced.
        for wanted in wanted {
            if !found.iter().any(|entry| entry.is(wanted)) {
                text = put(&text, wanted).map_err(|shape| self.of_shape(shape))?;
            }
        }
        while let Some(entry) = self.superfluous(entries(&text), wanted, replace_ace) {
            text = entry.removed_from(&text);
        }
        Ok(self.change(before, text, backs_up))
    }

    /// Without any hook of ours.
    ///
    /// # Errors
    /// [`InstallError`]; the file is not touched in any case.
    pub fn without_hooks(&self) -> Result<Change, InstallError> {
        self.without_such(|entry| entry.is_ours(&self.program_name), false)
    }

    /// Without the ACE playbook hooks.
    ///
    /// # Errors
    /// [`InstallError`]; the file is not touched in any case.
    pub fn without_ace(&self) -> Result<Change, InstallError> {
        self.without_such(Entry::is_ace, true)
    }

    fn without_such(&self, is_such: impl Fn(&Entry) -> bool, backs_up: bool) -> Result<Change, InstallError> {
        let before = self.read()?;
        let mut text = before.clone().unwrap_or_default();
        if !text.trim().is_empty() {
            self.look(&text)?;
        }
        while let Some(entry) = entries(&text).into_iter().find(&is_such) {
            text = entry.removed_from(&text);
        }
        Ok(self.change(before, text, backs_up))
    }

    /// Whether the ACE playbook hooks are called by these settings.
    pub fn has_ace(&self) -> bool {
        self.read().ok().flatten().is_some_and(|text| entries(&text).iter().any(Entry::is_ace))
    }

    fn read(&self) -> Result<Option<String>, InstallError> {
        match fs::read(&self.path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(error) => Err(InstallError::NotJson {
                    path: self.path.clone(),
                    cause: error.utf8_error().to_string(),
                    has_comments: false,
                }),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(InstallError::Io { doing: "read", path: self.path.clone(), cause }),
        }
    }

    /// Whether it is JSON.
    fn look(&self, text: &str) -> Result<(), InstallError> {
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(_)) => Ok(()),
            Ok(_) => Err(self
                .of_shape(entries::UnexpectedShape { path: "the whole".to_owned(), expected: "an object" })),
            Err(error) => Err(unreadable(&self.path, text, &error)),
        }
    }

    fn of_shape(&self, shape: entries::UnexpectedShape) -> InstallError {
        InstallError::Shape { path: self.path.clone(), key: shape.path, expected: shape.expected }
    }

    fn change(&self, before: Option<String>, after: String, backs_up: bool) -> Change {
        let settings: Value = serde_json::from_str(&after).unwrap_or_default();
        let disabled = settings["disableAllHooks"] == true;
        let ace = entries(&after).iter().any(Entry::is_ace);
        let warnings = [(disabled, SettingsWarning::HooksAreDisabled), (ace, SettingsWarning::AceHooks)];
        let warnings = warnings.into_iter().filter_map(|(holds, warning)| holds.then_some(warning)).collect();
        Change { path: self.path.clone(), before, after, backs_up, warnings }
    }

    /// The first hook that is not to be there: one of ours that is not wanted, or is there already.
    fn superfluous(&self, entries: Vec<Entry>, wanted: &[HookEntry], replace_ace: bool) -> Option<Entry> {
        let mut seen: Vec<&HookEntry> = Vec::new();
        entries.into_iter().find(|entry| {
            if !entry.is_ours(&self.program_name) {
                return replace_ace && entry.is_ace();
            }
            match wanted.iter().find(|wanted| entry.is(wanted) && !seen.contains(wanted)) {
                Some(first) => {
                    seen.push(first);
                    false
                }
                None => true,
            }
        })
    }
}

impl Change {
    /// Whether anything changes.
    pub fn is_change(&self) -> bool {
        self.before.as_deref().unwrap_or_default() != self.after
    }

    /// Writes it, whole or not at all; the answer is where the file as it was is kept, if it is.
    ///
    /// # Errors
    /// [`InstallError`]; the file is then as it was.
    pub fn write(&self) -> Result<Option<PathBuf>, InstallError> {
        if !self.is_change() {
            return Ok(None);
        }
        let backup = match &self.before {
            Some(before) if self.backs_up => Some(write::backup(&self.path, before)?),
            Some(_) | None => None,
        };
        write::replace(&self.path, self.before.as_deref(), &self.after)?;
        Ok(backup)
    }
}

#[cfg(test)]
mod tests;

//! Adds and removes Longhaul's hooks in Claude Code's settings. All other settings keep their text, and an
//! invalid file is not changed.

mod entries;
mod write;

pub use entries::HookEntry;
pub use write::replace_user_file;

use crate::UserError;
use entries::{Entry, Settings};
use longhaul_store::{if_exists, read_regular};
use serde_json::Value;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

const INVALID_HINT: &str = "fix it: Claude Code ignores the file as it is; nothing was changed";

/// A settings file. Its methods fail with [`UserError`] if it cannot be read or understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    path: PathBuf,
    program_name: String,
}

/// A planned change of a file. It applies only if no other program changes the file first, and otherwise fails
/// with [`UserError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsChange {
    path: PathBuf,
    before: Option<String>,
    /// New content of the file.
    pub after: String,
    /// Whether the file is backed up first: it contained no Longhaul hook yet, or a hook of another program
    /// is removed.
    needs_backup: bool,
    /// Warnings for the user.
    pub warnings: Vec<SettingsWarning>,
}

/// A condition that is valid but probably not intended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsWarning {
    /// The settings disable all hooks.
    HooksAreDisabled,
    /// The ACE playbook hooks are installed too, so both would inject and judge.
    AceHooks,
}

impl SettingsFile {
    /// Creates a handle for the file at this path, which need not exist. Hooks that call `longhaul` or a
    /// program of this name belong to Longhaul.
    pub fn new(path: PathBuf, program_name: &str) -> SettingsFile {
        SettingsFile { path, program_name: program_name.to_owned() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Plans settings with exactly these Longhaul hooks. With `replace_ace`, the ACE playbook hooks are
    /// removed.
    pub fn with_hooks(
        &self,
        requested: &[HookEntry],
        replace_ace: bool,
    ) -> Result<SettingsChange, UserError> {
        let before = self.read()?;
        let mut text = before.clone().unwrap_or_default();
        if text.trim().is_empty() && !requested.is_empty() {
            text = "{}\n".to_owned();
        }
        let settings = self.parse(&text)?;
        let found = settings.entries();
        let has_ace = found.iter().any(Entry::is_ace);
        let has_longhaul = found.iter().any(|entry| entry.is_longhaul(&self.program_name));
        let needs_backup = before.is_some() && (!has_longhaul || has_ace && replace_ace);
        // Insert before removing, so that the structure around a replaced hook stays in place.
        for requested in requested {
            if !found.iter().any(|entry| entry.matches(requested)) {
                settings.insert(requested).map_err(|shape| self.shape_error(&shape))?;
            }
        }
        let mut kept: Vec<&HookEntry> = Vec::new();
        for entry in settings.entries() {
            match requested.iter().find(|wanted| entry.matches(wanted) && !kept.contains(wanted)) {
                _ if !entry.is_longhaul(&self.program_name) => {
                    if replace_ace && entry.is_ace() {
                        entry.remove();
                    }
                }
                Some(wanted) => kept.push(wanted),
                // It is not requested, or a duplicate.
                None => entry.remove(),
            }
        }
        Ok(self.change(before, &settings, needs_backup))
    }

    /// Plans settings without Longhaul's hooks.
    pub fn without_hooks(&self) -> Result<SettingsChange, UserError> {
        self.with_hooks(&[], false)
    }

    /// Plans settings without the ACE playbook hooks.
    pub fn without_ace(&self) -> Result<SettingsChange, UserError> {
        let before = self.read()?;
        let settings = self.parse(before.as_deref().unwrap_or_default())?;
        settings.entries().into_iter().filter(Entry::is_ace).for_each(Entry::remove);
        Ok(self.change(before, &settings, true))
    }

    /// Returns whether these settings contain the ACE playbook hooks.
    pub fn has_ace(&self) -> bool {
        let text = self.read().ok().flatten().unwrap_or_default();
        self.parse(&text).is_ok_and(|settings| settings.entries().iter().any(Entry::is_ace))
    }

    fn read(&self) -> Result<Option<String>, UserError> {
        let bytes =
            if_exists(read_regular(&self.path)).map_err(|cause| io_error("read", &self.path, &cause))?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|error| self.unreadable(&error.utf8_error(), INVALID_HINT))
    }

    fn parse(&self, text: &str) -> Result<Settings, UserError> {
        let settings = || {
            Settings::parse(text).map_err(|error| self.unreadable(&error, "correct it; nothing was changed"))
        };
        if text.trim().is_empty() {
            return settings();
        }
        // The other parser accepts comments and commas that Claude Code rejects.
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(_)) => settings(),
            Ok(_) => Err(self.shape_error("the content is not an object")),
            Err(error) => {
                let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
                let rest = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
                let has_comments = ["//", "/*"].iter().any(|marker| rest.starts_with(marker));
                // Claude Code 2.1.330 starts the session without the file's settings and reports this.
                let comments_hint =
                    "remove its comments: Claude Code ignores settings with comments; nothing was changed";
                Err(self.unreadable(&error, if has_comments { comments_hint } else { INVALID_HINT }))
            }
        }
    }

    fn unreadable(&self, cause: &dyn Display, hint: &str) -> UserError {
        UserError::new(format!("cannot understand {}: {cause}", self.path.display()), hint)
    }

    fn shape_error(&self, shape: &str) -> UserError {
        self.unreadable(&shape, "fix it: Claude Code rejects it too; nothing was changed")
    }

    fn change(&self, before: Option<String>, settings: &Settings, needs_backup: bool) -> SettingsChange {
        let after = settings.to_string();
        let ace = settings.entries().iter().any(Entry::is_ace);
        let settings: Value = serde_json::from_str(&after).unwrap_or_default();
        let disabled = settings["disableAllHooks"] == true;
        let warnings = [(disabled, SettingsWarning::HooksAreDisabled), (ace, SettingsWarning::AceHooks)];
        let warnings =
            warnings.into_iter().filter_map(|(applies, warning)| applies.then_some(warning)).collect();
        SettingsChange { path: self.path.clone(), before, after, needs_backup, warnings }
    }
}

impl SettingsChange {
    /// Returns whether the content changes.
    pub fn is_change(&self) -> bool {
        self.before.as_deref().unwrap_or_default() != self.after
    }

    /// Writes the file atomically. Returns the path of the backup, if one was made.
    pub fn write(&self) -> Result<Option<PathBuf>, UserError> {
        if !self.is_change() {
            return Ok(None);
        }
        let backup = match &self.before {
            Some(before) if self.needs_backup => Some(write::backup(&self.path, before)?),
            Some(_) | None => None,
        };
        replace_user_file(&self.path, self.before.as_deref(), &self.after)?;
        Ok(backup)
    }
}

fn io_error(verb: &str, path: &Path, cause: &io::Error) -> UserError {
    let message = format!("cannot {verb} {}: {cause}", path.display());
    UserError::new(message, "check its owner and its mode; nothing was changed")
}

#[cfg(test)]
mod tests;

//! Defines why hooks cannot be installed or removed.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the settings cannot be changed. They are unchanged.
#[derive(Debug, Error)]
pub enum InstallError {
    /// A file operation failed.
    #[error("cannot {action} {}: {cause}", path.display())]
    Io {
        /// Verb of the operation.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// I/O error.
        cause: io::Error,
    },
    /// The file is not JSON.
    #[error("cannot understand {}: {cause}", path.display())]
    NotJson {
        /// Path of the file.
        path: PathBuf,
        /// Cause and position of the error.
        cause: String,
        /// Whether comments seem to be the only error.
        has_comments: bool,
    },
    /// The file is JSON but does not have the form of settings.
    #[error("cannot understand {}: {key} is not {expected}", path.display())]
    Shape {
        /// Path of the file.
        path: PathBuf,
        /// Path of the key.
        key: String,
        /// Expected type.
        expected: &'static str,
    },
    /// Another program wrote the file at the same time.
    #[error("cannot change {}: another program has just changed it", path.display())]
    ChangedMeanwhile {
        /// Path of the file.
        path: PathBuf,
    },
}

impl InstallError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            InstallError::Io { .. } => "check its owner and its mode; nothing was changed",
            // Claude Code 2.1.330 starts the session without the file's settings and reports this.
            InstallError::NotJson { has_comments: true, .. } => {
                "remove its comments: Claude Code ignores settings with comments; nothing was changed"
            }
            InstallError::NotJson { has_comments: false, .. } => {
                "fix it: Claude Code ignores the file as it is; nothing was changed"
            }
            InstallError::Shape { .. } => "fix it: Claude Code rejects it too; nothing was changed",
            InstallError::ChangedMeanwhile { .. } => "try again; nothing was changed",
        }
    }
}

/// Describes the error in a text that is not JSON.
pub(super) fn unreadable(path: &Path, text: &str, error: &serde_json::Error) -> InstallError {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let rest = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
    let has_comments = ["//", "/*"].iter().any(|marker| rest.starts_with(marker));
    InstallError::NotJson { path: path.to_owned(), cause: error.to_string(), has_comments }
}

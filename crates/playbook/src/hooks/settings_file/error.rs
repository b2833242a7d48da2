//! Why our hooks cannot be put into the settings, or taken out.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the settings cannot be changed. They are as they were.
#[derive(Debug, Error)]
pub enum InstallError {
    /// The system refused.
    #[error("{doing} {}: {cause}", path.display())]
    Io {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// It is no JSON.
    #[error("understand {}: {cause}", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        cause: String,
        /// Whether it would be JSON but for comments, as it seems.
        has_comments: bool,
    },
    /// It is JSON, but not of the form of settings.
    #[error("understand {}: {key} is not {expected}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Somebody wrote it while we did.
    #[error("change {}: another program has just changed it", path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
}

impl InstallError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            InstallError::Io { .. } => "see who owns it and what its mode is; nothing was changed",
            // So it does, 2.1.330: the session begins without what is in the file, and says so.
            InstallError::NotJson { has_comments: true, .. } => {
                "take its comments out: Claude Code ignores settings with comments; nothing was changed"
            }
            InstallError::NotJson { has_comments: false, .. } => {
                "mend it: Claude Code ignores it as it is; nothing was changed"
            }
            InstallError::Shape { .. } => {
                "mend it: Claude Code complains about it as well; nothing was changed"
            }
            InstallError::ChangedMeanwhile { .. } => "try again; nothing was changed",
        }
    }
}

/// What is wrong with a text that is no JSON.
pub(super) fn unreadable(path: &Path, text: &str, error: &serde_json::Error) -> InstallError {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let rest = line.get(error.column().saturating_sub(1)..).unwrap_or_default();
    let has_comments = ["//", "/*"].iter().any(|marker| rest.starts_with(marker));
    InstallError::NotJson { path: path.to_owned(), cause: error.to_string(), has_comments }
}

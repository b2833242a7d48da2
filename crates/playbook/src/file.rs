//! The playbook of a project on disk: `.claude/playbook.json`. Who changes it holds a lock, writes down what it will be
//! before it is, and replaces it as a whole. One that cannot be understood is kept, and never overwritten.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The playbook file of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybookFile {
    path: PathBuf,
}

/// Why a playbook cannot be read or written.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system refused.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl PlaybookFile {
    /// That of a project.
    pub fn of_project(project: &Path) -> PlaybookFile {
        PlaybookFile { path: project.join(".claude").join("playbook.json") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

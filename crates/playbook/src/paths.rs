//! Defines the paths of the learning data. The playbooks themselves are in their projects.

use sha2::{Digest, Sha256};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Paths in the directory `playbook` of Longhaul's home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearningPaths {
    dir: PathBuf,
}

impl LearningPaths {
    /// Creates the paths for the home at this path.
    pub fn in_home(home: &Path) -> LearningPaths {
        LearningPaths { dir: home.join("playbook") }
    }

    /// Returns the paths of a new home, and the directory that removes it when dropped.
    #[cfg(test)]
    pub(crate) fn temporary() -> (tempfile::TempDir, LearningPaths) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let paths = LearningPaths::in_home(home.path());
        (home, paths)
    }

    /// Returns the directory. Only its owner may read it. The first writer creates it.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the SQLite database that holds the queue, the results and their cost.
    pub fn database(&self) -> PathBuf {
        self.dir.join("learning.sqlite3")
    }

    /// Returns the directory of the markers of sessions that received the playbook.
    pub fn injection_markers(&self) -> PathBuf {
        self.dir.join("injected")
    }

    /// Returns the directory with the recorded API of each session.
    pub fn apis(&self) -> PathBuf {
        self.dir.join("apis")
    }

    /// Returns the log of hook errors, one line of JSON each. Hooks never fail, because a failing hook would
    /// block the agent.
    pub fn hook_errors(&self) -> PathBuf {
        self.dir.join("hook-errors.jsonl")
    }

    /// Returns the directory of transcripts that came over standard input and are not learned yet.
    pub fn retained(&self) -> PathBuf {
        self.dir.join("retained")
    }
}

/// Creates a directory and its missing parents, which only their owner may enter.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(dir)
}

/// Returns a file name for any text: the first bytes of its hash, in hexadecimal.
pub(crate) fn hashed_name(text: impl AsRef<[u8]>, bytes: usize) -> String {
    Sha256::digest(text).iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

//! Where learning keeps its own files, apart from the playbooks, which are in their projects.

use std::path::{Path, PathBuf};

/// The directory `playbook` of Longhaul's home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearningPaths {
    dir: PathBuf,
}

impl LearningPaths {
    /// The one of the home at this path.
    pub fn in_home(home: &Path) -> LearningPaths {
        LearningPaths { dir: home.join("playbook") }
    }

    /// The directory itself, readable by its owner only. Whoever writes there makes it.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What is to be learnt, what was, and what it cost: the truth about learning, an SQLite database.
    pub fn database(&self) -> PathBuf {
        self.dir.join("learning.sqlite3")
    }

    /// A file a session that the playbook was told to, so that it is told once.
    pub fn injection_markers(&self) -> PathBuf {
        self.dir.join("told")
    }

    /// A file a session that says which API it talks to.
    pub fn apis(&self) -> PathBuf {
        self.dir.join("apis")
    }

    /// What hooks could not do, a line of JSON each. They never fail, for their agent's sake.
    pub fn hook_errors(&self) -> PathBuf {
        self.dir.join("troubles.jsonl")
    }

    /// Transcripts that came over standard input and are still to be learnt from.
    pub fn retained(&self) -> PathBuf {
        self.dir.join("kept")
    }
}

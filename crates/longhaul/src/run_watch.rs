//! Tells whoever reads a run's files when there may be more to read, by file events where the system has them. It reads
//! and changes nothing.

use crate::live::FileWatch;
use longhaul_store::RunDir;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

// A supervisor that dies says nothing, and neither does a reader that goes away.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A watch on a run.
pub struct RunWatch {
    watch: FileWatch,
    watched: BTreeSet<PathBuf>,
}

impl RunWatch {
    /// Watches the journal, the status and the conversation of the run in this directory. It is watched before it is
    /// read, so that what is written in between is seen.
    pub fn new(dir: &RunDir) -> RunWatch {
        let mut watching = RunWatch { watch: FileWatch::new(), watched: BTreeSet::new() };
        for dir in [dir.path().to_owned(), dir.logs_path()].into_iter().filter(|dir| dir.is_dir()) {
            watching.watch.dir(&dir);
        }
        watching.file(&dir.journal_path());
        watching.file(&dir.transcript_path());
        watching
    }

    /// Watches this file, too, once it is there: call it again after each change.
    pub fn file(&mut self, path: &Path) {
        if !self.watched.contains(path) && path.is_file() {
            self.watch.file(path);
            self.watched.insert(path.to_owned());
        }
    }

    /// Returns when something was written since the last call, and after a second at the latest.
    ///
    /// # Errors
    /// What the system says if it cannot tell.
    pub async fn changed(&mut self) -> io::Result<()> {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => Ok(()),
            changed = self.watch.changed() => changed.map(drop),
        }
    }
}

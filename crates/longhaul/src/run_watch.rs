//! Notifies readers of a run's files when there may be more to read, by file events where the system has
//! them. It never reads or changes the files.

use crate::live::FileWatch;
use longhaul_store::RunDir;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

// Neither a supervisor that dies nor a reader that leaves causes a file event.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A watch on a run.
pub struct RunWatch {
    watch: FileWatch,
    watched: BTreeSet<PathBuf>,
}

impl RunWatch {
    /// Watches the journal, the status and the transcript of the run in this directory. Create the watch
    /// before reading, so that no write in between is missed.
    pub fn new(dir: &RunDir) -> RunWatch {
        let mut watching = RunWatch { watch: FileWatch::new(), watched: BTreeSet::new() };
        for dir in [dir.path().to_owned(), dir.logs_path()].into_iter().filter(|dir| dir.is_dir()) {
            watching.watch.dir(&dir);
        }
        watching.file(&dir.journal_path());
        watching.file(&dir.transcript_path());
        watching
    }

    /// Also watches this file if it exists. Call it again after each change.
    pub fn file(&mut self, path: &Path) {
        if !self.watched.contains(path) && path.is_file() {
            self.watch.file(path);
            self.watched.insert(path.to_owned());
        }
    }

    /// Returns when a file was written since the last call, or after a second.
    ///
    /// # Errors
    /// Returns an error if the system's file events fail.
    pub async fn changed(&mut self) -> io::Result<()> {
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => Ok(()),
            changed = self.watch.changed() => changed.map(drop),
        }
    }
}

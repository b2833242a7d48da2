//! Notifies readers of a run's files when there may be more to read. It uses file events where the system has
//! them. It never reads or changes the files.

use crate::live::FileWatch;
use longhaul_store::RunDir;
use std::io;
use std::path::Path;
use std::time::Duration;

// The death of a supervisor and a closed output cause no file event, so the caller checks both this often.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A watch on a run.
pub struct RunWatch {
    watch: FileWatch,
}

impl RunWatch {
    /// Watches the journal, the status and the transcript of the run in this directory. Create the watch
    /// before reading, so that no write in between is missed.
    pub fn new(dir: &RunDir) -> RunWatch {
        let mut run_watch = RunWatch { watch: FileWatch::new() };
        for dir in [dir.path().to_owned(), dir.logs_path()].into_iter().filter(|dir| dir.is_dir()) {
            run_watch.watch.add_dir(&dir);
        }
        run_watch.add_file(&dir.journal_path());
        run_watch.add_file(&dir.transcript_path());
        run_watch
    }

    /// Also watches this file if it exists. Call this again after each change, because a missing file may
    /// exist by then.
    pub fn add_file(&mut self, path: &Path) {
        // The system ignores a second watch on the same file.
        if path.is_file() {
            self.watch.add_file(path);
        }
    }

    /// Returns once a file has been written since the last call, or after a second.
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

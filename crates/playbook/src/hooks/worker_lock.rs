//! Ensures one worker for each API and judge with a file lock. A hook probes the lock and starts no second
//! worker.

use crate::LearningPaths;
use crate::database::JudgeKind;
use crate::hashed_name::hashed_name;
use std::fs::{File, TryLockError};
use std::path::PathBuf;

impl LearningPaths {
    /// Returns the file that a worker keeps locked while it lives.
    pub fn worker_lock(&self, destination: &str, judge: JudgeKind) -> PathBuf {
        let name = hashed_name(format!("{} {destination}", judge.as_str()), 8);
        self.dir().join(format!("worker-{name}.lock"))
    }

    /// Returns whether a worker of this judge and API is alive.
    pub fn has_worker(&self, destination: &str, judge: JudgeKind) -> bool {
        // Without a file there was never a worker. An error counts as `false`, because a second worker
        // detects the first and exits.
        let Ok(lock) = File::open(self.worker_lock(destination, judge)) else { return false };
        matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn detects_worker_by_lock() {
        let home = tempfile::tempdir().expect("there is a temporary folder");
        let paths = LearningPaths::in_home(home.path());
        let has_worker = || paths.has_worker("http://here", JudgeKind::Api);
        assert!(!has_worker());
        fs::create_dir(paths.dir()).expect("it is new");
        let lock = File::create(paths.worker_lock("http://here", JudgeKind::Api)).expect("it can be written");
        assert!(!has_worker());
        lock.lock().expect("no one holds it");
        assert!(has_worker());
        assert!(!paths.has_worker("http://here", JudgeKind::Claude));
        assert!(!paths.has_worker("http://there", JudgeKind::Api));
        drop(lock);
        assert!(!has_worker());
    }
}

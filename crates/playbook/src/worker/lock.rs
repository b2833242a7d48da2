//! Ensures that each judge has one worker at a time. The system releases the lock when its holder dies.

use crate::LearningPaths;
use crate::database::JudgeKind;
use crate::judge::Clock;
use crate::paths::{create_private_dir, hashed_name};
use longhaul_core::Span;
use longhaul_store::DatabaseError;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

// A process that only probes the lock holds it for some microseconds.
const RETRY_DELAY: Span = Span(20);
const TRIES_MAX: u32 = 10;

/// The lock of a judge's worker, released on drop.
#[derive(Debug)]
pub struct WorkerLock {
    _file: File,
}

impl WorkerLock {
    /// Takes the lock, or returns `None` if another worker holds it.
    pub async fn take(
        paths: &LearningPaths,
        destination: &str,
        judge: JudgeKind,
        clock: &dyn Clock,
    ) -> Result<Option<WorkerLock>, DatabaseError> {
        let path = paths.worker_lock(destination, judge);
        let refused = |cause: io::Error| DatabaseError::refused(&path, &cause);
        create_private_dir(paths.dir()).map_err(refused)?;
        // The file is never removed, because another process may be about to lock it.
        let file = File::options().create(true).append(true).mode(0o600).open(&path).map_err(refused)?;
        for attempt in 0..TRIES_MAX {
            if attempt > 0 {
                clock.sleep_until(clock.now().at + RETRY_DELAY).await;
            }
            match file.try_lock() {
                Ok(()) => return Ok(Some(WorkerLock { _file: file })),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(cause)) => return Err(refused(cause)),
            }
        }
        Ok(None)
    }

    /// Returns whether any worker is active.
    pub fn is_any_held(paths: &LearningPaths) -> bool {
        let entries = fs::read_dir(paths.dir()).into_iter().flatten().flatten();
        let locks = entries.map(|entry| entry.path());
        let mut locks = locks.filter(|path| path.extension().is_some_and(|extension| extension == "lock"));
        locks.any(|path| is_held(&path))
    }
}

impl LearningPaths {
    /// Returns the file that a worker keeps locked while it lives.
    pub fn worker_lock(&self, destination: &str, judge: JudgeKind) -> PathBuf {
        let name = hashed_name(format!("{} {destination}", judge.as_str()), 8);
        self.dir().join(format!("worker-{name}.lock"))
    }

    /// Returns whether a worker of this judge and API is alive. An error counts as `false`, because a second
    /// worker detects the first and exits.
    pub fn has_worker(&self, destination: &str, judge: JudgeKind) -> bool {
        is_held(&self.worker_lock(destination, judge))
    }
}

fn is_held(lock: &Path) -> bool {
    // A shared lock, so that two probes do not take each other for a worker.
    File::open(lock).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use crate::LearningPaths;
    use crate::database::JudgeKind;
    use std::fs::{self, File};

    #[test]
    fn detects_worker_by_lock() {
        let (_home, paths) = LearningPaths::temporary();
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

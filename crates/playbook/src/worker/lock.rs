//! Ensures that each judge has one worker at a time. The system releases the lock when its holder dies.

use crate::LearningPaths;
use crate::database::JudgeKind;
use crate::judge::Clock;
use longhaul_core::Span;
use longhaul_store::DatabaseError;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

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
    ///
    /// # Errors
    /// Returns [`DatabaseError`] if the lock file cannot be opened or locked.
    pub async fn take(
        paths: &LearningPaths,
        destination: &str,
        judge: JudgeKind,
        clock: &dyn Clock,
    ) -> Result<Option<WorkerLock>, DatabaseError> {
        let path = paths.worker_lock(destination, judge);
        let refused = |cause: io::Error| DatabaseError::refused(&path, &cause);
        DirBuilder::new().mode(0o700).recursive(true).create(paths.dir()).map_err(refused)?;
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
        let locks = entries.map(|entry| entry.path()).filter(|path| is_lock(path));
        locks.filter_map(|path| File::open(path).ok()).any(|file| {
            // A shared lock, so that two probes do not take each other for a worker.
            matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
        })
    }
}

fn is_lock(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("worker-") && name.ends_with(".lock")
}

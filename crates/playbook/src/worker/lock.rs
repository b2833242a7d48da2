//! One worker at a time for each judge: a lock that the system lets go of when its holder dies.

use crate::LearningPaths;
use crate::database::{JudgeKind, LearningError};
use crate::judge::Clock;
use longhaul_core::Span;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

// Whoever only looks whether a worker is there holds its lock for some microseconds.
const LOOK_AGAIN: Span = Span(20);
const LOOKS: u32 = 10;

/// The right to be the worker of a judge, for as long as it is held.
#[derive(Debug)]
pub struct WorkerLock {
    _file: File,
}

impl WorkerLock {
    /// Takes it, unless another worker has it.
    ///
    /// # Errors
    /// [`LearningError::Refused`].
    pub async fn take(
        place: &LearningPaths,
        destination: &str,
        judge: JudgeKind,
        clock: &dyn Clock,
    ) -> Result<Option<WorkerLock>, LearningError> {
        let path = place.worker_lock(destination, judge);
        let refused =
            |cause: io::Error| LearningError::Refused { path: path.clone(), cause: cause.to_string() };
        DirBuilder::new().mode(0o700).recursive(true).create(place.dir()).map_err(refused)?;
        // It is never removed: somebody may be about to lock it.
        let file = File::options().create(true).append(true).mode(0o600).open(&path).map_err(refused)?;
        for look in 0..LOOKS {
            if look > 0 {
                clock.sleep_until(clock.now().at + LOOK_AGAIN).await;
            }
            match file.try_lock() {
                Ok(()) => return Ok(Some(WorkerLock { _file: file })),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(cause)) => return Err(refused(cause)),
            }
        }
        Ok(None)
    }

    /// Whether any worker is at work here.
    pub fn is_any_held(place: &LearningPaths) -> bool {
        let entries = fs::read_dir(place.dir()).into_iter().flatten().flatten();
        let locks = entries.map(|entry| entry.path()).filter(|path| is_lock(path));
        locks.filter_map(|path| File::open(path).ok()).any(|file| {
            // Shared, so that two that look do not take each other for a worker.
            matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
        })
    }
}

fn is_lock(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("worker-") && name.ends_with(".lock")
}

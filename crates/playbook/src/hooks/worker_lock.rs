//! One worker for each API and each judge: who holds this lock is the one. A hook looks at it and starts no second.

use crate::LearningPaths;
use crate::database::JudgeKind;
use crate::hashed_name::hashed_name;
use std::fs::{File, TryLockError};
use std::path::PathBuf;

impl LearningPaths {
    /// The file that a worker holds locked as long as it lives.
    pub fn worker_lock(&self, destination: &str, judge: JudgeKind) -> PathBuf {
        let name = hashed_name(format!("{} {destination}", judge.as_str()), 8);
        self.dir().join(format!("worker-{name}.lock"))
    }

    /// Whether a worker lives that takes what is queued for this judge at this API.
    pub fn has_worker(&self, destination: &str, judge: JudgeKind) -> bool {
        // Without a file there was never a worker. What cannot be known is answered with no: two workers find out by themselves.
        let Ok(lock) = File::open(self.worker_lock(destination, judge)) else { return false };
        matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_worker_is_known_by_its_lock() {
        let home = tempfile::tempdir().expect("there is a temporary folder");
        let place = LearningPaths::in_home(home.path());
        let lives = || place.has_worker("http://here", JudgeKind::Api);
        assert!(!lives());
        fs::create_dir(place.dir()).expect("it is new");
        let lock = File::create(place.worker_lock("http://here", JudgeKind::Api)).expect("it can be written");
        assert!(!lives());
        lock.lock().expect("nobody holds it");
        assert!(lives());
        assert!(!place.has_worker("http://here", JudgeKind::Claude));
        assert!(!place.has_worker("http://there", JudgeKind::Api));
        drop(lock);
        assert!(!lives());
    }
}

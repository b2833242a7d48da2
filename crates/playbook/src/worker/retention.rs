//! Removes data that is no longer needed when a worker exits. Data that prevents learning twice is never
//! removed.

use crate::database::LearningDb;
use longhaul_core::{Moment, Span};
use longhaul_store::DatabaseError;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

// A user may look up the result of a session for this long.
const DONE_LIFETIME: Span = Span::from_hours(30 * 24);
// A session that is resumed after a month may receive the playbook again.
const MARKER_LIFETIME: Span = Span::from_hours(30 * 24);
// A transcript is stored a moment before it is queued.
const UNQUEUED_LIFETIME: Span = Span::from_hours(1);

pub(super) fn prune(learning: &mut LearningDb, now: Moment) -> Result<(), DatabaseError> {
    let paths = learning.paths();
    for dir in [paths.injection_markers(), paths.apis()] {
        old_files(&dir, now, MARKER_LIFETIME).for_each(|path| drop(fs::remove_file(path)));
    }
    for path in old_files(&paths.retained(), now, UNQUEUED_LIFETIME) {
        // The names are hashes, so they identify a transcript that was queued under another path.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !learning.is_needed(&name)? {
            drop(fs::remove_file(&path));
        }
    }
    learning.delete_done(Moment(now.0.saturating_sub(DONE_LIFETIME.0)))
}

/// Returns the files that were written longer ago than this. A file that cannot be read or removed only takes
/// some space.
fn old_files(dir: &Path, now: Moment, lifetime: Span) -> impl Iterator<Item = PathBuf> {
    let now = UNIX_EPOCH + Duration::from_millis(now.0);
    let is_old = move |entry: &DirEntry| {
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = modified.and_then(|modified| now.duration_since(modified).ok());
        age.is_some_and(|age| age > lifetime.to_std())
    };
    fs::read_dir(dir).into_iter().flatten().flatten().filter(is_old).map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::prune;
    use crate::database::{JudgeKind, Queued, QueuedEvent};
    use crate::hooks::{claim_injection, was_injected};
    use crate::{LearningDb, LearningPaths, retain_transcript};
    use longhaul_core::{Moment, Span};
    use std::os::unix::fs::symlink;
    use std::time::{SystemTime, UNIX_EPOCH};

    fn now() -> Moment {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis();
        Moment(u64::try_from(now).expect("it is before the end of time"))
    }

    #[test]
    fn prunes_old_markers() {
        let (_home, paths) = LearningPaths::temporary();
        let mut learning = LearningDb::open(&paths).expect("a database");
        claim_injection(&paths, "a");
        prune(&mut learning, now() + Span::from_hours(29 * 24)).expect("it can be read");
        assert!(was_injected(&paths, "a"));
        prune(&mut learning, now() + Span::from_hours(31 * 24)).expect("it can be read");
        assert!(!was_injected(&paths, "a"));
    }

    #[test]
    fn prunes_transcript_after_it_was_learned() {
        let (home, paths) = LearningPaths::temporary();
        let mut learning = LearningDb::open(&paths).expect("a database");
        let links = tempfile::tempdir().expect("a temporary directory");
        let link = links.path().join("home");
        symlink(home.path(), &link).expect("a link");
        let path = retain_transcript(&paths, b"{}\n").expect("it is stored");
        let queued = Queued {
            project: home.path().to_owned(),
            session: None,
            transcript: link.join(path.strip_prefix(home.path()).expect("it is in the home")),
            event: QueuedEvent::Manual,
            reason: None,
            judge: JudgeKind::Api,
            destination: "https://api.example".to_owned(),
        };
        let now = now();
        let later = now + Span::from_hours(2);
        // The transcript is about to be queued.
        prune(&mut learning, now).expect("it can be read");
        assert!(path.exists());
        learning.enqueue(now, &queued).expect("it is queued");
        prune(&mut learning, later).expect("it can be read");
        assert!(path.exists(), "it is queued");
        let done =
            |db: &rusqlite::Connection| db.execute("UPDATE queue SET state = 'done', ended_at = 1", []);
        learning.database.query(done).expect("it is done");
        prune(&mut learning, later).expect("it can be read");
        assert!(!path.exists());
    }
}

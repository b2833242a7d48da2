//! A playbook is told to a session once: of each session that was told, a file says so. Sessions that go on side by side have
//! files of their own, and of several processes in one session the one that makes the file tells.
//!
//! A session that is resumed still has in its context what it was told, so that its file stays when it ends. One that was
//! compacted may have it no longer. A fork has an id of its own, and is told again: whether what it came from was told is not
//! known.

use crate::LearningPaths;
use crate::hashed_name::hashed_name;
use longhaul_core::Moment;
use std::fs;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

// Who resumes a session after a month may be told again.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Whether the playbook is to be told now.
#[derive(Debug)]
pub enum InjectionClaim {
    /// Yes, and by nobody else.
    Claimed,
    /// It was told.
    AlreadyInjected,
    /// Yes: it cannot be known whether it was told, and twice is better than never.
    Unknown(io::Error),
}

/// Marks this session as told. Who is answered `Now` tells.
pub fn claim_injection(place: &LearningPaths, session: &str) -> InjectionClaim {
    let path = mark(place, session);
    let make = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let made = make().or_else(|error| match error.kind() {
        ErrorKind::NotFound => {
            DirBuilder::new().mode(0o700).recursive(true).create(place.injection_markers())?;
            make()
        }
        _ => Err(error),
    });
    match made {
        Ok(_) => InjectionClaim::Claimed,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => InjectionClaim::AlreadyInjected,
        Err(error) => InjectionClaim::Unknown(error),
    }
}

/// Whether this session was told. It is not marked.
pub fn was_injected(place: &LearningPaths, session: &str) -> bool {
    mark(place, session).exists()
}

/// Has the session told again at its next prompt.
///
/// # Errors
/// What the system says.
pub fn clear_injection(place: &LearningPaths, session: &str) -> io::Result<()> {
    match fs::remove_file(mark(place, session)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Forgets the sessions that were told, or said which API they talk to, so long ago that nobody resumes them.
pub fn prune_markers(place: &LearningPaths, now: Moment) {
    let now = UNIX_EPOCH + Duration::from_millis(now.0);
    // What cannot be read or removed takes a name in a directory, no more.
    let dirs = [place.injection_markers(), place.apis()].into_iter().filter_map(|dir| fs::read_dir(dir).ok());
    for entry in dirs.flatten().flatten() {
        let made = entry.metadata().and_then(|found| found.modified()).ok();
        if made.and_then(|made| now.duration_since(made).ok()).is_some_and(|age| age > KEPT) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// The name of a session may be anything: its hash is the file's.
fn mark(place: &LearningPaths, session: &str) -> PathBuf {
    place.injection_markers().join(hashed_name(session, 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::thread;

    fn place() -> (tempfile::TempDir, LearningPaths) {
        let home = tempfile::tempdir().expect("there is a temporary folder");
        let place = LearningPaths::in_home(home.path());
        (home, place)
    }

    #[test]
    fn each_session_is_told_once() {
        let (_home, place) = place();
        for session in ["a", "b", "../../../etc/passwd", "", &"x".repeat(10_000)] {
            assert!(!was_injected(&place, session), "{session}");
            assert!(matches!(claim_injection(&place, session), InjectionClaim::Claimed), "{session}");
            assert!(matches!(claim_injection(&place, session), InjectionClaim::AlreadyInjected), "{session}");
            assert!(was_injected(&place, session), "{session}");
        }
        clear_injection(&place, "a").expect("it is removed");
        clear_injection(&place, "a").expect("it is gone");
        assert!(matches!(claim_injection(&place, "a"), InjectionClaim::Claimed));
        assert!(matches!(claim_injection(&place, "b"), InjectionClaim::AlreadyInjected));
    }

    #[test]
    fn of_many_processes_of_one_session_one_tells() {
        let (_home, place) = place();
        let told = thread::scope(|scope| {
            let tellers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| matches!(claim_injection(&place, "same"), InjectionClaim::Claimed)))
                .collect();
            tellers.into_iter().map(|teller| teller.join().expect("it ends")).filter(|now| *now).count()
        });
        assert_eq!(told, 1);
    }

    #[test]
    fn where_nothing_can_be_marked_it_is_told() {
        let (_home, place) = place();
        fs::write(place.dir(), "in the way").expect("it can be written");
        assert!(matches!(claim_injection(&place, "a"), InjectionClaim::Unknown(_)));
        assert!(clear_injection(&place, "a").is_err());
    }

    #[test]
    fn old_ones_are_forgotten() {
        let (_home, place) = place();
        let now = Duration::from_secs(1_800_000_000);
        for (session, age) in [("old", KEPT + Duration::from_secs(1)), ("young", KEPT)] {
            claim_injection(&place, session);
            let file = File::options().write(true).open(mark(&place, session)).expect("it is there");
            file.set_modified(UNIX_EPOCH + now - age).expect("it is ours");
        }
        prune_markers(&place, Moment(now.as_millis() as u64));
        assert!(!was_injected(&place, "old"));
        assert!(was_injected(&place, "young"));
    }
}

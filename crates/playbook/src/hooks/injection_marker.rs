//! Injects the playbook into each session only once: a marker file exists for each session that already has it.
//! Concurrent sessions have separate files.
//!
//! If several processes run in one session, the one that creates the file injects the playbook.
//!
//! A resumed session still has the playbook in its context, so its marker remains when it ends. A compacted
//! session may have lost the playbook. A fork has a new id and receives the playbook again, because its
//! origin is unknown.

use crate::LearningPaths;
use crate::paths::{create_private_dir, hashed_name};
use longhaul_store::if_exists;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Whether to inject the playbook now.
#[derive(Debug)]
pub enum InjectionClaim {
    /// Inject it; no other process will.
    Claimed,
    /// It was injected before.
    AlreadyInjected,
    /// Inject it. It is unknown whether it was injected before, and a second injection is better than none.
    Unknown(io::Error),
}

/// Marks this session as injected. The caller injects the playbook unless the result is `AlreadyInjected`.
pub fn claim_injection(paths: &LearningPaths, session: &str) -> InjectionClaim {
    let path = marker_path(paths, session);
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let result = create().or_else(|error| match error.kind() {
        ErrorKind::NotFound => {
            create_private_dir(&paths.injection_markers())?;
            create()
        }
        _ => Err(error),
    });
    match result {
        Ok(_) => InjectionClaim::Claimed,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => InjectionClaim::AlreadyInjected,
        Err(error) => InjectionClaim::Unknown(error),
    }
}

/// Returns whether the playbook was injected into this session, without marking it.
pub fn was_injected(paths: &LearningPaths, session: &str) -> bool {
    marker_path(paths, session).exists()
}

/// Removes the marker, so that the playbook is injected again at the next prompt.
pub fn clear_injection(paths: &LearningPaths, session: &str) -> io::Result<()> {
    if_exists(fs::remove_file(marker_path(paths, session))).map(drop)
}

/// Returns the path of the marker. Its name is a hash, because a session's name may be any text.
fn marker_path(paths: &LearningPaths, session: &str) -> PathBuf {
    paths.injection_markers().join(hashed_name(session, 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn injects_once_per_session() {
        let (_home, paths) = LearningPaths::temporary();
        for session in ["a", "b", "../../../etc/passwd", "", &"x".repeat(10_000)] {
            assert!(!was_injected(&paths, session), "{session}");
            assert!(matches!(claim_injection(&paths, session), InjectionClaim::Claimed), "{session}");
            assert!(matches!(claim_injection(&paths, session), InjectionClaim::AlreadyInjected), "{session}");
            assert!(was_injected(&paths, session), "{session}");
        }
        clear_injection(&paths, "a").expect("it is removed");
        clear_injection(&paths, "a").expect("it does not exist");
        assert!(matches!(claim_injection(&paths, "a"), InjectionClaim::Claimed));
        assert!(matches!(claim_injection(&paths, "b"), InjectionClaim::AlreadyInjected));
    }

    #[test]
    fn exactly_one_process_claims_injection() {
        let (_home, paths) = LearningPaths::temporary();
        let claims = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| matches!(claim_injection(&paths, "same"), InjectionClaim::Claimed)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("it ends"))
                .filter(|is_claimed| *is_claimed)
                .count()
        });
        assert_eq!(claims, 1);
    }

    #[test]
    fn unwritable_marker_is_unknown() {
        let (_home, paths) = LearningPaths::temporary();
        fs::write(paths.dir(), "in the way").expect("it can be written");
        assert!(matches!(claim_injection(&paths, "a"), InjectionClaim::Unknown(_)));
        assert!(clear_injection(&paths, "a").is_err());
    }
}

//! Which API a session talks to. Its hooks know, who have its environment; whoever queues the session from another one, when its
//! agent was killed before it could, asks here, and leaves alone what nobody has written down.

use crate::LearningPaths;
use crate::hashed_name::hashed_name;
use longhaul_store::{Durability, StoreError, replace};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Writes down that this session talks to this API. It is nothing that a power cut may not forget.
///
/// # Errors
/// [`StoreError::Io`].
pub fn record_session_api(place: &LearningPaths, session: &str, api: &str) -> Result<(), StoreError> {
    if session_api(place, session).as_deref() == Some(api) {
        return Ok(());
    }
    let dir = place.apis();
    DirBuilder::new().mode(0o700).recursive(true).create(&dir).map_err(|cause| StoreError::Io {
        doing: "create directory",
        path: dir,
        cause,
    })?;
    replace(&file(place, session), api.as_bytes(), Durability::Process)
}

/// The API that this session talks to, if it has said so.
pub fn session_api(place: &LearningPaths, session: &str) -> Option<String> {
    fs::read_to_string(file(place, session)).ok()
}

/// The name of a session may be anything: its hash is the file's.
fn file(place: &LearningPaths, session: &str) -> PathBuf {
    place.apis().join(hashed_name(session, 16))
}

#[cfg(test)]
mod tests {
    use super::{record_session_api, session_api};
    use crate::LearningPaths;

    #[test]
    fn the_last_word_of_each_session_holds() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let place = LearningPaths::in_home(home.path());
        assert_eq!(session_api(&place, "a"), None);
        for (session, api) in [("a", "https://one"), ("b", "https://two"), ("a", "https://three")] {
            record_session_api(&place, session, api).expect("it can be written");
            assert_eq!(session_api(&place, session).as_deref(), Some(api));
        }
        assert_eq!(session_api(&place, "b").as_deref(), Some("https://two"));
    }
}

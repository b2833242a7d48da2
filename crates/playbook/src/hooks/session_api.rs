//! Records which API a session uses. A session's hooks know it from their environment.
//!
//! A process that queues the session after its agent was killed looks it up here, and skips sessions without
//! a record.

use crate::LearningPaths;
use crate::paths::{create_private_dir, hashed_name};
use longhaul_store::{Durability, StoreError, replace};
use std::fs;
use std::path::PathBuf;

/// Records that this session uses this API. The record need not survive a power failure.
pub fn record_session_api(paths: &LearningPaths, session: &str, api: &str) -> Result<(), StoreError> {
    if session_api(paths, session).as_deref() == Some(api) {
        return Ok(());
    }
    let dir = paths.apis();
    create_private_dir(&dir).map_err(StoreError::io("create directory", &dir))?;
    replace(&file(paths, session), api.as_bytes(), Durability::Process)
}

/// Returns the recorded API of this session, or `None` if there is none.
pub fn session_api(paths: &LearningPaths, session: &str) -> Option<String> {
    fs::read_to_string(file(paths, session)).ok()
}

/// Returns the path of the record. Its name is a hash, because a session's name may be any text.
fn file(paths: &LearningPaths, session: &str) -> PathBuf {
    paths.apis().join(hashed_name(session, 16))
}

#[cfg(test)]
mod tests {
    use super::{record_session_api, session_api};
    use crate::LearningPaths;

    #[test]
    fn returns_latest_api_per_session() {
        let (_home, paths) = LearningPaths::temporary();
        assert_eq!(session_api(&paths, "a"), None);
        for (session, api) in [("a", "https://one"), ("b", "https://two"), ("a", "https://three")] {
            record_session_api(&paths, session, api).expect("it can be written");
            assert_eq!(session_api(&paths, session).as_deref(), Some(api));
        }
        assert_eq!(session_api(&paths, "b").as_deref(), Some("https://two"));
    }
}

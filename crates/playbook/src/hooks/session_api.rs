//! Determines and records which API a session uses: only that one may receive its content. A session's hooks know
//! it from their environment.
//!
//! A process that queues the session after its agent was killed looks it up here, and skips sessions without
//! a record.

use crate::paths::{create_private_dir, hashed_name};
use crate::{JudgeSettings, LearningPaths};
use longhaul_store::{Durability, StoreError, replace};
use std::fs;
use std::path::PathBuf;

/// Returns the API's address without a user name and password, for storage.
pub fn destination(settings: &JudgeSettings) -> String {
    if let Some(cloud) = settings.cloud {
        return cloud.to_owned();
    }
    let url = &settings.base_url;
    let Some((scheme, rest)) = url.split_once("://") else { return url.clone() };
    let (authority, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |index| rest.split_at(index));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

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
    use super::{destination, record_session_api, session_api};
    use crate::{JudgeSettings, LearningPaths};

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

    #[test]
    fn omits_credentials() {
        let check = |base_url: &str, expected: &str| {
            let settings = JudgeSettings::from_variables(|name| {
                (name == "ANTHROPIC_BASE_URL").then(|| base_url.to_owned())
            });
            assert_eq!(destination(&settings), expected, "{base_url}");
        };
        check("", "https://api.anthropic.com");
        check("http://127.0.0.1:4000/", "http://127.0.0.1:4000");
        check("https://me:secret@proxy.example/v1", "https://proxy.example/v1");
        check("https://me:se@cret@proxy.example?a=@", "https://proxy.example?a=@");
        check("https://proxy.example/a@b", "https://proxy.example/a@b");
        check("nonsense", "nonsense");
    }
}

//! Stores transcripts that have no file of their own until they are learned. Only their owner may read them.

use crate::LearningPaths;
use crate::paths::{create_private_dir, hashed_name};
use longhaul_store::{Durability, StoreError, replace};
use std::path::PathBuf;

// Bytes of a hash: more than enough to distinguish the transcripts of one user.
const NAME_BYTES: usize = 16;

/// Stores a transcript durably and returns its path. Equal transcripts share one file, so that they are
/// learned once.
pub fn retain_transcript(paths: &LearningPaths, transcript: &[u8]) -> Result<PathBuf, StoreError> {
    let dir = paths.retained();
    create_private_dir(&dir).map_err(StoreError::io("create directory", &dir))?;
    // Only whole lines are learned from, and this transcript will not grow.
    let is_complete = transcript.is_empty() || transcript.ends_with(b"\n");
    let transcript = [transcript, if is_complete { b"" } else { b"\n" }].concat();
    let path = dir.join(hashed_name(&transcript, NAME_BYTES) + ".jsonl");
    replace(&path, &transcript, Durability::Power)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::retain_transcript;
    use crate::LearningPaths;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn stores_once_and_readable_by_owner_only() {
        let (_home, paths) = LearningPaths::temporary();
        let path = retain_transcript(&paths, b"one\n").expect("it can be stored");
        assert_eq!(retain_transcript(&paths, b"one\n").expect("it can be stored"), path);
        assert_eq!(retain_transcript(&paths, b"one").expect("it can be stored"), path);
        assert_ne!(retain_transcript(&paths, b"two\n").expect("it can be stored"), path);
        assert_eq!(fs::read(&path).expect("it is there"), b"one\n");
        let mode = |path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(path), mode(paths.retained()), mode(paths.dir().to_owned())), (0o600, 0o700, 0o700));
    }
}

//! Transcripts that are in no file of their own. They are kept until they are learnt from, for their owner's eyes only.

use crate::LearningPaths;
use crate::hashed_name::hashed_name;
use longhaul_store::{Durability, StoreError, replace};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

// Of a hash: more than enough to tell the transcripts of one person apart.
const NAME_BYTES: usize = 16;

/// Keeps a transcript, on disk when this returns. The same one is kept once, so that it is learnt from once.
///
/// # Errors
/// [`StoreError::Io`].
pub fn keep(place: &LearningPaths, transcript: &[u8]) -> Result<PathBuf, StoreError> {
    let dir = place.retained();
    DirBuilder::new().mode(0o700).recursive(true).create(&dir).map_err(|cause| StoreError::Io {
        doing: "create directory",
        path: dir.clone(),
        cause,
    })?;
    // Only whole lines of a transcript are learnt from, and this one will not grow.
    let ends = transcript.is_empty() || transcript.ends_with(b"\n");
    let transcript = [transcript, if ends { b"" } else { b"\n" }].concat();
    let path = dir.join(hashed_name(&transcript, NAME_BYTES) + ".jsonl");
    replace(&path, &transcript, Durability::Power)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::keep;
    use crate::LearningPaths;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_same_is_kept_once_and_for_no_other_eyes() {
        let home = tempfile::tempdir().expect("there is a temporary folder");
        let place = LearningPaths::in_home(home.path());
        let path = keep(&place, b"one\n").expect("it can be kept");
        assert_eq!(keep(&place, b"one\n").expect("it can be kept"), path);
        assert_eq!(keep(&place, b"one").expect("it can be kept"), path);
        assert_ne!(keep(&place, b"two\n").expect("it can be kept"), path);
        assert_eq!(fs::read(&path).expect("it is there"), b"one\n");
        let mode = |path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(path), mode(place.retained()), mode(place.dir().to_owned())), (0o600, 0o700, 0o700));
    }
}

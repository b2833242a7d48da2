//! Checks that only the user could have written the files that name programs to start.

use crate::StoreError;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Returns an error with the first path that belongs to another user or can be written by others.
pub(crate) fn check_trusted(paths: impl IntoIterator<Item = PathBuf>) -> Result<(), StoreError> {
    for path in paths {
        let metadata = fs::metadata(&path).map_err(StoreError::io("read", &path))?;
        let reason = if metadata.uid() != rustix::process::geteuid().as_raw() {
            "belongs to another user"
        } else if metadata.mode() & 0o022 != 0 {
            "can be written by other users"
        } else {
            continue;
        };
        return Err(StoreError::Untrusted { path, reason });
    }
    Ok(())
}

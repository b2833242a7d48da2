//! Writes files next to a file of the user: backups, and new content that will replace it.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// Writes the content next to the file, under its name with a numbered suffix that starts at 1. Returns the
/// path of the copy.
///
/// The copy has the permissions of the file. Content that is backed up already is not written again, and no
/// file is ever overwritten.
///
/// # Errors
/// Returns the path and the I/O error if the copy cannot be written. No partial copy remains.
pub(crate) fn write_backup(
    path: &Path,
    suffix: impl Fn(u32) -> String,
    content: &[u8],
) -> Result<PathBuf, (PathBuf, io::Error)> {
    for number in 1_u32.. {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(suffix(number));
        let copy = path.with_file_name(name);
        match write_like(path, &copy, content) {
            Ok(()) => return Ok(copy),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if fs::read(&copy).is_ok_and(|existing| existing == content) {
                    return Ok(copy);
                }
            }
            Err(error) => return Err((copy, error)),
        }
    }
    unreachable!("a directory has fewer files")
}

/// Writes a new file with the mode and the owner of `original`, if that exists. The file is on disk when this
/// returns. After an error there is none. Never follows a link of this name.
pub(crate) fn write_like(original: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let metadata = fs::metadata(original).ok();
    // Only the owner can read it until it has its mode.
    let mode = if metadata.is_some() { 0o600 } else { 0o666 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let mut write = || {
        if let Some(metadata) = &metadata {
            file.set_permissions(metadata.permissions())?;
            // Without the right to change the owner, the new file belongs to the user. The mode still limits
            // its readers.
            let _ = fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
        }
        file.write_all(content)?;
        file.sync_all()
    };
    write().inspect_err(|_| drop(fs::remove_file(path)))
}

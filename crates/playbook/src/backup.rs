//! Backs up the content of a file next to it before the file is overwritten.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
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
        match write_new(&copy, path, content) {
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

fn write_new(copy: &Path, original: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(copy)?;
    if let Ok(metadata) = fs::metadata(original) {
        // On a file system without modes, only the owner can read the copy.
        drop(file.set_permissions(metadata.permissions()));
    }
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if written.is_err() {
        // A partial copy is useless, and the next call would create another one.
        drop(fs::remove_file(copy));
    }
    written
}

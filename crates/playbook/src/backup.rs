//! Keeping what a file says beside it, before it says something else.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Keeps the content under the file's name with a suffix, by number from 1, and says where; whoever may read the file may read
/// that. What is kept already is not kept twice, and nothing is ever written over.
///
/// # Errors
/// What the system says, and of which file. Nothing is left there then.
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
                if fs::read(&copy).is_ok_and(|kept| kept == content) {
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
    if let Ok(found) = fs::metadata(original) {
        // Where there are no modes, its owner can read it.
        drop(file.set_permissions(found.permissions()));
    }
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half of it is nothing to come back to, and the next one would keep another half.
        drop(fs::remove_file(copy));
    }
    written
}

//! Writes diagnostic files for people: one file per event, named by its time. A file never replaces another,
//! and Longhaul never reads one.

use crate::files::{make_dir, private};
use crate::{StoreError, failpoint_io};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

// This many events of one name in one second mean that the run misbehaves; a thousand files show it well
// enough.
const SAME_SECOND_MAX: u32 = 1_000;

/// Writes `text` to `dir/stem.txt`, or to `dir/stem_2.txt` and so on if that exists, readable by its owner
/// only. Creates the directory; its parent must exist. Nothing is flushed to disk.
pub fn write_diagnostic(dir: &Path, stem: &str, text: &str) -> Result<PathBuf, StoreError> {
    make_real_dir(dir).map_err(StoreError::io("create directory", dir))?;
    for number in 1..=SAME_SECOND_MAX {
        let name = if number == 1 { format!("{stem}.txt") } else { format!("{stem}_{number}.txt") };
        let path = dir.join(name);
        match failpoint_io::open(private().write(true).create_new(true), &path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => {
                let result = result.and_then(|file| failpoint_io::write_all(&file, &path, text.as_bytes()));
                return result.map(|()| path.clone()).map_err(StoreError::io("write", &path));
            }
        }
    }
    Err(StoreError::io("write", &dir.join(stem))(io::ErrorKind::AlreadyExists.into()))
}

fn make_real_dir(dir: &Path) -> io::Result<()> {
    match fs::symlink_metadata(dir) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(_) => make_dir(dir),
    }
}

#[cfg(test)]
mod tests;

//! Files that are for people and that nothing reads: one an event, named by its time, and never one in the place of
//! another.

use crate::files::private;
use crate::{StoreError, failpoint_io};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

// So many events of one name in one second are a run gone wrong, which a thousand files tell as well as more.
const SAME_SECOND_MAX: u32 = 1_000;

/// Writes `text` to `dir/stem.txt`, or, where there is one, to `dir/stem_2.txt` and so on, readable by its owner only.
/// The directory is made, its parent must be there. Nothing is flushed to the disk.
///
/// # Errors
/// [`StoreError::Io`]; also if the directory is a symbolic link, by which somebody else chooses where it is.
pub fn write_diagnostic(dir: &Path, stem: &str, text: &str) -> Result<PathBuf, StoreError> {
    make_real_dir(dir).map_err(StoreError::io("create directory", dir))?;
    for number in 1..=SAME_SECOND_MAX {
        let name = if number == 1 { format!("{stem}.txt") } else { format!("{stem}_{number}.txt") };
        let path = dir.join(name);
        match failpoint_io::open(private().write(true).create_new(true), &path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                let written = opened.and_then(|file| failpoint_io::write_all(&file, &path, text.as_bytes()));
                return written.map(|()| path.clone()).map_err(StoreError::io("write", &path));
            }
        }
    }
    Err(StoreError::io("write", &dir.join(stem))(io::ErrorKind::AlreadyExists.into()))
}

fn make_real_dir(dir: &Path) -> io::Result<()> {
    match fs::symlink_metadata(dir) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(_) => failpoint_io::make_dir(DirBuilder::new().mode(0o700), dir),
    }
}

#[cfg(test)]
mod tests;

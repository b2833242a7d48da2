//! Writing a file that is the user's: where a link leads, with the mode that it had, as a whole, and kept as it was before.

use super::InstallError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Puts `after` into the place of `before`.
pub(super) fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<(), InstallError> {
    let failed = |doing: &'static str| move |cause| InstallError::Io { doing, path: path.to_owned(), cause };
    let real = behind_links(path).map_err(failed("follow the link"))?;
    let dir = real.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir).map_err(failed("make the directory of"))?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let scratch = dir.join(format!(".{name}.{}.new", std::process::id()));
    let written = write(&scratch, &real, after).map_err(failed("write")).and_then(|()| {
        // As late as possible: what another program writes from now on until the next line is lost, as with any editor.
        let now = fs::read_to_string(&real).ok();
        if now.as_deref() != before {
            return Err(InstallError::ChangedMeanwhile { path: path.to_owned() });
        }
        fs::rename(&scratch, &real).map_err(failed("replace"))
    });
    if written.is_err() {
        drop(fs::remove_file(&scratch));
    }
    written?;
    // It is there. Whether it would be after the power failed is all that is not known.
    drop(File::open(dir).and_then(|dir| dir.sync_all()));
    Ok(())
}

fn write(scratch: &Path, real: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(scratch)?;
    match fs::metadata(real) {
        Ok(found) => file.set_permissions(found.permissions())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

/// Keeps the content beside the file; one that is kept already is not kept twice, and none is ever written over.
pub(super) fn backup(path: &Path, content: &str) -> Result<PathBuf, InstallError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 1_u32.. {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let copy = path.with_file_name(format!("{name}.longhaul-backup{suffix}"));
        match keep(&copy, path, content) {
            Ok(()) => return Ok(copy),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if fs::read_to_string(&copy).is_ok_and(|kept| kept == content) {
                    return Ok(copy);
                }
            }
            Err(cause) => return Err(InstallError::Io { doing: "write", path: copy, cause }),
        }
    }
    unreachable!("a directory has fewer files")
}

fn keep(copy: &Path, path: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(copy)?;
    let kept = fs::metadata(path)
        .and_then(|found| file.set_permissions(found.permissions()))
        .and_then(|()| file.write_all(content.as_bytes()))
        .and_then(|()| file.sync_all());
    if kept.is_err() {
        // Half of it is no copy.
        drop(fs::remove_file(copy));
    }
    kept
}

/// The file itself; a name that is not there yet stands for itself.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => Ok(path.to_owned()),
        found => found,
    }
}

//! Writing a file that is the user's: where a link leads, with the mode that it had, as a whole, and kept as it was before.

use super::InstallError;
use crate::backup::write_backup;
use longhaul_store::read_regular_to_string;
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
        let now = read_regular_to_string(&real).ok();
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
    let suffix = |number: u32| match number {
        1 => ".longhaul-backup".to_owned(),
        _ => format!(".longhaul-backup-{number}"),
    };
    write_backup(path, suffix, content.as_bytes()).map_err(|(path, cause)| InstallError::Io {
        doing: "write",
        path,
        cause,
    })
}

/// The file itself; a name that is not there yet stands for itself.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => Ok(path.to_owned()),
        found => found,
    }
}

//! Replaces a file of the user: follows links, preserves the mode, writes atomically, and makes backups.

use super::io_error;
use crate::UserError;
use crate::backup::write_backup;
use longhaul_store::read_regular_to_string;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Replaces `before` with `after`.
pub(super) fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<(), UserError> {
    let failed = |verb: &'static str| move |cause: io::Error| io_error(verb, path, &cause);
    let real = resolve_links(path).map_err(failed("follow the link"))?;
    let dir = real.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir).map_err(failed("create the directory of"))?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let scratch = dir.join(format!(".{name}.{}.new", std::process::id()));
    let written = write(&scratch, &real, after).map_err(failed("write")).and_then(|()| {
        // As late as possible: only a write of another program between this check and the rename is lost, as
        // with any editor.
        let now = read_regular_to_string(&real).ok();
        if now.as_deref() != before {
            let message = format!("cannot change {}: another program has just changed it", path.display());
            return Err(UserError::new(message, "try again; nothing was changed"));
        }
        fs::rename(&scratch, &real).map_err(failed("replace"))
    });
    if written.is_err() {
        drop(fs::remove_file(&scratch));
    }
    written?;
    // The file is in place. Only its survival of a power failure is uncertain.
    drop(File::open(dir).and_then(|dir| dir.sync_all()));
    Ok(())
}

fn write(scratch: &Path, real: &Path, content: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(scratch)?;
    match fs::metadata(real) {
        Ok(metadata) => file.set_permissions(metadata.permissions())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

/// Backs up the content next to the file. Content that is backed up already is not written again, and no file
/// is overwritten.
pub(super) fn backup(path: &Path, content: &str) -> Result<PathBuf, UserError> {
    let suffix = |number: u32| match number {
        1 => ".longhaul-backup".to_owned(),
        _ => format!(".longhaul-backup-{number}"),
    };
    write_backup(path, suffix, content.as_bytes()).map_err(|(path, cause)| io_error("write", &path, &cause))
}

/// Resolves links. A path that does not exist resolves to itself.
fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => Ok(path.to_owned()),
        found => found,
    }
}

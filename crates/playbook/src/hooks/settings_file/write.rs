//! Replaces a file of the user: follows links, preserves the mode, writes atomically, and makes backups.

use super::io_error;
use crate::UserError;
use crate::backup::{write_backup, write_like};
use longhaul_store::read_regular_to_string;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Replaces the content of a file of the user, which need not exist. Links and the mode of the file stay.
///
/// # Errors
/// Returns an error if the file no longer has the content `before`, or cannot be written.
pub fn replace_user_file(path: &Path, before: Option<&str>, after: &str) -> Result<(), UserError> {
    let failed = |verb: &'static str| move |cause: io::Error| io_error(verb, path, &cause);
    let real = resolve_links(path).map_err(failed("follow the link"))?;
    let dir = real.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir).map_err(failed("create the directory of"))?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let scratch = dir.join(format!(".{name}.{}.new", std::process::id()));
    // A process that was killed may have left one.
    drop(fs::remove_file(&scratch));
    write_like(&real, &scratch, after.as_bytes()).map_err(failed("write"))?;
    // As late as possible: only a write of another program between this check and the rename is lost, as with
    // any editor.
    let now = read_regular_to_string(&real).ok();
    let replaced = if now.as_deref() == before {
        fs::rename(&scratch, &real).map_err(failed("replace"))
    } else {
        let message = format!("cannot change {}: another program has just changed it", path.display());
        Err(UserError::new(message, "try again; nothing was changed"))
    };
    replaced.inspect_err(|_| drop(fs::remove_file(&scratch)))?;
    // The file is in place. Only its survival of a power failure is uncertain.
    drop(File::open(dir).and_then(|dir| dir.sync_all()));
    Ok(())
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

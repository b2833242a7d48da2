//! A repository of ours for one look at a workspace: the user's objects and files, our index, and no settings but
//! those that it is given. It is gone after the look, but for the objects that were written.

use super::ChangesError;
use super::git::Git;
use super::repository::UserRepo;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Such a repository.
pub(super) struct ScratchRepo {
    pub(super) git: Git,
    objects: PathBuf,
}

impl ScratchRepo {
    /// Makes one in the empty directory `scratch`. It also has what is in these directories of objects.
    ///
    /// # Errors
    /// If `scratch` cannot be written, or the repository cannot be read.
    pub(super) fn make(
        scratch: &Path,
        repository: &UserRepo,
        borrowed: &[&Path],
    ) -> Result<ScratchRepo, ChangesError> {
        let objects = scratch.join("objects");
        // As `git init` lays it out (gitrepository-layout), without starting one.
        for dir in [objects.join("info"), scratch.join("refs"), scratch.join("info")] {
            fs::create_dir_all(&dir).map_err(ChangesError::io("write", &dir))?;
        }
        write(&scratch.join("HEAD"), b"ref: refs/heads/none\n")?;
        write(&scratch.join("config"), config(&repository.object_format).as_bytes())?;
        let mut alternates = Vec::new();
        for path in [&[repository.objects.as_path()], borrowed].concat() {
            if path.exists() {
                alternates.extend_from_slice(path.as_os_str().as_bytes());
                alternates.push(b'\n');
            }
        }
        write(&objects.join("info/alternates"), &alternates)?;
        copy_if_there(&repository.exclude, &scratch.join("info/exclude"))?;
        copy_if_there(&repository.shallow, &scratch.join("shallow"))?;
        copy_index(&repository.index, scratch)?;
        let git = Git::at(&repository.top)
            .set(&repository.settings)
            .with("GIT_DIR", scratch)
            .with("GIT_WORK_TREE", &repository.top)
            // These name the user's own programs, which are not needed for a look.
            .with("GIT_CONFIG_GLOBAL", "/dev/null")
            .with("GIT_CONFIG_NOSYSTEM", "1");
        Ok(ScratchRepo { git, objects })
    }

    /// The objects that were written into it; nothing if none were.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn written(&self) -> Result<Option<&Path>, ChangesError> {
        let failed = || ChangesError::io("read", &self.objects);
        // That it borrows is a matter of this look.
        fs::remove_dir_all(self.objects.join("info")).map_err(failed())?;
        let is_empty = fs::read_dir(&self.objects).map_err(failed())?.next().is_none();
        Ok((!is_empty).then_some(&self.objects))
    }
}

/// Compressed, objects would be a third as large, and take four times as long to write.
fn config(object_format: &str) -> String {
    let (version, extensions) = match object_format {
        "sha1" => (0, String::new()),
        other => (1, format!("[extensions]\n\tobjectFormat = {other}\n")),
    };
    format!(
        "[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n\tlooseCompression = 0\n{extensions}"
    )
}

/// A copy of an index, so that git need not read again what has not changed, with the time of the original: a file that
/// was changed in the second in which the index was written is only recognised by that time. One that is kept in
/// two parts is copied whole.
fn copy_index(from: &Path, scratch: &Path) -> Result<(), ChangesError> {
    let to = scratch.join("index");
    copy_if_there(from, &to)?;
    if let Ok(copy) = File::options().write(true).open(&to) {
        let original = fs::metadata(from).and_then(|found| found.modified());
        original.and_then(|modified| copy.set_modified(modified)).map_err(ChangesError::io("write", &to))?;
    }
    for entry in from.parent().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            copy_if_there(&entry.path(), &scratch.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn copy_if_there(from: &Path, to: &Path) -> Result<(), ChangesError> {
    match fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(ChangesError::io("read", from)(error)),
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), ChangesError> {
    fs::write(path, content).map_err(ChangesError::io("write", path))
}

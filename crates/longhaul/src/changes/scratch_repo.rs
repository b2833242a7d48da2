//! A temporary repository that captures a workspace. It has the user's objects and files, its own index, and
//! only the given settings. It never writes to the user's repository, and only its new objects outlive it.

use super::ChangesError;
use super::repository::UserRepo;
use crate::git::{self, Git};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) struct ScratchRepo {
    pub(super) git: Git,
    objects: PathBuf,
}

impl ScratchRepo {
    /// Creates a repository in the empty directory `scratch`. It also borrows the objects of the directories
    /// in `borrowed`.
    pub(super) fn create(
        scratch: &Path,
        repository: &UserRepo,
        borrowed: &[&Path],
    ) -> Result<ScratchRepo, ChangesError> {
        let objects = scratch.join("objects");
        // The layout of `git init` (gitrepository-layout), without starting git.
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
        copy_if_exists(&repository.exclude, &scratch.join("info/exclude"))?;
        copy_if_exists(&repository.shallow, &scratch.join("shallow"))?;
        copy_index(&repository.index, scratch)?;
        let git = Git::new(&repository.top)
            .with_settings(&repository.settings)
            .with_variable("GIT_DIR", scratch)
            .with_variable("GIT_WORK_TREE", &repository.top)
            // The user's configuration may name programs, which this repository does not need.
            .with_variable("GIT_CONFIG_GLOBAL", "/dev/null")
            .with_variable("GIT_CONFIG_NOSYSTEM", "1");
        Ok(ScratchRepo { git, objects })
    }

    /// Returns the directory of the objects that git wrote, or `None` if there are none.
    pub(super) fn new_objects(&self) -> Result<Option<&Path>, ChangesError> {
        let failed = || ChangesError::io("read", &self.objects);
        // The borrowed directories matter only to this repository, not to the stored objects.
        fs::remove_dir_all(self.objects.join("info")).map_err(failed())?;
        let is_empty = fs::read_dir(&self.objects).map_err(failed())?.next().is_none();
        Ok((!is_empty).then_some(&self.objects))
    }
}

/// Returns the repository's configuration. Compression would make objects a third as large but four times as
/// slow to write.
fn config(object_format: &str) -> String {
    let (version, extensions) = match object_format {
        "sha1" => (0, String::new()),
        other => (1, format!("[extensions]\n\tobjectFormat = {other}\n")),
    };
    format!(
        "[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n\tlooseCompression = 0\n{extensions}"
    )
}

/// Copies an index. Both parts of a split index are copied.
fn copy_index(from: &Path, scratch: &Path) -> Result<(), ChangesError> {
    git::copy_index(from, &scratch.join("index")).map_err(ChangesError::io("read", from))?;
    for entry in from.parent().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            copy_if_exists(&entry.path(), &scratch.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn copy_if_exists(from: &Path, to: &Path) -> Result<(), ChangesError> {
    git::copy_if_exists(from, to).map_err(ChangesError::io("read", from))
}

fn write(path: &Path, content: &[u8]) -> Result<(), ChangesError> {
    fs::write(path, content).map_err(ChangesError::io("write", path))
}

//! A temporary repository that captures a workspace. It has the user's objects and files, its own index, and
//! only the given settings. It never writes to the user's repository, and only its new objects outlive it.

use super::{Git, UserRepo};
use longhaul_store::{StoreError, if_exists};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) struct ScratchRepo {
    pub(crate) git: Git,
    pub(crate) index: PathBuf,
    pub(crate) objects: PathBuf,
}

impl ScratchRepo {
    /// Creates a repository in the directory `scratch`, which has none. It also borrows the objects of the directories
    /// in `borrowed`.
    pub(crate) fn create(
        scratch: &Path,
        repository: &UserRepo,
        borrowed: &[&Path],
    ) -> Result<ScratchRepo, StoreError> {
        let (index, objects) = (scratch.join("index"), scratch.join("objects"));
        // The layout of `git init` (gitrepository-layout), without starting git.
        for dir in [objects.join("info"), scratch.join("refs"), scratch.join("info")] {
            fs::create_dir_all(&dir).map_err(StoreError::io("write", &dir))?;
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
        copy_index(&repository.index, &index)?;
        let git = Git::new(&repository.top)
            .with_settings(&repository.settings)
            .with_variable("GIT_DIR", scratch)
            .with_variable("GIT_WORK_TREE", &repository.top)
            // The user's configuration may name programs, which this repository does not need.
            .with_variable("GIT_CONFIG_GLOBAL", "/dev/null")
            .with_variable("GIT_CONFIG_NOSYSTEM", "1");
        Ok(ScratchRepo { git, index, objects })
    }

    /// Returns the directory of the objects that git wrote, or `None` if there are none.
    pub(crate) fn new_objects(&self) -> Result<Option<&Path>, StoreError> {
        let failed = || StoreError::io("read", &self.objects);
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

/// Copies an index with both parts of a split one, so that git need not reread unchanged files. The copy keeps the
/// original's modification time: git needs it to detect a file that changed in the second when the index was written.
fn copy_index(from: &Path, to: &Path) -> Result<(), StoreError> {
    copy_if_exists(from, to)?;
    if let Ok(copy) = fs::File::options().write(true).open(to) {
        let modified = fs::metadata(from).and_then(|metadata| metadata.modified());
        modified.and_then(|modified| copy.set_modified(modified)).map_err(StoreError::io("read", from))?;
    }
    for entry in from.parent().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            copy_if_exists(&entry.path(), &to.with_file_name(entry.file_name()))?;
        }
    }
    Ok(())
}

fn copy_if_exists(from: &Path, to: &Path) -> Result<(), StoreError> {
    if_exists(fs::copy(from, to)).map(drop).map_err(StoreError::io("read", from))
}

fn write(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    fs::write(path, content).map_err(StoreError::io("write", path))
}

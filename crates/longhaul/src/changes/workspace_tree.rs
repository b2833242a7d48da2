//! Captures the state of a workspace as a git tree: every file that git does not ignore, with its current
//! content. It reads only files that differ from the index, and omits those that are too large to review.

use super::ChangesError;
use crate::git::{ScratchRepo, UserRepo, paths, pathspecs};
use longhaul_core::Moment;
use longhaul_store::{OsText, UnrecordedReason, WorkspaceState};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

// A hundred times the size of a file that an agent writes or a person reads. Data sets and builds are larger.
const FILE_BYTES_MAX: u64 = 64 << 20;
// Git adds this much in less than a second. It also bounds the disk space.
const ALL_BYTES_MAX: u64 = 128 << 20;
// Each becomes a file in the run's directory. A user with more of them has forgotten to ignore them.
const FILES_MAX: usize = 20_000;
// `longhaul` lists each of them when it shows the run.
const OMITTED_MAX: usize = 100;

/// Captures the state without the files at or below `excluded`, which are relative to the repository's top.
pub(super) async fn capture(
    repository: &UserRepo,
    scratch_repo: &ScratchRepo,
    excluded: &[PathBuf],
    at: Moment,
) -> Result<WorkspaceState, ChangesError> {
    let git = &scratch_repo.git;
    // Uncommitted changes of a nested repository do not belong to this one. Inspecting them would apply its
    // settings.
    let changed = ["diff-files", "-z", "--name-only", "--ignore-submodules=dirty", "--no-ext-diff"];
    let untracked = [
        &["ls-files", "-z", "--others", "--exclude-standard", "--", "."].map(OsString::from)[..],
        &pathspecs(excluded),
    ]
    .concat();
    let (changed, untracked) = tokio::try_join!(git.call_async(&changed), git.call_async(&untracked))?;
    let uncommitted: BTreeSet<&[u8]> = paths(&changed).chain(paths(&untracked)).collect();
    let ClassifiedPaths { deleted, added, omitted } = classify(&repository.top, &uncommitted)?;
    // Deleted paths come first: another file may have the same name now, or that of a parent directory.
    if !deleted.is_empty() {
        git.feed(&["update-index", "-z", "--force-remove", "--stdin"], &deleted).await?;
    }
    if !added.is_empty() {
        git.feed(&["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], &added).await?;
    }
    // A tree can name a missing object of a partial clone, so git does not need to fetch it.
    let tree = git.call_async(&["write-tree", "--missing-ok"]).await?;
    Ok(WorkspaceState {
        at: at.into(),
        head: repository.head.clone(),
        branch: repository.branch.clone(),
        tree: Some(String::from_utf8_lossy(tree.trim_ascii_end()).into_owned()),
        omitted,
        unrecorded_reason: None,
        git_error: None,
    })
}

/// Deleted and added paths, each followed by a zero byte, and omitted paths.
#[derive(Default)]
struct ClassifiedPaths {
    deleted: Vec<u8>,
    added: Vec<u8>,
    omitted: Vec<OsText>,
}

fn classify(top: &Path, uncommitted: &BTreeSet<&[u8]>) -> Result<ClassifiedPaths, ChangesError> {
    let too_much = || ChangesError::Unrecorded(UnrecordedReason::TooMuch);
    if uncommitted.len() > FILES_MAX {
        return Err(too_much());
    }
    let mut files: Vec<(FileState, &[u8])> =
        uncommitted.iter().map(|path| (inspect(top, path), *path)).collect();
    // The smallest files come first, so that the largest are omitted.
    files.sort_by_key(|(state, _)| *state);
    let (mut classified, mut bytes) = (ClassifiedPaths::default(), 0);
    for (state, path) in files {
        let paths = match state {
            FileState::Deleted => &mut classified.deleted,
            FileState::Bytes(size) if size <= FILE_BYTES_MAX && bytes + size <= ALL_BYTES_MAX => {
                bytes += size;
                &mut classified.added
            }
            FileState::Bytes(_) | FileState::Unreadable => {
                classified.omitted.push(OsString::from_vec(path.to_vec()).into());
                continue;
            }
        };
        paths.extend_from_slice(path);
        paths.push(0);
    }
    if classified.omitted.len() > OMITTED_MAX { Err(too_much()) } else { Ok(classified) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FileState {
    Deleted,
    Bytes(u64),
    /// Git cannot read the file. If it tried, it would add no other file either.
    Unreadable,
}

fn inspect(top: &Path, path: &[u8]) -> FileState {
    // This is a nested repository that git does not track.
    if path.ends_with(b"/") {
        return FileState::Unreadable;
    }
    let path = Path::new(OsStr::from_bytes(path));
    // The path leads through a link, so the file is not in this tree.
    let parents = path.ancestors().skip(1).filter(|dir| dir.iter().next().is_some());
    if parents.into_iter().any(|dir| top.join(dir).is_symlink()) {
        return FileState::Deleted;
    }
    let path = top.join(path);
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() => {
            File::open(&path).map_or(FileState::Unreadable, |_| FileState::Bytes(metadata.len()))
        }
        Ok(metadata) if metadata.is_symlink() || metadata.is_dir() => FileState::Bytes(0),
        Ok(_) => FileState::Unreadable,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            FileState::Deleted
        }
        Err(_) => FileState::Unreadable,
    }
}

//! The state of a workspace as a tree: every file that git does not ignore, as it is. Only what differs from the index
//! is read, and of that no more than anybody would want to see.

use super::ChangesError;
use super::repository::UserRepo;
use super::scratch_repo::ScratchRepo;
use longhaul_core::Moment;
use longhaul_store::{OsText, UnrecordedReason, WorkspaceState};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

// What an agent writes, or a person reads, is a hundredth of it; data sets and builds are more.
const FILE_BYTES_MAX: u64 = 64 << 20;
// Git takes in so much in less than a second, and as much of the disk it may take.
const ALL_BYTES_MAX: u64 = 128 << 20;
// Each of them becomes a file in the run's directory; somebody who has more has forgotten to ignore them.
const FILES_MAX: usize = 20_000;
// Each is named when the run is looked at.
const LEFT_OUT_MAX: usize = 100;

/// Takes the state, without the files at or below `excluded`, which are relative to the repository's top.
///
/// # Errors
/// If git cannot, or if there is more to take in than that.
pub(super) async fn take(
    repository: &UserRepo,
    ours: &ScratchRepo,
    excluded: &[PathBuf],
    at: Moment,
) -> Result<WorkspaceState, ChangesError> {
    let git = &ours.git;
    // What a repository inside of this one has not committed is its own; to look for it, git would heed its settings.
    let changed = ["diff-files", "-z", "--name-only", "--ignore-submodules=dirty", "--no-ext-diff"];
    let added = [
        &["ls-files", "-z", "--others", "--exclude-standard", "--", "."].map(OsString::from)[..],
        &pathspecs(excluded),
    ]
    .concat();
    let (changed, added) = tokio::try_join!(git.call(&changed), git.call(&added))?;
    let uncommitted: BTreeSet<&[u8]> = paths(&changed).chain(paths(&added)).collect();
    let ClassifiedPaths { gone, taken, omitted: left_out } = sort_out(&repository.top, &uncommitted)?;
    // First what is gone: something else may have its name now, or that of a directory above.
    if !gone.is_empty() {
        git.feed(&["update-index", "-z", "--force-remove", "--stdin"], &gone).await?;
    }
    if !taken.is_empty() {
        git.feed(&["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], &taken).await?;
    }
    // An object that is not here (of a partial clone) need not be fetched to be named.
    let tree = git.call(&["write-tree", "--missing-ok"]).await?;
    Ok(WorkspaceState {
        at,
        head: repository.head.clone(),
        branch: repository.branch.clone(),
        tree: Some(String::from_utf8_lossy(tree.trim_ascii_end()).into_owned()),
        omitted: left_out,
        unrecorded_reason: None,
        git_error: None,
    })
}

/// What is not there any more and what is read, each path with a zero byte behind it; and what is not read.
#[derive(Default)]
struct ClassifiedPaths {
    gone: Vec<u8>,
    taken: Vec<u8>,
    omitted: Vec<OsText>,
}

fn sort_out(top: &Path, uncommitted: &BTreeSet<&[u8]>) -> Result<ClassifiedPaths, ChangesError> {
    let too_much = || ChangesError::Unrecorded(UnrecordedReason::TooMuch);
    if uncommitted.len() > FILES_MAX {
        return Err(too_much());
    }
    let mut found: Vec<(FileState, &[u8])> =
        uncommitted.iter().map(|path| (look(top, path), *path)).collect();
    // The smallest first: of too much, what is largest is left out.
    found.sort_by_key(|(found, _)| *found);
    let (mut sorted, mut bytes) = (ClassifiedPaths::default(), 0);
    for (found, path) in found {
        let to = match found {
            FileState::Gone => &mut sorted.gone,
            FileState::Bytes(size) if size <= FILE_BYTES_MAX && bytes + size <= ALL_BYTES_MAX => {
                bytes += size;
                &mut sorted.taken
            }
            FileState::Bytes(_) | FileState::Unreadable => {
                sorted.omitted.push(OsString::from_vec(path.to_vec()).into());
                continue;
            }
        };
        to.extend_from_slice(path);
        to.push(0);
    }
    if sorted.omitted.len() > LEFT_OUT_MAX { Err(too_much()) } else { Ok(sorted) }
}

/// What there is of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FileState {
    /// Nothing any more.
    Gone,
    /// So much to read.
    Bytes(u64),
    /// What git cannot read, and would take in nothing at all for.
    Unreadable,
}

fn look(top: &Path, path: &[u8]) -> FileState {
    // A repository that git does not know of.
    if path.ends_with(b"/") {
        return FileState::Unreadable;
    }
    let path = Path::new(OsStr::from_bytes(path));
    // What a link above leads to is somewhere else.
    let above = path.ancestors().skip(1).filter(|dir| dir.iter().next().is_some());
    if above.into_iter().any(|dir| top.join(dir).is_symlink()) {
        return FileState::Gone;
    }
    let path = top.join(path);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => {
            File::open(&path).map_or(FileState::Unreadable, |_| FileState::Bytes(found.len()))
        }
        Ok(found) if found.is_symlink() || found.is_dir() => FileState::Bytes(0),
        Ok(_) => FileState::Unreadable,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            FileState::Gone
        }
        Err(_) => FileState::Unreadable,
    }
}

/// What keeps git from looking at these files.
pub(super) fn pathspecs<P: AsRef<Path>>(excluded: &[P]) -> Vec<OsString> {
    let pathspec = |path: &P| {
        let mut pathspec = OsString::from(":(exclude,top,literal)");
        pathspec.push(path.as_ref());
        pathspec
    };
    excluded.iter().map(pathspec).collect()
}

/// What git lists with `-z`.
pub(super) fn paths(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

//! The user's repository: where its parts are, what is checked out, and the few of its settings by which git knows
//! whether a file has changed. It is asked nothing that would start a program which its files name.

use super::ChangesError;
use super::git::Git;
use crate::transfer::NO_REPOSITORY;
use longhaul_store::UnrecordedReason;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Settings without which every file may look changed, or an ignored one new. None of them names a program.
const SETTINGS: &str = r"^core\.(autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|excludesfile|trustctime|checkstat)$";

/// Where a workspace is in git.
#[derive(Debug)]
pub(super) struct UserRepo {
    /// The directory that the agent works in, links resolved.
    pub(super) cwd: PathBuf,
    /// The top of its files.
    pub(super) top: PathBuf,
    /// How it names objects: `sha1`, `sha256`.
    pub(super) object_format: String,
    pub(super) index: PathBuf,
    pub(super) objects: PathBuf,
    pub(super) exclude: PathBuf,
    pub(super) shallow: PathBuf,
    /// The commit that is checked out; nothing before the first one.
    pub(super) head: Option<String>,
    /// The branch that is checked out; nothing for a detached head.
    pub(super) branch: Option<String>,
    /// Each as `name=value`.
    pub(super) settings: Vec<OsString>,
}

impl UserRepo {
    /// The repository that has `cwd` among its files.
    ///
    /// # Errors
    /// If there is none, or if git cannot work with it.
    pub(super) async fn new(cwd: &Path) -> Result<UserRepo, ChangesError> {
        let none = || ChangesError::Unrecorded(UnrecordedReason::NotInGit);
        let cwd = fs::canonicalize(cwd).map_err(|_| none())?;
        // Without any, git need not be installed.
        if !cwd.ancestors().any(|dir| dir.join(".git").exists()) {
            return Err(none());
        }
        let git = Git::at(&cwd);
        let (looked, set) =
            tokio::join!(look(&git), git.ask(&["config", "--null", "--get-regexp", SETTINGS]));
        let RepoPaths { paths, object_format, head, branch } = looked.map_err(|error| match error {
            ChangesError::Git { git_error: said, .. } if said.starts_with(NO_REPOSITORY) => none(),
            error => error,
        })?;
        let [top, index, objects, exclude, shallow] = paths;
        if top != cwd && git.ask(&["check-ignore", "--quiet", "."]).await?.is_some() {
            return Err(none());
        }
        let settings = settings(&set?.unwrap_or_default());
        Ok(UserRepo { cwd, top, object_format, index, objects, exclude, shallow, head, branch, settings })
    }
}

/// What one call tells.
struct RepoPaths {
    paths: [PathBuf; 5],
    object_format: String,
    head: Option<String>,
    branch: Option<String>,
}

async fn look(git: &Git) -> Result<RepoPaths, ChangesError> {
    const PLACES: [&str; 12] = [
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--git-path",
        "index",
        "--git-path",
        "objects",
        "--git-path",
        "info/exclude",
        "--git-path",
        "shallow",
        "--show-object-format",
    ];
    // Together, because each call takes as long as all of them.
    let whole = [&PLACES[..], &["HEAD", "--symbolic-full-name", "HEAD"]].concat();
    let (told, is_born) = match git.call(&whole).await {
        Ok(told) => (told, true),
        // Before the first commit there is no HEAD.
        Err(ChangesError::Git { .. }) => (git.call(&PLACES).await?, false),
        Err(error) => return Err(error),
    };
    let mut lines: Vec<&[u8]> = told.split(|byte| *byte == b'\n').collect();
    lines.pop();
    let odd = || ChangesError::Git {
        doing: "rev-parse".to_owned(),
        git_error: "the repository's path has a line break in it".to_owned(),
    };
    if lines.len() != if is_born { 8 } else { 6 } {
        return Err(odd());
    }
    let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
    let path = |line: &[u8]| PathBuf::from(OsString::from_vec(line.to_vec()));
    let (head, branch) = if is_born {
        (Some(text(lines[6])), Some(text(lines[7])))
    } else {
        (None, git.ask(&["symbolic-ref", "--quiet", "HEAD"]).await?.map(|line| text(line.trim_ascii_end())))
    };
    Ok(RepoPaths {
        paths: [lines[0], lines[1], lines[2], lines[3], lines[4]].map(path),
        object_format: text(lines[5]),
        head,
        // A detached one is called `HEAD`.
        branch: branch.and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())),
    })
}

/// What `git config --null` lists, as arguments; of a setting that is there twice the last holds.
fn settings(listed: &[u8]) -> Vec<OsString> {
    let entries = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let arguments = entries.map(|entry| match entry.iter().position(|byte| *byte == b'\n') {
        Some(end) => [&entry[..end], b"=", &entry[end + 1..]].concat(),
        // A name alone says yes.
        None => entry.to_vec(),
    });
    arguments.map(OsString::from_vec).collect()
}

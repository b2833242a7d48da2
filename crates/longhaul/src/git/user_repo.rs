//! The user's repository: its layout, the checked-out commit, and the few settings that decide whether a file
//! has changed. The queries never start a program that the repository's files name.

use super::{Git, GitError, paths, text};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Queries one line for each, and none for the commit before the first one.
const LAYOUT: [&str; 14] = [
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
    "--revs-only",
    // A power cut can leave a name of a commit that does not exist.
    "HEAD^{commit}",
];
const BRANCH: [&str; 3] = ["symbolic-ref", "--quiet", "HEAD"];
const IS_IGNORED: [&str; 3] = ["check-ignore", "--quiet", "."];
/// Settings without which every file could look changed, or an ignored one new. None of them names a program.
const SETTINGS: [&str; 4] = [
    "config",
    "--null",
    "--get-regexp",
    r"^core\.(autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|excludesfile|trustctime|checkstat)$",
];

#[derive(Debug)]
pub(crate) struct UserRepo {
    /// Working directory of the agent, with links resolved.
    pub(crate) cwd: PathBuf,
    pub(crate) top: PathBuf,
    /// Hash of its object names: `sha1` or `sha256`.
    pub(crate) object_format: String,
    pub(crate) index: PathBuf,
    pub(crate) objects: PathBuf,
    pub(crate) exclude: PathBuf,
    pub(crate) shallow: PathBuf,
    /// Commit that is checked out. `None` before the first commit.
    pub(crate) head: Option<String>,
    /// Branch that is checked out. `None` for a detached head.
    pub(crate) branch: Option<String>,
    /// Each as `name=value`.
    pub(crate) settings: Vec<OsString>,
}

impl UserRepo {
    /// Finds the repository that contains `cwd`. Returns `None` if there is none, or if it ignores `cwd`. Dropping
    /// the future kills the git processes.
    pub(crate) async fn find(cwd: &Path) -> Result<Option<UserRepo>, GitError> {
        let Some(cwd) = below_repository(cwd) else { return Ok(None) };
        let git = Git::new(&cwd);
        let answers = tokio::join!(git.call_async(&LAYOUT), git.ask_async(&BRANCH), git.ask_async(&SETTINGS));
        let Some(repository) = UserRepo::parse(cwd, answers)? else { return Ok(None) };
        let is_ignored = repository.top != repository.cwd && git.ask_async(&IS_IGNORED).await?.is_some();
        Ok((!is_ignored).then_some(repository))
    }

    /// Finds a repository like [`UserRepo::find`], and blocks meanwhile.
    pub(crate) fn find_blocking(cwd: &Path) -> Result<Option<UserRepo>, GitError> {
        let Some(cwd) = below_repository(cwd) else { return Ok(None) };
        let git = Git::new(&cwd);
        let answers = (git.call(&LAYOUT), git.ask(&BRANCH), git.ask(&SETTINGS));
        let Some(repository) = UserRepo::parse(cwd, answers)? else { return Ok(None) };
        let is_ignored = repository.top != repository.cwd && git.ask(&IS_IGNORED)?.is_some();
        Ok((!is_ignored).then_some(repository))
    }

    fn parse(cwd: PathBuf, (layout, branch, settings): Answers) -> Result<Option<UserRepo>, GitError> {
        let layout = match layout {
            Err(error) if error.is_no_repository() => return Ok(None),
            layout => layout?,
        };
        let lines: Vec<&[u8]> = layout.trim_ascii_end().split(|byte| *byte == b'\n').collect();
        let ([top, index, objects, exclude, shallow, object_format]
        | [top, index, objects, exclude, shallow, object_format, _]) = lines[..]
        else {
            return Err(GitError::unexpected("rev-parse", "the repository's path contains a line break"));
        };
        let path = |line: &[u8]| PathBuf::from(OsString::from_vec(line.to_vec()));
        Ok(Some(UserRepo {
            cwd,
            top: path(top),
            index: path(index),
            objects: path(objects),
            exclude: path(exclude),
            shallow: path(shallow),
            object_format: text(object_format.to_vec()),
            head: lines.get(6).map(|head| text(head.to_vec())),
            branch: branch?.and_then(|name| Some(text(name).strip_prefix("refs/heads/")?.to_owned())),
            settings: parse_settings(&settings?.unwrap_or_default()),
        }))
    }
}

/// The results of [`LAYOUT`], [`BRANCH`] and [`SETTINGS`].
type Answers =
    (Result<Vec<u8>, GitError>, Result<Option<Vec<u8>>, GitError>, Result<Option<Vec<u8>>, GitError>);

/// Returns the real path of a directory that may be in a repository. Outside of one, git need not be installed.
fn below_repository(cwd: &Path) -> Option<PathBuf> {
    let cwd = fs::canonicalize(cwd).ok()?;
    cwd.ancestors().any(|dir| dir.join(".git").exists()).then_some(cwd)
}

/// Converts the output of `git config --null` to arguments. If a setting occurs twice, the last one wins.
fn parse_settings(output: &[u8]) -> Vec<OsString> {
    let arguments = paths(output).map(|entry| match entry.iter().position(|byte| *byte == b'\n') {
        Some(end) => [&entry[..end], b"=", &entry[end + 1..]].concat(),
        // A name without a value means true.
        None => entry.to_vec(),
    });
    arguments.map(OsString::from_vec).collect()
}

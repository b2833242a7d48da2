//! The user's repository: its layout, the checked-out commit, and the few settings that decide whether a file
//! has changed. The queries never start a program that the repository's files name.

use super::ChangesError;
use crate::git::{Git, GitError};
use longhaul_store::UnrecordedReason;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Settings without which every file could look changed, or an ignored one new. None of them names a program.
const SETTINGS: &str = r"^core\.(autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|excludesfile|trustctime|checkstat)$";

#[derive(Debug)]
pub(super) struct UserRepo {
    /// Working directory of the agent, with links resolved.
    pub(super) cwd: PathBuf,
    pub(super) top: PathBuf,
    /// Hash of its object names: `sha1` or `sha256`.
    pub(super) object_format: String,
    pub(super) index: PathBuf,
    pub(super) objects: PathBuf,
    pub(super) exclude: PathBuf,
    pub(super) shallow: PathBuf,
    /// Commit that is checked out. `None` before the first commit.
    pub(super) head: Option<String>,
    /// Branch that is checked out. `None` for a detached head.
    pub(super) branch: Option<String>,
    /// Each as `name=value`.
    pub(super) settings: Vec<OsString>,
}

impl UserRepo {
    /// Finds the repository that contains `cwd`.
    pub(super) async fn new(cwd: &Path) -> Result<UserRepo, ChangesError> {
        let not_in_git = || ChangesError::Unrecorded(UnrecordedReason::NotInGit);
        let cwd = fs::canonicalize(cwd).map_err(|_| not_in_git())?;
        // Outside of a repository, git need not be installed.
        if !cwd.ancestors().any(|dir| dir.join(".git").exists()) {
            return Err(not_in_git());
        }
        let git = Git::new(&cwd);
        let (repository, settings) = tokio::join!(
            rev_parse(&git, &cwd),
            git.ask_async(&["config", "--null", "--get-regexp", SETTINGS])
        );
        let repository =
            repository.map_err(|error| if error.is_no_repository() { not_in_git() } else { error.into() })?;
        if repository.top != cwd && git.ask_async(&["check-ignore", "--quiet", "."]).await?.is_some() {
            return Err(not_in_git());
        }
        Ok(UserRepo { settings: parse_settings(&settings?.unwrap_or_default()), ..repository })
    }
}

/// Returns the repository that contains `cwd`, without its settings.
async fn rev_parse(git: &Git, cwd: &Path) -> Result<UserRepo, GitError> {
    const ARGS: [&str; 12] = [
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
    // One call, because a second one would take as long again.
    let args = [&ARGS[..], &["HEAD", "--symbolic-full-name", "HEAD"]].concat();
    let (output, has_commits) = match git.call_async(&args).await {
        Ok(output) => (output, true),
        // HEAD does not resolve before the first commit.
        Err(GitError::Failed { .. }) => (git.call_async(&ARGS).await?, false),
        Err(error) => return Err(error),
    };
    let mut lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
    lines.pop();
    if lines.len() != if has_commits { 8 } else { 6 } {
        return Err(GitError::unexpected("rev-parse", "the repository's path contains a line break"));
    }
    let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
    let path = |line: &[u8]| PathBuf::from(OsString::from_vec(line.to_vec()));
    let (head, branch) = if has_commits {
        (Some(text(lines[6])), Some(text(lines[7])))
    } else {
        (
            None,
            git.ask_async(&["symbolic-ref", "--quiet", "HEAD"])
                .await?
                .map(|line| text(line.trim_ascii_end())),
        )
    };
    Ok(UserRepo {
        cwd: cwd.to_owned(),
        top: path(lines[0]),
        index: path(lines[1]),
        objects: path(lines[2]),
        exclude: path(lines[3]),
        shallow: path(lines[4]),
        object_format: text(lines[5]),
        settings: Vec::new(),
        head,
        // The name of a detached head is `HEAD`.
        branch: branch.and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())),
    })
}

/// Converts the output of `git config --null` to arguments. If a setting occurs twice, the last one wins.
fn parse_settings(output: &[u8]) -> Vec<OsString> {
    let entries = output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let arguments = entries.map(|entry| match entry.iter().position(|byte| *byte == b'\n') {
        Some(end) => [&entry[..end], b"=", &entry[end + 1..]].concat(),
        // A name without a value means true.
        None => entry.to_vec(),
    });
    arguments.map(OsString::from_vec).collect()
}

//! Queries about the project's repository. Nothing here changes it.

use super::{WorktreeError, repeat_interrupted};
use crate::git::{Git, GitError, paths, pathspecs, text};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Pathspec that excludes the playbooks. Learning from a run changes them while others are still to start.
const NO_PLAYBOOK: &str = ":(exclude,top,glob)**/.claude/playbook.json";

/// Checks that the runs of a project can have worktrees: it is in a git repository with a commit and without
/// uncommitted changes. `home` is that of Longhaul.
///
/// # Errors
/// Returns the first reason against worktrees.
pub fn check_worktrees(project_dir: &Path, home: &Path) -> Result<(), WorktreeError> {
    repeat_interrupted(|| check(project_dir, home))
}

fn check(project_dir: &Path, home: &Path) -> Result<(), WorktreeError> {
    let top = top_of(project_dir)?;
    let git = Git::new(&top);
    let commit = git.ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?;
    let Some(commit) = commit.map(text) else { return Err(WorktreeError::NoCommit(top)) };
    git.call(&["merge-tree", "--write-tree", &commit, &commit]).map_err(WorktreeError::OldGit)?;
    let files = changed_files(&git, &top, home)?;
    if files.is_empty() { Ok(()) } else { Err(WorktreeError::UncommittedWork { top, files }) }
}

/// Returns the top of the repository that contains a directory, with links resolved.
pub(super) fn top_of(dir: &Path) -> Result<PathBuf, WorktreeError> {
    let top = Git::new(dir).path(&["rev-parse", "--show-toplevel"]);
    let top = top.map_err(|error| match error.is_no_repository() {
        true => WorktreeError::NoRepository(dir.to_owned()),
        false => error.into(),
    })?;
    Ok(fs::canonicalize(&top).unwrap_or(top))
}

/// Returns the changed and the new files of the project, relative to its top. Ignored files and those of Longhaul
/// do not count, nor do playbooks.
pub(super) fn changed_files(git: &Git, top: &Path, home: &Path) -> Result<Vec<String>, GitError> {
    let home = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    let excluded: Vec<&Path> = home.strip_prefix(top).into_iter().collect();
    let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--", "."];
    let args = status.iter().map(Into::into).chain(pathspecs(&excluded));
    let args: Vec<OsString> = args.chain([NO_PLAYBOOK.into()]).collect();
    let output = git.call(&args)?;
    // Two letters of the state and a space precede each path.
    Ok(paths(&output)
        .map(|entry| String::from_utf8_lossy(&entry[3.min(entry.len())..]).into_owned())
        .collect())
}

pub(super) fn head(git: &Git) -> Result<String, GitError> {
    git.line(&["rev-parse", "--verify", "HEAD^{commit}"])
}

/// Returns the branch that is checked out. `None` for a detached head.
pub(super) fn current_branch(git: &Git) -> Result<Option<String>, GitError> {
    let head = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    Ok(head.map(text))
}

pub(super) fn is_ancestor(git: &Git, old: &str, new: &str) -> Result<bool, GitError> {
    Ok(git.ask(&["merge-base", "--is-ancestor", old, new])?.is_some())
}

/// Has ssh fail instead of asking a user who is not there, unless another command is configured.
pub(super) fn unattended(git: Git) -> Result<Git, GitError> {
    let is_configured = git.ask(&["config", "--get", "core.sshCommand"])?.is_some();
    Ok(if is_configured { git } else { git.with_variable("GIT_SSH_COMMAND", "ssh -oBatchMode=yes") })
}

/// Has git commit with the user's identity, if it is configured.
pub(super) fn identified(git: Git) -> Result<Git, GitError> {
    let configured = |key| git.ask(&["config", "--get", key]).map(|value| value.map(text));
    let (Some(name), Some(email)) = (configured("user.name")?, configured("user.email")?) else {
        return Ok(git);
    };
    Ok(git
        .with_variable("GIT_AUTHOR_NAME", &name)
        .with_variable("GIT_AUTHOR_EMAIL", &email)
        .with_variable("GIT_COMMITTER_NAME", &name)
        .with_variable("GIT_COMMITTER_EMAIL", &email))
}

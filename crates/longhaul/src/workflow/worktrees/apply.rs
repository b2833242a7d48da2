//! Moves the project to a merge. The intention is on disk before, so that a new supervisor completes a move that a
//! kill interrupted between two files.

use super::project::{current_branch, head};
use super::{WorktreeError, Worktrees};
use crate::git::{Git, GitError, paths};
use longhaul_store::{Durability, read_json_if_exists, remove_if_exists, replace, replace_json};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A move of the project, in progress as long as its file exists.
#[derive(Debug, Serialize, Deserialize)]
struct Move {
    base: String,
    /// Commit after, a descendant.
    tip: String,
    /// Branch that moves. `None` for a detached head.
    #[serde(default)]
    branch: Option<String>,
}

impl Worktrees {
    /// Moves the project's branch and files from `base` to `tip`. If a changed, new or ignored file of the user is in
    /// the way, or the user has committed meanwhile, it is an error and nothing has changed.
    pub(super) fn apply(&self, git: &Git, base: &str, tip: &str) -> Result<(), WorktreeError> {
        if base == tip {
            return Ok(());
        }
        self.check_unchanged(git, base, tip)?;
        let intended = Move { base: base.to_owned(), tip: tip.to_owned(), branch: current_branch(git)? };
        replace_json(&self.move_path(), &intended, Durability::Power)?;
        // Options of the branch such as `--squash` would lose results.
        let options = intended.branch.map(|branch| OsString::from(format!("branch.{branch}.mergeOptions=")));
        let moved = git.clone().with_settings(options.as_slice()).call(&[
            "merge",
            "--ff-only",
            "--quiet",
            "--no-stat",
            "--no-autostash",
            "--no-overwrite-ignore",
            "--no-verify-signatures",
            tip,
        ]);
        match moved {
            Ok(_) => self.end_move(),
            Err(error) if error.is_interrupted() => Err(error.into()),
            Err(error) => {
                // A full disk can end git between two files. The next call completes the move.
                if self.check_unchanged(git, base, tip).is_ok() {
                    self.end_move()?;
                }
                Err(error.into())
            }
        }
    }

    /// Checks that no file which a move changes has uncommitted changes.
    fn check_unchanged(&self, git: &Git, base: &str, tip: &str) -> Result<(), WorktreeError> {
        let moved = moved_paths(git, base, tip)?;
        let moved: BTreeSet<&[u8]> = paths(&moved).collect();
        let status = [
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules",
        ];
        let status = git.call(&status)?;
        // Two letters of the state and a space precede each path.
        let changed = paths(&status).filter_map(|entry| entry.get(3..)).filter(|path| moved.contains(path));
        let files: Vec<String> = changed.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        if files.is_empty() {
            Ok(())
        } else {
            Err(WorktreeError::UncommittedWork { top: self.top.clone(), files })
        }
    }

    /// Completes a move that was interrupted. Files with other content than before or after the move are a user's,
    /// and an error.
    pub(super) fn finish_apply(&self, git: &Git) -> Result<(), WorktreeError> {
        let Some(Move { base, tip, branch }) = read_json_if_exists("move", &self.move_path())? else {
            return Ok(());
        };
        if head(git)? == base && current_branch(git)? != branch {
            self.check_unchanged(git, &base, &tip)?;
        } else if head(git)? == base {
            let changed = moved_paths(git, &base, &tip)?;
            let changed: Vec<&[u8]> = paths(&changed).collect();
            let mut foreign = Vec::new();
            for path in &changed {
                if !self.is_of_move(git, path, &base, &tip)? {
                    foreign.push(String::from_utf8_lossy(path).into_owned());
                }
            }
            if !foreign.is_empty() {
                return Err(WorktreeError::UncommittedWork { top: self.top.clone(), files: foreign });
            }
            self.write_files(git, &base, &tip)?;
            git.call(&["update-ref", "-m", "longhaul: merge worktrees", "HEAD", &tip, &base])?;
        }
        self.end_move()
    }

    /// Returns whether a file is as before the move or as a move leaves it: complete, cut off or missing.
    fn is_of_move(&self, git: &Git, path: &[u8], base: &str, tip: &str) -> Result<bool, GitError> {
        let file = self.top.join(OsStr::from_bytes(path));
        let content = match fs::symlink_metadata(&file) {
            Ok(metadata) if metadata.is_symlink() => {
                fs::read_link(&file).map(|target| target.as_os_str().as_bytes().to_vec())
            }
            Ok(metadata) if metadata.is_file() => fs::read(&file),
            // A directory cannot replace a file of the move without being noticed by git.
            Ok(_) => return Ok(true),
            Err(error) => Err(error),
        };
        let Ok(content) = content else { return Ok(!file.exists()) };
        let of_commit = |commit: &str| {
            let object = [commit.as_bytes(), b":", path].concat();
            let args = [OsStr::new("cat-file"), OsStr::new("--filters"), OsStr::from_bytes(&object)];
            match git.call(&args) {
                Err(error) if error.is_interrupted() => Err(error),
                // The file may not exist in this commit.
                content => Ok(content.ok()),
            }
        };
        let is_after = of_commit(tip)?.is_some_and(|after| after.starts_with(&content));
        Ok(is_after || of_commit(base)?.is_some_and(|before| before == content))
    }

    /// Writes the files that differ between two commits, in the working directory and the index.
    fn write_files(&self, git: &Git, base: &str, tip: &str) -> Result<(), WorktreeError> {
        let git = git.clone().with_variable("GIT_LITERAL_PATHSPECS", "1");
        let differing = |filter: &str| {
            git.call(&["diff-tree", "-r", "-z", "--no-renames", "--name-only", filter, base, tip])
        };
        let (removed, written) = (differing("--diff-filter=D")?, differing("--diff-filter=d")?);
        let source = format!("--source={tip}");
        let remove = ["rm", "--quiet", "--force", "--ignore-unmatch"];
        let write = ["restore", "--quiet", "--staged", "--worktree", &source];
        for (list, args) in [(removed, &remove[..]), (written, &write[..])] {
            if list.is_empty() {
                continue;
            }
            let file = self.dir.join("paths");
            replace(&file, &list, Durability::Process)?;
            let from_file = format!("--pathspec-from-file={}", file.display());
            git.call(&[args, &[&from_file, "--pathspec-file-nul"]].concat())?;
        }
        Ok(())
    }

    fn end_move(&self) -> Result<(), WorktreeError> {
        Ok(remove_if_exists(&self.move_path())?)
    }

    pub(super) fn move_path(&self) -> PathBuf {
        self.dir.join(Path::new("move.json"))
    }
}

/// Returns the paths that differ between two commits, each followed by a null byte.
fn moved_paths(git: &Git, base: &str, tip: &str) -> Result<Vec<u8>, GitError> {
    git.call(&["diff-tree", "-r", "-z", "--no-renames", "--name-only", base, tip])
}

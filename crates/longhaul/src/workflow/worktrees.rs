//! Git worktrees of runs: each run of a phase with `isolation = "worktree"` works in a checkout of its own, on a
//! branch of its own. When all runs of the phase have ended, their results are merged into the project.
//!
//! Every operation can be repeated after a kill at any moment. A lock excludes a second operation: the git
//! processes inherit it, so that a new supervisor waits for those of a dead one. This module never changes a file
//! of the project that has uncommitted changes, and runs none of the repository's hooks.

mod apply;
mod error;
mod merge;
mod project;

pub use error::WorktreeError;
pub(super) use error::listed;
pub use project::check_worktrees;

use super::REPEAT_DELAY;
use crate::git::{Git, GitError, paths, text};
use longhaul_agent::Guards;
use longhaul_core::{RunId, RunSpec};
use longhaul_store::{
    Durability, StoreError, WorkflowDir, if_exists, read_json_if_exists, remove_dir, remove_if_exists,
    replace_json, worktree_branch,
};
use project::{changed_files, current_branch, head, identified, top_of, unattended};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

#[derive(Debug)]
pub(super) struct Worktrees {
    workflow: RunId,
    /// Top of the project's repository, with links resolved.
    top: PathBuf,
    home: PathBuf,
    /// Directory of the worktrees, with links resolved.
    dir: PathBuf,
}

/// A run of the phase that finished as `done`.
#[derive(Clone, Debug)]
pub(super) struct DoneRun {
    pub(super) run: RunId,
    /// Subject of the commit of its uncommitted changes.
    pub(super) title: String,
}

/// The state that a worktree started from. Its file exists once the worktree is complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct WorktreeStart {
    /// Commit.
    commit: String,
    /// Branch of the project. `None` for a detached head.
    branch: Option<String>,
    /// Whether its result is merged and its removal has started. Missing files are then no change of the run.
    #[serde(default)]
    is_merged: bool,
}

impl Worktrees {
    /// Prepares the directory of the worktrees. `home` is that of Longhaul.
    pub(super) fn open(
        project_dir: &Path,
        home: &Path,
        dir: &WorkflowDir,
    ) -> Result<Worktrees, WorktreeError> {
        Ok(Worktrees {
            workflow: dir.id().clone(),
            top: repeat_interrupted(|| top_of(project_dir))?,
            home: home.to_owned(),
            dir: dir.create_worktrees_dir()?,
        })
    }

    /// Returns the working directory of a run whose directory in the project is `cwd`. A directory outside of the
    /// project's repository stays as it is.
    pub(super) fn cwd_of(&self, run: &RunId, cwd: &Path) -> PathBuf {
        match cwd.strip_prefix(&self.top) {
            Ok(relative) => self.path(run).join(relative),
            Err(_) => cwd.to_owned(),
        }
    }

    /// Moves a run into its worktree. The paths that are blocked in the project are blocked in both.
    pub(super) fn move_run(&self, run: &RunId, spec: &mut RunSpec) {
        let cwd = self.cwd_of(run, &spec.cwd);
        // Invalid guards keep the run from starting.
        if let Ok(guards) = Guards::compile(&spec.guards, &spec.cwd) {
            let blocked = guards.block_paths.absolute_paths().map(PathBuf::from);
            let both = blocked.flat_map(|path| [self.cwd_of(run, &path), path]);
            // A blocked directory of the project can contain the worktrees.
            let usable = both.filter(|path| !cwd.starts_with(path));
            let texts: BTreeSet<String> = usable.map(|path| path.display().to_string()).collect();
            spec.guards.block_paths.extend(texts);
        }
        spec.cwd = cwd;
    }

    /// Creates the worktree of a run from the project's HEAD, with `cwd` in it. A worktree that is complete stays
    /// as it is. Blocks until other operations on the worktrees end.
    pub(super) fn create(&self, run: &RunId, cwd: &Path) -> Result<(), WorktreeError> {
        repeat_interrupted(|| self.try_create(run, cwd))
    }

    fn try_create(&self, run: &RunId, cwd: &Path) -> Result<(), WorktreeError> {
        let git = self.lock()?;
        let path = self.path(run);
        let known = self.start_of(run)?;
        if known.is_none() || !path.exists() {
            self.check_out(&git, run, known)?;
        }
        Ok(fs::create_dir_all(cwd).map_err(StoreError::io("create directory", cwd))?)
    }

    fn check_out(&self, git: &Git, run: &RunId, known: Option<WorktreeStart>) -> Result<(), WorktreeError> {
        let changed = changed_files(git, &self.top, &self.home)?;
        if !changed.is_empty() {
            return Err(WorktreeError::UncommittedWork { top: self.top.clone(), files: changed });
        }
        let path = self.path(run);
        let path_text = path.to_string_lossy();
        // A killed call may have left them. Usually there are none.
        self.discard(git, run)?;
        DirBuilder::new().mode(0o700).create(&path).map_err(StoreError::io("create directory", &path))?;
        let start = WorktreeStart { commit: head(git)?, branch: current_branch(git)?, is_merged: false };
        let branch = self.branch(run);
        let add = ["worktree", "add", "--quiet", "--force", "--force"];
        let of_branch = match known {
            Some(_) if self.tip(git, run)?.is_some() => vec![&*path_text, &branch],
            Some(_) | None => vec!["-B", &branch, &path_text, &start.commit],
        };
        git.call(&[&add[..], &of_branch].concat())?;
        self.write_start(run, &known.unwrap_or(start))
    }

    /// Removes a worktree with everything in it, git's entry of it, even a locked one, and the lock of its branch.
    fn discard(&self, git: &Git, run: &RunId) -> Result<(), WorktreeError> {
        let path = self.path(run);
        if_exists(remove_dir(&path)).map_err(StoreError::io("remove", &path))?;
        // There may be no entry.
        let _ = git.call(&["worktree", "remove", "--force", "--force", &path.to_string_lossy()]);
        Ok(remove_locks(git, &[&self.branch_ref(run)])?)
    }

    /// Removes a merged worktree and its branch. A worktree that git refuses to remove stays.
    fn remove(&self, git: &Git, run: &RunId) -> Result<(), WorktreeError> {
        let (path, Some(start)) = (self.path(run), self.start_of(run)?) else { return Ok(()) };
        if start.is_merged || !path.exists() {
            self.discard(git, run)?;
        } else {
            self.write_start(run, &WorktreeStart { is_merged: true, ..start.clone() })?;
            match git.call(&[Path::new("worktree"), Path::new("remove"), &path]) {
                Ok(_) => {}
                Err(error) if error.is_interrupted() => return Err(error.into()),
                Err(_) => match has_entry(git, &path) {
                    // Git could not remove some files. It has removed the others, and its entry.
                    Ok(false) => self.discard(git, run)?,
                    // It contains new files, and none was removed.
                    known => {
                        self.write_start(run, &start)?;
                        return Ok(known.map(drop)?);
                    }
                },
            }
        }
        let branch = self.branch_ref(run);
        if self.tip(git, run)?.is_some() {
            git.call(&["update-ref", "-d", &branch])?;
        }
        Ok(remove_if_exists(&self.start_path(run))?)
    }

    /// Returns the worktrees of these runs, which are merged, that could not be removed.
    pub(super) fn leftovers(&self, runs: &[DoneRun]) -> Vec<PathBuf> {
        let left = runs.iter().filter(|run| self.start_of(&run.run).ok().flatten().is_some());
        left.map(|run| self.path(&run.run)).filter(|path| path.exists()).collect()
    }

    /// Returns the worktrees of these runs that exist.
    pub(super) fn existing<'a>(&'a self, runs: &'a [RunId]) -> impl Iterator<Item = PathBuf> + 'a {
        runs.iter().map(|run| self.path(run)).filter(|path| path.exists())
    }

    /// Returns what a worktree started from. `None` if there is no complete worktree.
    fn start_of(&self, run: &RunId) -> Result<Option<WorktreeStart>, WorktreeError> {
        Ok(read_json_if_exists("worktree", &self.start_path(run))?)
    }

    fn write_start(&self, run: &RunId, start: &WorktreeStart) -> Result<(), WorktreeError> {
        Ok(replace_json(&self.start_path(run), start, Durability::Power)?)
    }

    /// Returns the last commit of a run's branch. `None` if the branch does not exist.
    fn tip(&self, git: &Git, run: &RunId) -> Result<Option<String>, WorktreeError> {
        let branch = self.branch_ref(run);
        Ok(git.ask(&["rev-parse", "--quiet", "--verify", &branch])?.map(text))
    }

    /// Waits for other operations, and returns git for the project. The lock lasts as long as the value and its
    /// processes.
    fn lock(&self) -> Result<Git, WorktreeError> {
        let path = self.dir.join("lock");
        let open = File::options().create(true).append(true).mode(0o600).open(&path);
        let file = open.and_then(|file| file.lock().map(|()| file)).map_err(StoreError::io("lock", &path))?;
        // Files of Git LFS are complete in a worktree, as in the project.
        let git = Git::new(&self.top).with_lock(Arc::new(file)).with_variable("GIT_LFS_SKIP_SMUDGE", "0");
        // A power loss after the merge must not lose its objects. Git's default does not write each of them to the disk.
        let git = git.with_settings(&["core.fsync=objects,derived-metadata,reference".into()]);
        Ok(identified(unattended(git)?)?)
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.dir.join(run.as_str())
    }

    fn start_path(&self, run: &RunId) -> PathBuf {
        self.dir.join(format!("{run}.json"))
    }

    fn branch(&self, run: &RunId) -> String {
        worktree_branch(&self.workflow, run.as_str())
    }

    fn branch_ref(&self, run: &RunId) -> String {
        format!("refs/heads/{}", self.branch(run))
    }
}

/// Repeats an operation once if a signal ended its git, and again without the lock that this git may have left.
fn repeat_interrupted<T>(operation: impl Fn() -> Result<T, WorktreeError>) -> Result<T, WorktreeError> {
    let result = operation();
    if !result.as_ref().is_err_and(WorktreeError::is_interrupted) {
        return result;
    }
    thread::sleep(REPEAT_DELAY);
    let result = operation();
    // A live git holds the lock of a reference for milliseconds, but that of the index while a person writes a message.
    let is_of_reference = |lock: &String| {
        let is_of_branch = lock.contains("/refs/heads/") && lock.ends_with(".lock");
        is_of_branch || lock.ends_with("HEAD.lock") || lock.ends_with("/packed-refs.lock")
    };
    let lock = result.as_ref().err().and_then(WorktreeError::lock).filter(is_of_reference);
    let Some(lock) = lock else { return result };
    drop(fs::remove_file(lock));
    operation()
}

/// Returns whether git knows a worktree with this real path.
fn has_entry(git: &Git, path: &Path) -> Result<bool, GitError> {
    let list = git.call(&["worktree", "list", "--porcelain", "-z"])?;
    Ok(paths(&list).any(|line| line.strip_prefix(b"worktree ") == Some(path.as_os_str().as_bytes())))
}

/// Removes the locks of these files of git. No process of git may be running that can hold them.
fn remove_locks(git: &Git, names: &[&str]) -> Result<(), GitError> {
    for name in names {
        let lock = format!("{name}.lock");
        // Usually there is none.
        let _ = fs::remove_file(git.path(&["rev-parse", "--path-format=absolute", "--git-path", &lock])?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

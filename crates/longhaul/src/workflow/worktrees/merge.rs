//! Merges the results of a phase in the order of its items. All merges are computed as git objects first; then the
//! project moves to the last one in a single step. A conflict leaves out one result, never the others.

use super::error::{listed, quoted};
use super::project::{current_branch, head, is_ancestor};
use super::{DoneRun, WorktreeError, WorktreeStart, Worktrees, remove_locks, repeat_interrupted};
use crate::git::{Git, GitError, paths};
use std::collections::BTreeSet;

/// The mode of an entry that names a commit of another repository.
const GITLINK_MODE: &str = "160000";
// Commits of the user while a merge is computed, each of which repeats it.
const REPEATS_MAX: u32 = 5;

/// The last commit of a merge, the runs that it contains, and the others.
type Merged<'a> = (String, Vec<&'a DoneRun>, Vec<(&'a DoneRun, Unmerged)>);

pub(super) enum Unmerged {
    /// Its branch conflicts with the project in these files.
    Conflicts(Vec<String>),
    /// The run left conflicts of its own in these files.
    OwnConflicts(Vec<String>),
    /// Its directory is gone, with what it did not commit.
    Gone {
        /// Whether its branch has commits.
        has_commits: bool,
    },
    /// It names commits of these repositories inside the worktree, which the project does not have.
    NestedWork(Vec<String>),
    /// The project is no longer on the branch that the worktree started from.
    OtherBranch(String),
    /// The commit that the worktree started from is no longer part of the project's branch.
    Rewritten,
    /// Git failed, or a file could not be read or written.
    Failed(WorktreeError),
}

impl Worktrees {
    /// Merges the results of these runs, and removes the worktrees of merged ones. Blocks until other operations on
    /// the worktrees end. Can be repeated: a merged result is never merged again.
    ///
    /// # Errors
    /// Returns for people what is not merged, and what to do in git.
    pub(in crate::workflow) fn merge(&self, runs: &[DoneRun]) -> Result<(), String> {
        let unmerged = repeat_interrupted(|| self.try_merge(runs)).map_err(|error| {
            let top = self.top.display();
            format!("cannot merge into {top}: {error}. {}, then resume the workflow", error.remedy())
        })?;
        if unmerged.is_empty() { Ok(()) } else { Err(self.explain(&unmerged, runs.len())) }
    }

    fn try_merge<'a>(&self, runs: &'a [DoneRun]) -> Result<Vec<(&'a DoneRun, Unmerged)>, WorktreeError> {
        let git = self.lock()?;
        self.finish_apply(&git)?;
        let mut repeats = 0;
        let (merged, unmerged) = loop {
            let base = head(&git)?;
            let (tip, merged, unmerged) = self.merge_objects(&git, runs, &base)?;
            match self.apply(&git, &base, &tip) {
                Ok(()) => break (merged, unmerged),
                // The user has committed meanwhile.
                Err(_) if repeats < REPEATS_MAX && head(&git)? != base => repeats += 1,
                Err(error) => return Err(error),
            }
        };
        for run in merged {
            match self.remove(&git, &run.run) {
                // The work is merged, so that leftover files are only worth a warning.
                Err(WorktreeError::Store(_)) => {}
                removed => removed?,
            }
        }
        Ok(unmerged)
    }

    /// Merges the results into `base` as objects. Returns the last commit, the merged runs and the others.
    fn merge_objects<'a>(
        &self,
        git: &Git,
        runs: &'a [DoneRun],
        base: &str,
    ) -> Result<Merged<'a>, WorktreeError> {
        let (mut tip, mut merged, mut unmerged) = (base.to_owned(), Vec::new(), Vec::new());
        for run in runs {
            match self.merge_run(git, run, base, &tip) {
                Ok(next) => {
                    tip = next;
                    merged.push(run);
                }
                Err(Unmerged::Failed(error)) if error.is_interrupted() || error.lock().is_some() => {
                    return Err(error);
                }
                Err(reason) => unmerged.push((run, reason)),
            }
        }
        Ok((tip, merged, unmerged))
    }

    /// Returns the commit that contains `tip` and the run's result: `tip` itself if the result was merged before, or the
    /// user removed the worktree with its branch.
    fn merge_run(&self, git: &Git, run: &DoneRun, base: &str, tip: &str) -> Result<String, Unmerged> {
        let Some(start) = self.start_of(&run.run)?.filter(|start| !start.is_merged) else {
            return Ok(tip.to_owned());
        };
        let result = if self.path(&run.run).exists() {
            self.commit_result(git, run)?
        } else {
            let Some(committed) = self.tip(git, &run.run)? else { return Ok(tip.to_owned()) };
            let has_commits = committed != start.commit;
            if !has_commits || !is_ancestor(git, &committed, tip)? {
                return Err(Unmerged::Gone { has_commits });
            }
            committed
        };
        if is_ancestor(git, &result, tip)? {
            return Ok(tip.to_owned());
        }
        check_start(git, &start, base)?;
        let nested = self.missing_nested_commits(git, &start.commit, &result)?;
        if !nested.is_empty() {
            return Err(Unmerged::NestedWork(nested));
        }
        if is_ancestor(git, tip, &result)? {
            return Ok(result);
        }
        let merge = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", tip, &result];
        let merged = git.decide(&merge)?;
        let (Ok(output) | Err(output)) = &merged;
        let mut lines = paths(output).map(|line| String::from_utf8_lossy(line).into_owned());
        let tree = lines.next().unwrap_or_default();
        if merged.is_err() {
            // A file appears once for each side.
            let files: BTreeSet<String> = lines.collect();
            return Err(Unmerged::Conflicts(files.into_iter().collect()));
        }
        let message = format!("Merge branch '{}'\n\n{}", self.branch(&run.run), run.title);
        Ok(git.line(&["commit-tree", &tree, "-p", tip, "-p", &result, "-m", &message])?)
    }

    /// Returns the submodules and other repositories whose commit a result changed to one that the project does not
    /// have. No git runs in these repositories, because an agent can have configured commands in them.
    fn missing_nested_commits(&self, git: &Git, start: &str, result: &str) -> Result<Vec<String>, GitError> {
        let changed = git.call(&["diff-tree", "-r", "-z", "--ignore-submodules=none", start, result])?;
        let mut missing = Vec::new();
        let mut parts = paths(&changed).map(|part| String::from_utf8_lossy(part).into_owned());
        // Each change has two parts: `:100644 160000 OLD NEW M` and the path.
        while let (Some(change), Some(path)) = (parts.next(), parts.next()) {
            let fields: Vec<&str> = change.split(' ').collect();
            let [_, GITLINK_MODE, _, commit, _] = fields[..] else { continue };
            let own = self.top.join(&path);
            if !own.join(".git").exists() || git.in_dir(&own).ask(&["cat-file", "-e", commit])?.is_none() {
                missing.push(path);
            }
        }
        Ok(missing)
    }

    /// Commits what the run left uncommitted, and returns its last commit, which its branch then names.
    pub(super) fn commit_result(&self, git: &Git, run: &DoneRun) -> Result<String, Unmerged> {
        let worktree = git.in_dir(&self.path(&run.run));
        let conflicts = worktree.call(&["diff", "--name-only", "-z", "--diff-filter=U"])?;
        if !conflicts.is_empty() {
            let files = paths(&conflicts).map(|path| String::from_utf8_lossy(path).into_owned());
            return Err(Unmerged::OwnConflicts(files.collect()));
        }
        // The run has ended with all its processes.
        remove_locks(&worktree, &["index", "HEAD", &self.branch_ref(&run.run)])?;
        worktree.call(&["add", "--all"])?;
        if worktree.ask(&["diff", "--cached", "--quiet"])?.is_none() {
            let message = format!("{}\n\nUncommitted changes of the Longhaul run {}", run.title, run.run);
            let commit =
                ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "-m", &message];
            worktree.call(&commit)?;
        }
        let result = head(&worktree)?;
        if self.tip(git, &run.run)?.as_ref() != Some(&result) {
            git.call(&["update-ref", &self.branch_ref(&run.run), &result])?;
        }
        Ok(result)
    }

    /// Says for people which results are not merged, why, and what to do in git.
    fn explain(&self, unmerged: &[(&DoneRun, Unmerged)], count: usize) -> String {
        let top = quoted(&self.top.to_string_lossy());
        let mut text = format!("{} of {count} results are not merged.", unmerged.len());
        for (run, reason) in unmerged {
            let branch = self.branch(&run.run);
            let git_merge = format!("`git -C {top} merge {branch}`");
            text += &match reason {
                Unmerged::Conflicts(files) => format!(
                    " {branch} conflicts in {}: type {git_merge}, resolve the conflicts and commit.",
                    listed(files)
                ),
                Unmerged::OwnConflicts(files) => format!(
                    " The run left conflicts in {}: resolve and commit them in {}.",
                    listed(files),
                    self.path(&run.run).display()
                ),
                Unmerged::Gone { has_commits } => {
                    let drop = format!("`git -C {top} worktree prune && git -C {top} branch -D {branch}`");
                    let path = self.path(&run.run);
                    let gone = format!(
                        " The worktree {} is gone, with what {} did not commit",
                        path.display(),
                        run.run
                    );
                    match has_commits {
                        true => {
                            format!("{gone}: to keep its commits, type {git_merge}; to drop them, {drop}.")
                        }
                        false => format!(
                            "{gone}, and {branch} has no commit of it: to continue without it, type {drop}."
                        ),
                    }
                }
                Unmerged::NestedWork(repositories) => format!(
                    " {branch} names commits of {} that the project does not have: fetch them into its submodules, \
                     for example from {}, or commit the files themselves.",
                    listed(repositories),
                    self.path(&run.run).display()
                ),
                Unmerged::OtherBranch(branch) => {
                    format!(
                        " The project is on another branch: type `git -C {top} switch {}`.",
                        quoted(branch)
                    )
                }
                Unmerged::Rewritten => format!(
                    " The history that {branch} started from was rewritten: type {git_merge}, or pick its commits."
                ),
                Unmerged::Failed(error) => format!(" {branch}: {error}. {}.", error.remedy()),
            };
        }
        text + " Then resume the workflow."
    }
}

/// Checks that the project is where the worktree started, or later.
fn check_start(git: &Git, start: &WorktreeStart, base: &str) -> Result<(), Unmerged> {
    if let Some(branch) = &start.branch
        && current_branch(git)?.as_ref() != Some(branch)
    {
        return Err(Unmerged::OtherBranch(branch.clone()));
    }
    if is_ancestor(git, &start.commit, base)? { Ok(()) } else { Err(Unmerged::Rewritten) }
}

impl From<GitError> for Unmerged {
    fn from(error: GitError) -> Unmerged {
        Unmerged::Failed(error.into())
    }
}

impl From<WorktreeError> for Unmerged {
    fn from(error: WorktreeError) -> Unmerged {
        Unmerged::Failed(error)
    }
}

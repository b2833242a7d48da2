//! Copies a task's directory for the agent. The copy is made next to the runs, so that a run can take it over
//! by renaming it.

use super::INPUT;
use super::task::Task;
use crate::failure::{Failure, OrFailure};
use longhaul::create_repository;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{self, Path, PathBuf};
use std::process;
use tempfile::TempDir;

// Permissions that the owner needs to work in a directory, whatever it had before.
const OWNER_MODE: u32 = 0o700;

/// Identity of commits if git has none configured. ResearchGym uses the same one.
const IDENTITY: [(&str, &str); 2] =
    [("user.email", "agent@researchgym.local"), ("user.name", "ResearchGym Agent")];

/// Copies the visible files of the task and creates a repository in the copy.
pub fn prepare(task: &Task, runs: &Path) -> Result<TempDir, Failure> {
    let check = |runs: &Path| match runs.starts_with(&task.files) {
        true => Err(Failure::usage(
            format!(
                "cannot keep runs in {}: it is inside the task's directory, which each run copies",
                runs.display()
            ),
            "name a directory outside of it with --runs_dir",
        )),
        false => Ok(()),
    };
    // The task's directory never changes, so it is checked before the directory is created, and links afterwards.
    check(&path::absolute(runs).unwrap_or_else(|_| runs.to_owned()))?;
    let created =
        DirBuilder::new().recursive(true).mode(OWNER_MODE).create(runs).and_then(|()| fs::canonicalize(runs));
    let runs = created
        .or_usage(format!("cannot keep runs in {}", runs.display()), "name a directory with --runs_dir")?;
    check(&runs)?;
    // `gc` removes a directory of this name if this process was killed.
    let (prefix, mode) = (format!(".workspace.{}-", process::id()), PermissionsExt::from_mode(OWNER_MODE));
    let mut builder = tempfile::Builder::new();
    let workspace = builder.prefix(&prefix).suffix(".new").permissions(mode).tempdir_in(&runs);
    let workspace = workspace.map_err(|error| copy_failure(&runs, &error))?;
    let input = workspace.path().join(INPUT);
    TaskCopy { task, parents: Vec::new() }.folder(&task.files, &input)?;
    // Agents commit their work.
    create_repository(&input, &IDENTITY)
        .or_not_started("cannot create a git repository in the workspace", "check that `git init` works")?;
    Ok(workspace)
}

fn copy_failure(path: &Path, error: &io::Error) -> Failure {
    let hint = "fix the cause; nothing was started, and the partial copy was removed";
    Failure::not_started(format!("cannot copy the task: {}: {error}", path.display()), hint)
}

struct TaskCopy<'a> {
    task: &'a Task,
    /// The directories that are being copied, with links resolved.
    parents: Vec<PathBuf>,
}

impl TaskCopy<'_> {
    fn folder(&mut self, from: &Path, to: &Path) -> Result<(), Failure> {
        let failure = |error: io::Error| copy_failure(from, &error);
        let real = fs::canonicalize(from).map_err(failure)?;
        if self.parents.contains(&real) {
            return Err(failure(io::Error::other("this link leads to one of its parent directories")));
        }
        self.parents.push(real);
        fs::create_dir(to).map_err(failure)?;
        for entry in fs::read_dir(from).map_err(failure)? {
            let name = entry.map_err(failure)?.file_name();
            if self.task.shows(&name) {
                self.entry(&from.join(&name), &to.join(&name))?;
            }
        }
        self.parents.pop();
        let mode = fs::metadata(from).map_err(failure)?.permissions().mode() | OWNER_MODE;
        fs::set_permissions(to, PermissionsExt::from_mode(mode)).map_err(failure)
    }

    fn entry(&mut self, from: &Path, to: &Path) -> Result<(), Failure> {
        let failure = |error: io::Error| copy_failure(from, &error);
        if let Ok(target) = fs::read_link(from)
            && self.stays_inside(from, &target)
        {
            return symlink(target, to).map_err(failure);
        }
        // A link that leads out of the task is replaced by a copy of its target, because the agent must not
        // change the original.
        let metadata = fs::metadata(from).map_err(failure)?;
        if metadata.is_dir() {
            return self.folder(from, to);
        }
        if !metadata.is_file() {
            return Err(failure(io::Error::other("it is neither a file nor a directory")));
        }
        fs::copy(from, to).map(drop).map_err(failure)
    }

    /// Returns whether a link leads to a file that is copied too, by a relative path. A dangling link is
    /// kept.
    fn stays_inside(&self, link: &Path, target: &Path) -> bool {
        let real = fs::canonicalize(link);
        let inside = real.as_ref().is_ok_and(|real| {
            let rest = real.strip_prefix(&self.task.files);
            rest.is_ok_and(|rest| rest.iter().all(|name| self.task.shows(name)))
        });
        target.is_relative() && (inside || real.is_err())
    }
}

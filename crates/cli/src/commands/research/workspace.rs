//! The copy of a task's folder that the agent works in, made beside the runs so that a run can take it in whole.

use super::INPUT;
use super::task::Task;
use crate::failure::Failure;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

// What the owner needs to work in a folder, whatever it was before.
const OWN: u32 = 0o700;

/// What binds git to another repository than that of its directory.
const FOREIGN: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"];

/// The identity of commits where git knows none: ResearchGym's own.
const IDENTITY: [(&str, &str); 2] =
    [("user.email", "agent@researchgym.local"), ("user.name", "ResearchGym Agent")];

/// Copies what the agent is to see of the task, and makes a repository of it.
pub fn prepare(task: &Task, runs: &Path) -> Result<TempDir, Failure> {
    let made = DirBuilder::new().recursive(true).mode(OWN).create(runs).and_then(|()| fs::canonicalize(runs));
    let runs = made.map_err(|error| {
        Failure::usage(
            format!("keep runs in {}: {error}", runs.display()),
            "name a directory with --runs_dir",
        )
    })?;
    if runs.starts_with(&task.files) {
        return Err(Failure::usage(
            format!(
                "keep runs in {}: that is in the folder of the task, which each run copies",
                runs.display()
            ),
            "name a directory outside of it with --runs_dir",
        ));
    }
    let mut named = tempfile::Builder::new();
    let workspace = named.prefix(".workspace-").permissions(PermissionsExt::from_mode(OWN)).tempdir_in(&runs);
    let workspace = workspace.map_err(|error| refused(&runs, &error))?;
    let input = workspace.path().join(INPUT);
    TaskCopy { task, above: Vec::new() }.folder(&task.files, &input)?;
    init(&input)?;
    Ok(workspace)
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    let hint = "see to the cause; nothing was started, and what was copied is removed";
    Failure::not_started(format!("copy the task: {}: {error}", path.display()), hint, None)
}

struct TaskCopy<'a> {
    task: &'a Task,
    /// The folders that are being copied, links resolved.
    above: Vec<PathBuf>,
}

impl TaskCopy<'_> {
    fn folder(&mut self, from: &Path, to: &Path) -> Result<(), Failure> {
        let refuse = |error: io::Error| refused(from, &error);
        let real = fs::canonicalize(from).map_err(refuse)?;
        if self.above.contains(&real) {
            return Err(refuse(io::Error::other("this link leads to a folder that it is in")));
        }
        self.above.push(real);
        fs::create_dir(to).map_err(refuse)?;
        for entry in fs::read_dir(from).map_err(refuse)? {
            let name = entry.map_err(refuse)?.file_name();
            if self.task.shows(&name) {
                self.entry(&from.join(&name), &to.join(&name))?;
            }
        }
        self.above.pop();
        let mode = fs::metadata(from).map_err(refuse)?.permissions().mode() | OWN;
        fs::set_permissions(to, PermissionsExt::from_mode(mode)).map_err(refuse)
    }

    fn entry(&mut self, from: &Path, to: &Path) -> Result<(), Failure> {
        let refuse = |error: io::Error| refused(from, &error);
        let found = fs::symlink_metadata(from).map_err(refuse)?;
        // What a link leads to outside of the task is copied: the agent must not change the original.
        match fs::read_link(from) {
            Ok(target) if self.stays_inside(from, &target) => symlink(target, to).map_err(refuse),
            Ok(_) => self.plain(from, to, &fs::metadata(from).map_err(refuse)?),
            Err(_) => self.plain(from, to, &found),
        }
    }

    fn plain(&mut self, from: &Path, to: &Path, found: &Metadata) -> Result<(), Failure> {
        if found.is_dir() {
            return self.folder(from, to);
        }
        if !found.is_file() {
            return Err(refused(from, &io::Error::other("it is neither a file nor a folder")));
        }
        fs::copy(from, to).map(drop).map_err(|error| refused(from, &error))
    }

    /// Whether a link leads to something that is copied, too, and says so in a way that holds for the copy. One that
    /// leads nowhere is kept as it is.
    fn stays_inside(&self, link: &Path, target: &Path) -> bool {
        let real = fs::canonicalize(link);
        let inside = real.as_ref().is_ok_and(|real| {
            let rest = real.strip_prefix(&self.task.files);
            rest.is_ok_and(|rest| rest.iter().all(|name| self.task.shows(name)))
        });
        target.is_relative() && (inside || real.is_err())
    }
}

/// Makes a repository: agents commit their work. An identity that git knows stays.
fn init(input: &Path) -> Result<(), Failure> {
    git(input, &["init", "--quiet"])?;
    for (key, value) in IDENTITY {
        if git(input, &["config", "--default", "", "--get", key])?.is_empty() {
            git(input, &["config", key, value])?;
        }
    }
    Ok(())
}

/// Runs git in the workspace and returns what it prints.
fn git(input: &Path, args: &[&str]) -> Result<String, Failure> {
    let mut git = Command::new("git");
    for name in FOREIGN {
        git.env_remove(name);
    }
    let ended = git.args(args).current_dir(input).stdin(Stdio::null()).output();
    let refused = |why: String| {
        Failure::not_started(
            format!("cannot make a repository of the workspace: {why}"),
            "see whether `git init` works",
            None,
        )
    };
    match ended {
        Ok(ended) if ended.status.success() => Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned()),
        Ok(ended) => Err(refused(String::from_utf8_lossy(&ended.stderr).trim().to_owned())),
        Err(error) => Err(refused(format!("cannot start git: {error}"))),
    }
}

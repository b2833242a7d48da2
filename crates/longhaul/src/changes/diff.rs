//! Compares a run's workspace at its start with its end, or with the current workspace. It changes neither
//! the run nor the workspace.

use super::stats::{self, ChangedFile, compare};
use super::{ChangesError, excluded, workspace_tree};
use crate::clock::calendar_now;
use crate::git::{ScratchRepo, UserRepo, paths};
use longhaul_core::Run;
use longhaul_store::{
    DiffStat, Home, Journal, Plan, RunBoundary, RunDir, StoreError, UnrecordedReason, WorkspaceState,
};
use std::ffi::OsString;
use std::path::PathBuf;
use tempfile::TempDir;

/// The changes of a run.
pub struct WorkspaceDiff {
    /// State before any process of the run started.
    pub from: WorkspaceState,
    /// State when the run finished, or the current state.
    pub to: WorkspaceState,
    /// Why `to` is the current state. `None` if it is the recorded end.
    pub live: Option<LiveReason>,
    /// Files that differ between the two states.
    pub files: Vec<ChangedFile>,
    /// Commits in between, the oldest first. `None` if the history was rewritten or is missing.
    pub commits: Option<Vec<Commit>>,
    top: PathBuf,
    scratch_repo: ScratchRepo,
    paths: Vec<OsString>,
    _scratch: TempDir,
}

/// The reason why a run is compared with the current workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveReason {
    /// The run is not finished.
    NotFinished,
    /// The run is finished, but its end could not be recorded, for this reason.
    Unrecorded(Option<UnrecordedReason>),
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Commit {
    /// Full hash.
    pub id: String,
    /// First line of the message.
    pub subject: String,
}

/// The output format of the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffFormat {
    /// A patch.
    Patch {
        /// Whether the patch includes binary files, so that it can be applied.
        binary: bool,
    },
    /// The files, each with a bar for its number of changed lines.
    Stat {
        /// Line width in characters.
        width: usize,
    },
    /// The names of the files.
    NameOnly,
}

/// Compares the run of this directory in these paths, which are pathspecs relative to the top of its
/// repository. An empty list selects everything.
///
/// # Errors
/// Returns [`ChangesError::Unrecorded`] if the run's start is not recorded. Also returns an error if the
/// run's files cannot be read, if its workspace is no longer in a repository, or if git fails.
pub async fn diff(home: &Home, dir: &RunDir, paths: Vec<OsString>) -> Result<WorkspaceDiff, ChangesError> {
    let history = Journal::load(&dir.journal_path())?;
    let run = Run::replay(history.records());
    let record = dir.changes()?.filter(|record| {
        record.start.is_valid() && record.end.as_ref().is_none_or(|end| end.state.is_valid())
    });
    let record = record.ok_or(ChangesError::Unrecorded(UnrecordedReason::NotWritten))?;
    if record.start.tree.is_none() {
        return Err(ChangesError::Unrecorded(
            record.start.unrecorded_reason.unwrap_or(UnrecordedReason::NotWritten),
        ));
    }
    let plan = dir.plan()?;
    let cwd = plan.spec.cwd.as_path();
    let moved = || ChangesError::WorkspaceMoved(cwd.to_owned());
    let workspace = UserRepo::find(cwd).await?;
    let has_workspace = workspace.is_some();
    let repository = match workspace {
        Some(repository) => repository,
        // A merged worktree is gone, but its project has the same objects.
        None => UserRepo::find(&project_dir(home, &plan).ok_or_else(moved)?).await?.ok_or_else(moved)?,
    };
    let scratch = tempfile::tempdir().map_err(StoreError::io("write", &std::env::temp_dir()))?;
    let objects = [RunBoundary::Start, RunBoundary::End].map(|boundary| dir.objects_path(boundary));
    let scratch_repo = ScratchRepo::create(scratch.path(), &repository, &[&objects[0], &objects[1]])?;
    let is_finished = run.state().outcome().is_some();
    let (to, live) = match record.end(run.state().reopen_count).filter(|_| is_finished) {
        Some(end) => (end.state.clone(), None),
        None if !has_workspace => return Err(moved()),
        None => {
            let excluded = excluded(home, dir, &repository)?;
            let current =
                workspace_tree::capture(&repository, &scratch_repo, &excluded, calendar_now()).await?;
            let unrecorded = record.end.as_ref().and_then(|end| end.state.unrecorded_reason);
            (
                current,
                Some(if is_finished { LiveReason::Unrecorded(unrecorded) } else { LiveReason::NotFinished }),
            )
        }
    };
    let files = stats::changed_files(&scratch_repo, &record.start, &to, &paths).await?;
    let commits = commits(&scratch_repo, record.start.head.as_deref(), to.head.as_deref()).await;
    Ok(WorkspaceDiff {
        from: record.start,
        to,
        live,
        files,
        commits,
        top: repository.top,
        scratch_repo,
        paths,
        _scratch: scratch,
    })
}

/// Returns the project of the run's workflow, if it belongs to one.
fn project_dir(home: &Home, plan: &Plan) -> Option<PathBuf> {
    let workflow = home.find_workflow(plan.workflow.as_ref()?.id.as_str()).ok()??;
    Some(workflow.plan().ok()?.project_dir.as_path().to_owned())
}

impl WorkspaceDiff {
    pub(crate) fn changed_paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| self.top.join(file.path.as_path())).collect()
    }

    /// Returns the totals of all files.
    pub fn stat(&self) -> DiffStat {
        stats::sum(&self.files)
    }

    /// Returns git's output for the changes, without colors.
    ///
    /// # Errors
    /// Returns an error if an object is missing.
    pub async fn render(&self, format: DiffFormat) -> Result<Vec<u8>, ChangesError> {
        let format = match format {
            DiffFormat::Patch { binary: false } => "--patch".to_owned(),
            DiffFormat::Patch { binary: true } => "--binary".to_owned(),
            DiffFormat::Stat { width } => format!("--stat={width}"),
            DiffFormat::NameOnly => "--name-only".to_owned(),
        };
        Ok(compare(&self.scratch_repo, &self.from, &self.to, &self.paths, &[&format]).await?)
    }
}

/// Returns the commits between the two, or `None` if the second does not descend from the first or git lacks
/// one of them.
async fn commits(scratch_repo: &ScratchRepo, start: Option<&str>, end: Option<&str>) -> Option<Vec<Commit>> {
    let git = &scratch_repo.git;
    let range = match (start, end) {
        (start, end) if start == end => return Some(Vec::new()),
        (_, None) => return None,
        (None, Some(end)) => end.to_owned(),
        (Some(start), Some(end)) => {
            git.ask_async(&["merge-base", "--is-ancestor", start, end]).await.ok()??;
            format!("{start}..{end}")
        }
    };
    let log = git
        .call_async(&["log", "-z", "--reverse", "--no-color", "--format=%H %s", &range, "--"])
        .await
        .ok()?;
    let commits = paths(&log).map(|line| {
        let line = String::from_utf8_lossy(line);
        let (id, subject) = line.split_once(' ').unwrap_or((&line, ""));
        Commit { id: id.to_owned(), subject: subject.to_owned() }
    });
    Some(commits.collect())
}

//! Records the changes of a run in its workspace with git. It records the workspace's state before the run
//! starts any process and after the run finishes. [`diff()`] compares the two states later.
//!
//! Git reads only the layout, the checked-out commit and a few settings from the user's repository
//! (`UserRepo`). Everything else uses a scratch repository (`ScratchRepo`), which borrows the user's
//! objects. It runs none of the hooks, filters and other programs that the repository's files may name,
//! because an agent can write those files. Nothing is written to the user's repository, not even an object.
//! Uncommitted content is stored in the run's directory.
//!
//! Nothing in this module fails a run or delays it for long. A state that cannot be recorded in time is
//! omitted, and the omission is recorded.

mod diff;
mod error;
mod stats;
mod workspace_tree;

pub use diff::{Commit, DiffFormat, LiveReason, WorkspaceDiff, diff};
pub use error::ChangesError;
pub use longhaul_store::{
    DiffStat, RunBoundary, UnrecordedReason, WorkspaceEnd, WorkspaceRecord, WorkspaceState,
};
pub use stats::{ChangeKind, ChangedFile};

use crate::clock::calendar_now;
use crate::git::{ScratchRepo, UserRepo};
use longhaul_core::Moment;
use longhaul_store::{Home, RunDir, StoreError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, process};
use tempfile::{Builder, TempDir};
use tokio::time::Instant;

// The agent starts only after this. A repository of 20,000 files with few uncommitted changes takes a tenth
// of a second. Tests share the machine with others.
const START_TIME_MAX: Duration = Duration::from_secs(if cfg!(feature = "failpoints") { 15 } else { 2 });
// The agent has exited, but a user may be waiting for the outcome.
const END_TIME_MAX: Duration = Duration::from_secs(if cfg!(feature = "failpoints") { 15 } else { 5 });

pub(crate) async fn record_start(home: &Home, dir: &RunDir, cwd: &Path) {
    let at = calendar_now();
    let deadline = Instant::now() + START_TIME_MAX;
    let start = match with_deadline(deadline, find_repository(cwd)).await {
        Ok(repository) => {
            let captured = with_deadline(deadline, CapturedState::capture(home, dir, &repository, at)).await;
            captured.and_then(|captured| captured.store(dir, RunBoundary::Start)).unwrap_or_else(|error| {
                WorkspaceState {
                    // A user who needs the difference can still start from the commit.
                    head: repository.head.clone(),
                    branch: repository.branch.clone(),
                    ..unrecorded(at, &error)
                }
            })
        }
        Err(error) => unrecorded(at, &error),
    };
    let _ = dir.write_changes(&WorkspaceRecord { start, end: None });
}

/// Records the workspace of a finished run, unless a supervisor that died has already recorded it. The run
/// was resumed `resume_generation` times.
pub(crate) async fn record_end(home: &Home, dir: &RunDir, cwd: &Path, resume_generation: u32) {
    let Ok(Some(record)) = dir.changes() else { return };
    if record.start.tree.is_none() || !record.start.is_valid() || record.end(resume_generation).is_some() {
        return;
    }
    let at = calendar_now();
    let capture = async {
        let repository = find_repository(cwd).await?;
        let state = CapturedState::capture(home, dir, &repository, at).await?;
        let files = stats::changed_files(&state.scratch_repo, &record.start, &state.state, &[]).await.ok();
        Ok((state.store(dir, RunBoundary::End)?, files.map(|files| stats::sum(&files))))
    };
    let captured = with_deadline(Instant::now() + END_TIME_MAX, capture).await;
    let (state, changed) = captured.unwrap_or_else(|error| (unrecorded(at, &error), None));
    let end = Some(WorkspaceEnd { state, resume_generation, changed });
    let _ = dir.write_changes(&WorkspaceRecord { end, ..record });
}

async fn find_repository(cwd: &Path) -> Result<UserRepo, ChangesError> {
    UserRepo::find(cwd).await?.ok_or(ChangesError::Unrecorded(UnrecordedReason::NotInGit))
}

/// Returns the result of `capture`, or [`UnrecordedReason::TooSlow`] if it misses the deadline.
async fn with_deadline<T>(
    deadline: Instant,
    capture: impl Future<Output = Result<T, ChangesError>>,
) -> Result<T, ChangesError> {
    let captured = tokio::time::timeout_at(deadline, capture).await;
    captured.unwrap_or(Err(ChangesError::Unrecorded(UnrecordedReason::TooSlow)))
}

struct CapturedState {
    state: WorkspaceState,
    scratch_repo: ScratchRepo,
    _scratch: TempDir,
}

impl CapturedState {
    async fn capture(
        home: &Home,
        dir: &RunDir,
        repository: &UserRepo,
        at: Moment,
    ) -> Result<CapturedState, ChangesError> {
        let scratch = scratch(dir)?;
        let scratch_repo =
            ScratchRepo::create(scratch.path(), repository, &[&dir.objects_path(RunBoundary::Start)])?;
        let state =
            workspace_tree::capture(repository, &scratch_repo, &excluded(home, dir, repository)?, at).await?;
        Ok(CapturedState { state, scratch_repo, _scratch: scratch })
    }

    /// Stores the objects that git wrote for this state in the run's directory.
    fn store(self, dir: &RunDir, boundary: RunBoundary) -> Result<WorkspaceState, ChangesError> {
        if let Some(objects) = self.scratch_repo.new_objects()? {
            dir.store_objects(boundary, objects)?;
        }
        Ok(self.state)
    }
}

fn unrecorded(at: Moment, error: &ChangesError) -> WorkspaceState {
    let (reason, git_error) = error.describe();
    WorkspaceState::unrecorded(at, reason, git_error)
}

/// Creates a temporary directory. Its name lets the next supervisor recognize and delete it.
fn scratch(dir: &RunDir) -> Result<TempDir, ChangesError> {
    let prefix = format!(".changes.{}-", process::id());
    let scratch = Builder::new().prefix(&prefix).suffix(".new").tempdir_in(dir.path());
    Ok(scratch.map_err(StoreError::io("write", dir.path()))?)
}

/// Returns the paths in the repository that hold run records, relative to its top. They include this run's
/// directory.
fn excluded(home: &Home, dir: &RunDir, repository: &UserRepo) -> Result<Vec<PathBuf>, ChangesError> {
    let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (home, run) = (canonical(home.path()), canonical(dir.path()));
    let relative_to_top = |path: &Path| {
        Some(path.strip_prefix(&repository.top).ok()?.to_owned()).filter(|path| path.iter().next().is_some())
    };
    if relative_to_top(&home).is_some() && repository.cwd.starts_with(&home) {
        return Err(ChangesError::Unrecorded(UnrecordedReason::NotInGit));
    }
    let runs = run.ancestors().nth(2).filter(|runs| !repository.cwd.starts_with(runs));
    Ok([Some(home.as_path()), runs, Some(&run)].into_iter().flatten().filter_map(relative_to_top).collect())
}

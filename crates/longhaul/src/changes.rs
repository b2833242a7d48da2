//! What a run changes in its workspace, by git: the workspace's state is recorded before anything of the run is
//! started and when it is over, and somebody who looks later compares the two.
//!
//! The user's repository is asked where things are and what is checked out, and for a handful of settings
//! (`repository.rs`). All else is done by a repository of ours (`ours.rs`), which borrows its objects and has neither
//! its hooks nor its filters nor any other program that its files may name: an agent can write those. Nothing is written
//! to it, not even an object. What is not committed goes into the run's directory.
//!
//! Nothing here fails a run or keeps it waiting for long: what cannot be recorded in time is left out, and that is
//! recorded.

mod diff;
mod error;
mod git;
mod repository;
mod scratch_repo;
mod stats;
mod workspace_tree;

pub use diff::{Commit, DiffFormat, LiveReason, WorkspaceDiff, diff};
pub use error::ChangesError;
pub use stats::{ChangeKind, ChangedFile};

use crate::live::LiveClock;
use longhaul_core::Moment;
use longhaul_store::{
    Home, RunBoundary, RunDir, UnrecordedReason, WorkspaceEnd, WorkspaceRecord, WorkspaceState,
};
use repository::UserRepo;
use scratch_repo::ScratchRepo;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, process};
use tempfile::{Builder, TempDir};
use tokio::time::Instant;

// The agent waits for it. A repository of 20,000 files in which little is uncommitted takes a tenth of a second.
const BEGINNING_MAX: Duration = Duration::from_secs(2);
// Nobody works any more, but somebody may be waiting to be told.
const END_MAX: Duration = Duration::from_secs(5);

/// Records the workspace of a run that begins in `cwd`.
pub(crate) async fn record_start(home: &Home, dir: &RunDir, cwd: &Path) {
    let at = LiveClock::new().now().at;
    let end = Instant::now() + BEGINNING_MAX;
    let began = match by(end, UserRepo::new(cwd)).await {
        Ok(repository) => {
            let taken = by(end, CapturedState::take(home, dir, &repository, at)).await;
            taken.and_then(|taken| taken.keep(dir, RunBoundary::Start)).unwrap_or_else(|error| {
                WorkspaceState {
                    // What somebody can begin with who wants to know all the same.
                    head: repository.head.clone(),
                    branch: repository.branch.clone(),
                    ..unrecorded(at, &error)
                }
            })
        }
        Err(error) => unrecorded(at, &error),
    };
    let _ = dir.write_changes(&WorkspaceRecord { start: began, end: None });
}

/// Records the workspace of a run that is over and works nowhere any more, unless a supervisor that died has done so.
/// Somebody had let it go on `resume_generation` times.
pub(crate) async fn record_end(home: &Home, dir: &RunDir, cwd: &Path, resume_generation: u32) {
    let Ok(Some(record)) = dir.changes() else { return };
    if record.start.tree.is_none() || !record.start.is_valid() || record.end(resume_generation).is_some() {
        return;
    }
    let at = LiveClock::new().now().at;
    let taking = async {
        let repository = UserRepo::new(cwd).await?;
        let taken = CapturedState::take(home, dir, &repository, at).await?;
        let files = stats::figures(&taken.scratch_repo, &record.start, &taken.state, &[]).await.ok();
        Ok((taken.keep(dir, RunBoundary::End)?, files.map(|files| stats::sum(&files))))
    };
    let taken = by(Instant::now() + END_MAX, taking).await;
    let (state, changed) = taken.unwrap_or_else(|error| (unrecorded(at, &error), None));
    let ended = Some(WorkspaceEnd { state, resume_generation, changed });
    let _ = dir.write_changes(&WorkspaceRecord { end: ended, ..record });
}

/// What comes of it by then.
async fn by<T>(
    end: Instant,
    taking: impl Future<Output = Result<T, ChangesError>>,
) -> Result<T, ChangesError> {
    let taken = tokio::time::timeout_at(end, taking).await;
    taken.unwrap_or(Err(ChangesError::Unrecorded(UnrecordedReason::TooSlow)))
}

/// A state, and the repository of ours that it was taken with.
struct CapturedState {
    state: WorkspaceState,
    scratch_repo: ScratchRepo,
    _scratch: TempDir,
}

impl CapturedState {
    async fn take(
        home: &Home,
        dir: &RunDir,
        repository: &UserRepo,
        at: Moment,
    ) -> Result<CapturedState, ChangesError> {
        let scratch = scratch(dir)?;
        let ours = ScratchRepo::make(scratch.path(), repository, &[&dir.objects_path(RunBoundary::Start)])?;
        let state = workspace_tree::take(repository, &ours, &excluded(home, dir, repository)?, at).await?;
        Ok(CapturedState { state, scratch_repo: ours, _scratch: scratch })
    }

    /// Puts what git has written for it into the run's directory.
    fn keep(self, dir: &RunDir, of: RunBoundary) -> Result<WorkspaceState, ChangesError> {
        if let Some(objects) = self.scratch_repo.written()? {
            dir.store_objects(of, objects)?;
        }
        Ok(self.state)
    }
}

/// What is on record of a state that could not be taken.
fn unrecorded(at: Moment, error: &ChangesError) -> WorkspaceState {
    let (why, said) = error.describe();
    WorkspaceState::unrecorded(at, why, said)
}

/// A directory for what is needed on the way, under a name by which the next supervisor knows that nobody needs it.
fn scratch(dir: &RunDir) -> Result<TempDir, ChangesError> {
    let prefix = format!(".changes.{}-", process::id());
    let made = Builder::new().prefix(&prefix).suffix(".new").tempdir_in(dir.path());
    made.map_err(ChangesError::io("write", dir.path()))
}

/// What lies in a repository and is ours: the records of runs, this one's at least. Relative to its top.
///
/// # Errors
/// If all of the workspace lies among them, so that the repository around it is that of something else.
fn excluded(home: &Home, dir: &RunDir, repository: &UserRepo) -> Result<Vec<PathBuf>, ChangesError> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (home, run) = (real(home.path()), real(dir.path()));
    let below = |path: &Path| {
        Some(path.strip_prefix(&repository.top).ok()?.to_owned()).filter(|path| path.iter().next().is_some())
    };
    if below(&home).is_some() && repository.cwd.starts_with(&home) {
        return Err(ChangesError::Unrecorded(UnrecordedReason::NotInGit));
    }
    let runs = run.ancestors().nth(2).filter(|runs| !repository.cwd.starts_with(runs));
    Ok([Some(home.as_path()), runs, Some(&run)].into_iter().flatten().filter_map(below).collect())
}

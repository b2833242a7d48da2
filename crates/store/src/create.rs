//! Creates the directory of a run or a workflow. It is built under a hidden name and renamed once it has its plan
//! and journal. So a run exists completely or not at all. This module never starts a process.

use crate::atomic::{TempFile, to_json};
use crate::files::{make_dir, make_dirs, private, sync_dir};
use crate::find_run::dir_with_id;
use crate::run_id::ids;
use crate::{
    Day, Home, Journal, JournalDir, Plan, RunDir, StoreError, WorkflowDir, WorkflowPlan, failpoint_io,
};
use longhaul_core::{RunId, WorkflowRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A run that has just been created. Its journal is empty and locked, so that no other process mistakes the
/// run for an orphaned one.
#[derive(Debug)]
pub struct NewRun {
    /// Directory of the run.
    pub dir: RunDir,
    /// Journal of the run, locked.
    pub journal: Journal,
}

/// The location and the id of a new run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Absolute directory that holds the directory of the day. `None` for the home's own.
    pub runs_dir: Option<PathBuf>,
    /// Id of the run. `None` for a random one.
    pub id: Option<RunId>,
    /// Directory on the same file system that becomes the run's own workspace. `None` if the run works
    /// elsewhere.
    pub workspace: Option<PathBuf>,
}

impl Home {
    /// Creates a run under the local date `day`, with an id drawn from `roll`, and makes it durable. This
    /// takes two disk flushes, and two more for the first run of a day.
    ///
    /// Nothing of the run remains after a failure.
    pub fn create_run(&self, day: &Day, roll: u64, plan: &Plan) -> Result<NewRun, StoreError> {
        self.create_run_at(&Placement::default(), day, roll, plan)
    }

    /// Creates a run at the given placement. If the placement is outside the home, the home gets a link to
    /// the run, so that the run can be found by its id.
    ///
    /// # Errors
    /// Returns [`StoreError::RunIdInUse`] if the home, or the placement, has a run with the requested id,
    /// [`StoreError::NoOwners`] if its file system has no owners, and [`StoreError::Io`] if the directory cannot
    /// be created. Nothing of the run then remains, except perhaps its workspace.
    pub fn create_run_at(
        &self,
        placement: &Placement,
        day: &Day,
        roll: u64,
        plan: &Plan,
    ) -> Result<NewRun, StoreError> {
        let runs = placement.runs_dir.clone().unwrap_or_else(|| self.runs_path());
        // Two simultaneous starts, on either side of midnight, may request the same id: only one gets it. If
        // the file system cannot lock, the directory's name still decides within a day.
        let _lock = placement.id.as_ref().and_then(|_| lock_dir(&self.runs_path()));
        if let Some(id) = &placement.id
            && let Some(dir) = self.existing_dir(&runs, id)?
        {
            return Err(StoreError::RunIdInUse { run: id.clone(), dir });
        }
        let (day_path, first_of_day) = open_day(&runs, day)?;
        let scratch = TempFile::create_dir_next_to(&day_path.join("run"))?;
        let hidden = RunDir::new(scratch.path.clone(), RunId::from(""));
        let dirs = [hidden.attempts_path(), hidden.logs_path(), hidden.requests_path()];
        let mut journal = fill(&hidden, &dirs, plan)?;
        if let Some(workspace) = &placement.workspace {
            failpoint_io::rename(workspace, &hidden.workspace_path())
                .map_err(StoreError::io("move workspace", workspace))?;
        }
        let (path, id) = self.commit(&scratch, &day_path, placement.id.as_ref(), roll)?;
        let dir = RunDir::new(path, id);
        journal.set_path(dir.journal_path());

        if placement.runs_dir.is_none() {
            make_durable(dir.path(), &day_path, first_of_day)?;
        } else if let Err(error) = self.make_linked_run_durable(&dir, day, first_of_day) {
            drop(fs::remove_dir_all(dir.path()));
            return Err(error);
        }
        Ok(NewRun { dir, journal })
    }

    /// Creates a workflow under the local date `day`, with an id drawn from `roll` that no run has, and makes it
    /// durable. Nothing of it remains after a failure. The returned journal is empty and locked.
    pub fn create_workflow(
        &self,
        day: &Day,
        roll: u64,
        plan: &WorkflowPlan,
    ) -> Result<(WorkflowDir, Journal<WorkflowRecord>), StoreError> {
        let (day_path, first_of_day) = open_day(&self.workflows_path(), day)?;
        let scratch = TempFile::create_dir_next_to(&day_path.join("workflow"))?;
        let hidden = WorkflowDir::new(scratch.path.clone(), RunId::from(""));
        let mut journal = fill(&hidden, &[hidden.requests_path()], plan)?;
        let (path, id) = self.commit(&scratch, &day_path, None, roll)?;
        make_durable(&path, &day_path, first_of_day)?;
        let dir = WorkflowDir::new(path, id);
        journal.set_path(dir.journal_path());
        Ok((dir, journal))
    }

    /// Waits for other starts of workflows, and locks them out until the returned file is dropped, so that two that
    /// start at the same time see each other. Fails if a workflow other than `own` has a supervisor and works in this
    /// directory, in one that contains it, or in one within it.
    ///
    /// # Errors
    /// Returns [`StoreError::ProjectBusy`] with the other workflow.
    pub fn lock_project(&self, project_dir: &Path, own: Option<&RunId>) -> Result<Option<File>, StoreError> {
        let workflows = self.workflows_path();
        make_dirs(&workflows)?;
        let lock = lock_dir(&workflows);
        for other in self.workflows_newest_first()? {
            if own == Some(other.id()) || !Journal::is_locked(&other.journal_path()).unwrap_or(false) {
                continue;
            }
            let Ok(plan) = other.plan() else { continue };
            let held = plan.project_dir.as_path();
            if held.starts_with(project_dir) || project_dir.starts_with(held) {
                let (project, held) = (project_dir.to_owned(), held.to_owned());
                return Err(StoreError::ProjectBusy { project, holder: other.id().clone(), held });
            }
        }
        Ok(lock)
    }

    /// Returns the path of a run with this id. The path is not reserved.
    pub fn path_for(&self, placement: &Placement, day: &Day, id: &RunId) -> PathBuf {
        let runs = placement.runs_dir.clone().unwrap_or_else(|| self.runs_path());
        runs.join(day.to_string()).join(id.as_str())
    }

    /// Returns an id, drawn from `roll`, that no run here has.
    pub fn unused_id(&self, roll: u64) -> Result<RunId, StoreError> {
        for id in ids(roll) {
            if self.find_exact(&id)?.is_none() {
                return Ok(id);
            }
        }
        Err(no_free_id(&self.runs_path()))
    }

    /// Renames the new directory to the requested id, or else to the first id drawn from `roll` that is free.
    pub(crate) fn commit(
        &self,
        scratch: &TempFile,
        day_path: &Path,
        requested: Option<&RunId>,
        roll: u64,
    ) -> Result<(PathBuf, RunId), StoreError> {
        let runs = day_path.parent().unwrap_or(day_path);
        let candidates: Vec<RunId> = requested.map_or_else(|| ids(roll).collect(), |id| vec![id.clone()]);
        for id in candidates {
            if self.existing_dir(runs, &id)?.is_some() {
                continue;
            }
            let path = day_path.join(id.as_str());
            match scratch.persist(&path) {
                Ok(()) => return Ok((path, id)),
                // Another process took the same id after the check.
                Err(cause) if is_occupied(cause.kind()) => {}
                Err(cause) => return Err(StoreError::Io { action: "create directory", path, cause }),
            }
        }
        Err(requested.map_or_else(
            || no_free_id(day_path),
            |id| StoreError::RunIdInUse { run: id.clone(), dir: day_path.join(id.as_str()) },
        ))
    }

    /// Returns the directory of a run or a workflow that has this id, in the home or below `runs`.
    pub(crate) fn existing_dir(&self, runs: &Path, id: &RunId) -> Result<Option<PathBuf>, StoreError> {
        // `runs` is usually one of the others, and is then searched once.
        let parents = BTreeSet::from([self.runs_path(), self.workflows_path(), runs.to_owned()]);
        parents.iter().find_map(|parent| dir_with_id(parent, id).transpose()).transpose()
    }

    /// Makes a run outside the home durable and links to it from the home. Directories above its day belong
    /// to their owner and are not synced.
    fn make_linked_run_durable(&self, dir: &RunDir, day: &Day, first_of_day: bool) -> Result<(), StoreError> {
        let levels = if first_of_day { 2 } else { 1 };
        dir.path().ancestors().skip(1).take(levels).try_for_each(sync_dir)?;
        let (day_path, first_of_day) = open_day(&self.runs_path(), day)?;
        let path = day_path.join(dir.id().as_str());
        if fs::read_link(&path).is_ok_and(|target| target == dir.path() || !target.exists()) {
            // The target no longer exists, or was at this same path. If the link cannot be removed, the next
            // call reports why.
            drop(fs::remove_file(&path));
        }
        failpoint_io::make_link(dir.path(), &path).map_err(StoreError::io("link to run", &path))?;
        sync_day(&day_path, first_of_day)
    }
}

/// Returns the directory of a day below `runs`, creating it if necessary, and whether it was created.
pub(crate) fn open_day(runs: &Path, day: &Day) -> Result<(PathBuf, bool), StoreError> {
    let day_path = runs.join(day.to_string());
    let first_of_day = !day_path.exists();
    make_dirs(&day_path)?;
    Ok((day_path, first_of_day))
}

/// Makes the name of a new run or workflow durable, or removes its directory.
pub(crate) fn make_durable(path: &Path, day_path: &Path, first_of_day: bool) -> Result<(), StoreError> {
    let result = sync_day(day_path, first_of_day);
    if result.is_err() {
        // Only the first error is reported. If the removal fails too, a run that never started remains.
        drop(fs::remove_dir_all(path));
    }
    result
}

/// Makes the names in the directory of a day durable, and if it is new, its own name and those above it up to the
/// home.
fn sync_day(day_path: &Path, first_of_day: bool) -> Result<(), StoreError> {
    day_path.ancestors().take(if first_of_day { 3 } else { 1 }).try_for_each(sync_dir)
}

pub(crate) fn lock_dir(dir: &Path) -> Option<File> {
    let dir = File::open(dir).ok()?;
    dir.lock().ok()?;
    Some(dir)
}

fn no_free_id(dir: &Path) -> StoreError {
    StoreError::io("create directory", dir)(io::Error::other("every id that was drawn is taken"))
}

/// Creates these subdirectories, the journal and the plan.
///
/// # Errors
/// Returns an error if a file cannot be created, or if the file system shows it as another user's or as writable by
/// others: such a run could not be recovered.
pub(crate) fn fill<R: Serialize + DeserializeOwned>(
    dir: &JournalDir,
    subdirs: &[PathBuf],
    plan: &impl Serialize,
) -> Result<Journal<R>, StoreError> {
    for path in subdirs {
        make_dir(path).map_err(StoreError::io("create directory", path))?;
    }
    let journal = Journal::create(&dir.journal_path())?;
    write_plan(&dir.plan_path(), plan)?;
    dir.check_trusted().map_err(|error| match error {
        StoreError::Untrusted { reason, .. } => {
            StoreError::NoOwners { dir: dir.path().parent().unwrap_or(dir.path()).to_owned(), reason }
        }
        error => error,
    })?;
    Ok(journal)
}

/// Writes the plan into a directory that no other process knows yet, so that it needs no rename.
fn write_plan(path: &Path, plan: &impl Serialize) -> Result<(), StoreError> {
    let text = to_json(path, plan)?;
    let write = || {
        let file = failpoint_io::open(private().write(true).create_new(true), path)?;
        failpoint_io::write_all(&file, path, &text)?;
        // The first flush of the plan also makes its name durable, and that of the older journal (ext4, XFS,
        // btrfs, APFS).
        failpoint_io::sync_all(&file, path)
    };
    write().map_err(StoreError::io("write plan", path))
}

pub(crate) fn is_occupied(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(kind, AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

#[cfg(test)]
mod tests;

//! Making a run's directory. It is built under a hidden name and gets its own when its plan and its
//! journal are there, so that a run is there as a whole or not at all. Nothing is started here.

use crate::atomic::{TempFile, to_json};
use crate::files::{make_dir, make_dirs, private, sync_dir};
use crate::find_run::taken_in;
use crate::run_id::ids;
use crate::{Day, Home, Journal, Plan, RunDir, StoreError, failpoint_io};
use longhaul_core::RunId;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A run that has just been created. Its journal is empty and locked, so that nobody can take the
/// run for one whose supervisor died.
#[derive(Debug)]
pub struct NewRun {
    /// Its directory.
    pub dir: RunDir,
    /// Its journal.
    pub journal: Journal,
}

/// Where a run's directory goes, and what it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The directory of days that it is put in, absolute; nothing for the home's own.
    pub runs_dir: Option<PathBuf>,
    /// Its id; nothing for one that is drawn.
    pub id: Option<RunId>,
    /// What the user calls it, for its plan.
    pub name: Option<String>,
    /// A directory on the same file system that becomes the run's own workspace; nothing where it works elsewhere.
    pub workspace: Option<PathBuf>,
}

impl Home {
    /// Creates a run, filed under the local date `day`, with an id drawn from `roll`, and makes it
    /// durable: two disk flushes, two more for the first run of a day.
    ///
    /// # Errors
    /// [`StoreError::Io`]; nothing of the run is then left.
    pub fn create_run(&self, day: &Day, roll: u64, plan: &Plan) -> Result<NewRun, StoreError> {
        self.create_run_at(&Placement::default(), day, roll, plan)
    }

    /// The same where it was asked for. The home has a link to a run that is put elsewhere, so that it is found by its
    /// id there too.
    ///
    /// # Errors
    /// [`StoreError::IdTaken`] if the home, or that place, has a run of the id that was asked for;
    /// [`StoreError::Io`]. Nothing of the run is then left; its workspace may be.
    pub fn create_run_at(
        &self,
        placement: &Placement,
        day: &Day,
        roll: u64,
        plan: &Plan,
    ) -> Result<NewRun, StoreError> {
        let runs = placement.runs_dir.clone().unwrap_or_else(|| self.runs_path());
        let wanted: Vec<RunId> = placement.id.clone().map_or_else(|| ids(roll).collect(), |id| vec![id]);
        // An id that was asked for is taken by one of two simultaneous starts, on either side of midnight. Where a file
        // system cannot lock, the directory's name decides within a day.
        let _one_at_a_time = placement.id.as_ref().and_then(|_| locked(&self.runs_path()));
        if let Some(id) = &placement.id
            && let Some(dir) = self.taken_at(&runs, id)?
        {
            return Err(StoreError::RunIdInUse { run: id.clone(), dir });
        }
        let (day_path, first_of_day) = open_day(&runs, day)?;
        let scratch = TempFile::beside(&day_path.join("run"));
        make_dir(&scratch.path).map_err(StoreError::io("create run directory", &scratch.path))?;
        let unnamed = RunDir::new(scratch.path.clone(), RunId::from(""));
        let mut journal = fill(&unnamed, plan)?;
        if let Some(workspace) = &placement.workspace {
            failpoint_io::rename(workspace, &unnamed.workspace_path())
                .map_err(StoreError::io("take in workspace", workspace))?;
        }
        let Some(dir) = self.commit(&scratch, &day_path, &wanted)? else {
            return Err(none_free(placement, day_path));
        };
        journal.set_path(dir.journal_path());

        if placement.runs_dir.is_none() {
            self.keep(&dir, &day_path, first_of_day)?;
        } else if let Err(error) = self.keep_elsewhere(&dir, day, first_of_day) {
            drop(fs::remove_dir_all(dir.path()));
            return Err(error);
        }
        Ok(NewRun { dir, journal })
    }

    /// Where a run of this id would go. It is not reserved.
    pub fn path_for(&self, placement: &Placement, day: &Day, id: &RunId) -> PathBuf {
        let runs = placement.runs_dir.clone().unwrap_or_else(|| self.runs_path());
        runs.join(day.as_str()).join(id.as_str())
    }

    /// An id that no run here has, drawn from `roll`.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the home cannot be read.
    pub fn unused_id(&self, roll: u64) -> Result<RunId, StoreError> {
        for id in ids(roll) {
            if self.find_exact(&id)?.is_none() {
                return Ok(id);
            }
        }
        Err(none_free(&Placement::default(), self.runs_path()))
    }

    /// The directory of a day, made if it is not there, and whether it was made.
    pub(crate) fn open_day(&self, day: &Day) -> Result<(PathBuf, bool), StoreError> {
        open_day(&self.runs_path(), day)
    }

    /// Makes the name of a run's directory durable, or removes the run.
    pub(crate) fn keep(&self, dir: &RunDir, day_path: &Path, first_of_day: bool) -> Result<(), StoreError> {
        let durable = self.sync_day(day_path, first_of_day);
        if durable.is_err() {
            // The error is what counts; a directory that cannot be removed either is a run that
            // never began.
            drop(fs::remove_dir_all(dir.path()));
        }
        durable
    }

    /// Makes the names in the directory of a day durable, and that directory itself.
    fn sync_day(&self, day_path: &Path, first_of_day: bool) -> Result<(), StoreError> {
        sync_dir(day_path)?;
        if first_of_day { sync_dir(&self.runs_path()).and_then(|()| sync_dir(self.path())) } else { Ok(()) }
    }

    /// Gives the directory in the making the first of these ids that is free; nothing if none is.
    fn commit(
        &self,
        scratch: &TempFile,
        day_path: &Path,
        wanted: &[RunId],
    ) -> Result<Option<RunDir>, StoreError> {
        let runs = day_path.parent().unwrap_or(day_path);
        for id in wanted {
            if self.taken_at(runs, id)?.is_some() {
                continue;
            }
            let path = day_path.join(id.as_str());
            match scratch.persist(&path) {
                Ok(()) => return Ok(Some(RunDir::new(path, id.clone()))),
                // Another process took the same id since we looked.
                Err(cause) if is_occupied(cause.kind()) => {}
                Err(cause) => return Err(StoreError::Io { doing: "create run directory", path, cause }),
            }
        }
        Ok(None)
    }

    /// The directory that has this id, here or among these runs.
    fn taken_at(&self, runs: &Path, id: &RunId) -> Result<Option<PathBuf>, StoreError> {
        Ok(self.find_exact(id)?.or(taken_in(runs, id)?))
    }

    /// The same for a run that is not here: what is above its day is its owner's. Notes here where it is.
    fn keep_elsewhere(&self, dir: &RunDir, day: &Day, first_of_day: bool) -> Result<(), StoreError> {
        let levels = if first_of_day { 2 } else { 1 };
        dir.path().ancestors().skip(1).take(levels).try_for_each(sync_dir)?;
        let (day_path, first_of_day) = self.open_day(day)?;
        let path = day_path.join(dir.id().as_str());
        if fs::read_link(&path).is_ok_and(|target| target == dir.path() || !target.exists()) {
            // To one that is gone, perhaps from this very place. If it cannot be removed, the next line says why.
            drop(fs::remove_file(&path));
        }
        failpoint_io::make_link(dir.path(), &path).map_err(StoreError::io("link to run", &path))?;
        self.sync_day(&day_path, first_of_day)
    }
}

fn open_day(runs: &Path, day: &Day) -> Result<(PathBuf, bool), StoreError> {
    let day_path = runs.join(day.as_str());
    let first_of_day = !day_path.exists();
    make_dirs(&day_path).map_err(StoreError::io("create directory", &day_path))?;
    Ok((day_path, first_of_day))
}

/// The directory, locked until it is dropped.
fn locked(dir: &Path) -> Option<File> {
    let dir = File::open(dir).ok()?;
    dir.lock().ok()?;
    Some(dir)
}

fn none_free(placement: &Placement, day_path: PathBuf) -> StoreError {
    match &placement.id {
        Some(id) => StoreError::RunIdInUse { run: id.clone(), dir: day_path.join(id.as_str()) },
        None => {
            let cause = io::Error::other("every id that was drawn is taken");
            StoreError::Io { doing: "create run directory", path: day_path, cause }
        }
    }
}

fn fill(dir: &RunDir, plan: &Plan) -> Result<Journal, StoreError> {
    for path in [dir.attempts_path(), dir.logs_path(), dir.requests_path()] {
        make_dir(&path).map_err(StoreError::io("create run directory", &path))?;
    }
    let journal = Journal::create(&dir.journal_path())?;
    let path = dir.plan_path();
    let text = to_json(&path, plan)?;
    let write = || {
        let file = failpoint_io::open(private().write(true).create_new(true), &path)?;
        failpoint_io::write_all(&file, &path, &text)?;
        // Nobody knows this directory yet, so the plan needs no rename of its own. Its first flush
        // also makes its name durable, and the journal's, which is older (ext4, XFS, btrfs, APFS).
        failpoint_io::sync_all(&file, &path)
    };
    write().map_err(StoreError::io("write plan", &path))?;
    Ok(journal)
}

/// Whether a name could not be given because it is another's.
pub(crate) fn is_occupied(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
    matches!(kind, AlreadyExists | DirectoryNotEmpty | NotADirectory)
}

#[cfg(test)]
mod tests;

//! Making a run's directory. It is built under a hidden name and gets its own when its plan and its
//! journal are there, so that a run is there as a whole or not at all. Nothing is started here.

use crate::atomic::{Scratch, to_json};
use crate::files::{make_dir, make_dirs, private, sync_dir};
use crate::run_name::ids;
use crate::{Day, Home, Journal, Plan, RunDir, StoreError, disk};
use longhaul_core::RunId;
use std::fs;
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

impl Home {
    /// Creates a run, filed under the local date `day`, with an id drawn from `roll`, and makes it
    /// durable: two disk flushes, two more for the first run of a day.
    ///
    /// # Errors
    /// [`StoreError::Io`]; nothing of the run is then left.
    pub fn create_run(&self, day: &Day, roll: u64, plan: &Plan) -> Result<NewRun, StoreError> {
        let (day_path, first_of_day) = self.open_day(day)?;
        let scratch = Scratch::beside(&day_path.join("run"));
        make_dir(&scratch.path).map_err(StoreError::io("create run directory", &scratch.path))?;
        let mut journal = fill(&RunDir::new(scratch.path.clone(), RunId::from("")), plan)?;
        let dir = self.settle(&scratch, &day_path, roll)?;
        journal.moved_to(dir.journal_path());

        self.keep(&dir, &day_path, first_of_day)?;
        Ok(NewRun { dir, journal })
    }

    /// The directory of a day, made if it is not there, and whether it was made.
    pub(crate) fn open_day(&self, day: &Day) -> Result<(PathBuf, bool), StoreError> {
        let day_path = self.runs_path().join(day.as_str());
        let first_of_day = !day_path.exists();
        make_dirs(&day_path).map_err(StoreError::io("create directory", &day_path))?;
        Ok((day_path, first_of_day))
    }

    /// Makes the name of a run's directory durable, or removes the run.
    pub(crate) fn keep(&self, dir: &RunDir, day_path: &Path, first_of_day: bool) -> Result<(), StoreError> {
        let durable = sync_dir(day_path).and_then(|()| {
            if first_of_day {
                sync_dir(&self.runs_path()).and_then(|()| sync_dir(self.path()))
            } else {
                Ok(())
            }
        });
        if durable.is_err() {
            // The error is what counts; a directory that cannot be removed either is a run that
            // never began.
            drop(fs::remove_dir_all(dir.path()));
        }
        durable
    }

    /// Gives the directory in the making the first id that is free.
    fn settle(&self, scratch: &Scratch, day_path: &Path, roll: u64) -> Result<RunDir, StoreError> {
        for id in ids(roll) {
            if self.taken(&id)?.is_some() {
                continue;
            }
            let path = day_path.join(id.as_str());
            match scratch.put(&path) {
                Ok(()) => return Ok(RunDir::new(path, id)),
                // Another process drew the same id since we looked.
                Err(cause) if is_occupied(cause.kind()) => {}
                Err(cause) => return Err(StoreError::Io { doing: "create run directory", path, cause }),
            }
        }
        let cause = io::Error::other("every id that was drawn is taken");
        Err(StoreError::Io { doing: "create run directory", path: day_path.to_owned(), cause })
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
        let file = disk::open(private().write(true).create_new(true), &path)?;
        disk::write_all(&file, &path, &text)?;
        // Nobody knows this directory yet, so the plan needs no rename of its own. Its first flush
        // also makes its name durable, and the journal's, which is older (ext4, XFS, btrfs, APFS).
        disk::sync_all(&file, &path)
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

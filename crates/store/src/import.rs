//! Taking in a run from elsewhere under the id that it has. As with a new run, its directory is built
//! under a hidden name and gets its own at the end, so that it is there as a whole or not at all. What its
//! files hold is the caller's to check.

use crate::atomic::{Durability, TempFile, replace_json};
use crate::create::is_occupied;
use crate::files::{make_dir, make_dirs, private};
use crate::run_id::is_run_id;
use crate::{Day, Home, Plan, RunDir, StoreError};
use longhaul_core::RunId;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A run's directory in the making. Dropped, it is gone.
#[derive(Debug)]
pub struct ImportedRunDir {
    home: Home,
    scratch: TempFile,
    day_path: PathBuf,
    first_of_day: bool,
    id: RunId,
}

impl Home {
    /// Begins to take in the run `id`, filed under the local date `day`.
    ///
    /// # Errors
    /// [`StoreError::ForeignId`], [`StoreError::RunTaken`] if this home has a run of that id, and
    /// [`StoreError::Io`].
    pub fn begin_import(&self, day: &Day, id: &RunId) -> Result<ImportedRunDir, StoreError> {
        if !is_run_id(id.as_str()) {
            return Err(StoreError::InvalidRunId { id: id.to_string() });
        }
        if let Some(dir) = self.find_exact(id)? {
            return Err(StoreError::RunExists { run: id.clone(), dir });
        }
        let (day_path, first_of_day) = self.open_day(day)?;
        let scratch = TempFile::beside(&day_path.join("run"));
        make_dir(&scratch.path).map_err(StoreError::io("create run directory", &scratch.path))?;
        Ok(ImportedRunDir { home: self.clone(), scratch, day_path, first_of_day, id: id.clone() })
    }
}

impl ImportedRunDir {
    /// The directory under its hidden name, to look at what was written.
    pub fn dir(&self) -> RunDir {
        RunDir::new(self.scratch.path.clone(), self.id.clone())
    }

    /// Creates a file of the directory and what is missing above it. `name` is relative.
    ///
    /// # Errors
    /// [`StoreError::Io`], also for a name that leaves the directory and for a file that is there.
    pub fn create_file(&self, name: &Path) -> Result<File, StoreError> {
        let path = self.scratch.path.join(name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            let cause = io::Error::other("it would be outside of the run's directory");
            return Err(StoreError::io("create", &path)(cause));
        }
        let above = path.parent().unwrap_or(&self.scratch.path);
        make_dirs(above)
            .and_then(|()| private().write(true).create_new(true).open(&path))
            .map_err(StoreError::io("create", &path))
    }

    /// Puts `plan` in place of the one that came, gives the directory its name and makes it durable.
    ///
    /// # Errors
    /// [`StoreError::Io`], and [`StoreError::RunTaken`] if the id was taken meanwhile; nothing of the run is
    /// then left.
    pub fn commit(self, plan: &Plan) -> Result<RunDir, StoreError> {
        let dir = self.dir();
        for path in [dir.attempts_path(), dir.logs_path(), dir.requests_path()] {
            make_dirs(&path).map_err(StoreError::io("create run directory", &path))?;
        }
        replace_json(&dir.plan_path(), plan, Durability::Power)?;
        let path = self.day_path.join(self.id.as_str());
        match self.scratch.persist(&path) {
            Ok(()) => {}
            Err(cause) if is_occupied(cause.kind()) => {
                return Err(StoreError::RunExists { run: self.id.clone(), dir: path });
            }
            Err(cause) => return Err(StoreError::io("create run directory", &path)(cause)),
        }
        let dir = RunDir::new(path, self.id.clone());
        self.home.keep(&dir, &self.day_path, self.first_of_day)?;
        Ok(dir)
    }
}

#[cfg(test)]
mod tests;

//! Imports a run from elsewhere under its own id. Its directory is built under a hidden name and renamed at
//! the end, like that of a new run. So the run exists completely or not at all. The caller must check the
//! content of its files.

use crate::atomic::{Durability, TempFile, replace_json};
use crate::create::is_occupied;
use crate::files::{make_dir, make_dirs, private};
use crate::run_id::is_run_id;
use crate::{Day, Home, Plan, RunDir, StoreError};
use longhaul_core::RunId;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The directory of a run that is being imported. It is removed on drop unless it was committed.
#[derive(Debug)]
pub struct ImportedRunDir {
    home: Home,
    scratch: TempFile,
    day_path: PathBuf,
    first_of_day: bool,
    id: RunId,
}

impl Home {
    /// Starts to import the run `id` under the local date `day`.
    ///
    /// # Errors
    /// Returns [`StoreError::InvalidRunId`] if `id` is not a run id, [`StoreError::RunExists`] if this home
    /// has a run with that id, and [`StoreError::Io`] if the directory cannot be created.
    pub fn begin_import(&self, day: &Day, id: &RunId) -> Result<ImportedRunDir, StoreError> {
        if !is_run_id(id.as_str()) {
            return Err(StoreError::InvalidRunId(id.to_string()));
        }
        if let Some(dir) = self.find_exact(id)? {
            return Err(StoreError::RunExists { run: id.clone(), dir });
        }
        let (day_path, first_of_day) = self.open_day(day)?;
        let scratch = TempFile::next_to(&day_path.join("run"));
        make_dir(&scratch.path).map_err(StoreError::io("create run directory", &scratch.path))?;
        Ok(ImportedRunDir { home: self.clone(), scratch, day_path, first_of_day, id: id.clone() })
    }
}

impl ImportedRunDir {
    /// Returns the directory under its hidden name, to inspect the files.
    pub fn dir(&self) -> RunDir {
        RunDir::new(self.scratch.path.clone(), self.id.clone())
    }

    /// Creates a file in the directory, with its missing parents. `name` is relative.
    pub fn create_file(&self, name: &Path) -> Result<File, StoreError> {
        let path = self.scratch.path.join(name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            let cause = io::Error::other("it would be outside the run's directory");
            return Err(StoreError::io("create", &path)(cause));
        }
        let parent = path.parent().unwrap_or(&self.scratch.path);
        make_dirs(parent)
            .and_then(|()| private().write(true).create_new(true).open(&path))
            .map_err(StoreError::io("create", &path))
    }

    /// Replaces the imported plan with `plan`, renames the directory to its final name and makes it durable.
    ///
    /// # Errors
    /// Returns [`StoreError::RunExists`] if the id was taken meanwhile, and [`StoreError::Io`] if a file
    /// cannot be written. Nothing of the run then remains.
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
        self.home.make_durable(&dir, &self.day_path, self.first_of_day)?;
        Ok(dir)
    }
}

#[cfg(test)]
mod tests;

//! Imports a run or a workflow from elsewhere under its own id. Its directory is built under a hidden name and
//! renamed at the end, like that of a new run. So it exists completely or not at all. The caller must check the
//! content of its files.

use crate::atomic::{Durability, TempFile, replace_json};
use crate::create::{is_occupied, make_durable, open_day};
use crate::files::{make_dirs, make_parents, private};
use crate::run_id::is_run_id;
use crate::{Day, Home, Plan, RunDir, StoreError, WorkflowDir, WorkflowPlan};
use longhaul_core::RunId;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The directory of a run or a workflow that is being imported. It is removed on drop unless it was committed.
#[derive(Debug)]
pub struct ImportedDir {
    scratch: TempFile,
    day_path: PathBuf,
    first_of_day: bool,
    id: RunId,
}

impl Home {
    /// Starts to import the run or workflow `id` under the local date `day`, if it is an id that no run of this home
    /// uses. `parent` is the directory of all runs or of all workflows.
    pub fn begin_import(&self, parent: &Path, day: &Day, id: &RunId) -> Result<ImportedDir, StoreError> {
        if !is_run_id(id.as_str()) {
            return Err(StoreError::InvalidRunId(id.to_string()));
        }
        if let Some(dir) = self.existing_dir(&self.runs_path(), id)? {
            return Err(StoreError::RunExists { run: id.clone(), dir });
        }
        let (day_path, first_of_day) = open_day(parent, day)?;
        let scratch = TempFile::create_dir_next_to(&day_path.join("run"))?;
        Ok(ImportedDir { scratch, day_path, first_of_day, id: id.clone() })
    }
}

impl ImportedDir {
    /// Returns the directory of a run under its hidden name, to inspect the files.
    pub fn run_dir(&self) -> RunDir {
        RunDir::new(self.scratch.path.clone(), self.id.clone())
    }

    /// Returns the directory of a workflow under its hidden name, to inspect the files.
    pub fn workflow_dir(&self) -> WorkflowDir {
        WorkflowDir::new(self.scratch.path.clone(), self.id.clone())
    }

    /// Creates a file in the directory, with its missing parents. `name` is relative.
    pub fn create_file(&self, name: &Path) -> Result<(PathBuf, File), StoreError> {
        let path = self.scratch.path.join(name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            let cause = io::Error::other("it would be outside the run's directory");
            return Err(StoreError::io("create", &path)(cause));
        }
        make_parents(&path)?;
        let file = private().write(true).create_new(true).open(&path);
        let file = file.map_err(StoreError::io("create", &path))?;
        Ok((path, file))
    }

    /// Replaces the imported plan of a run with `plan`, renames the directory to its final name and makes it
    /// durable. After an error, such as an id that was taken meanwhile, nothing of the run remains.
    pub fn commit(self, plan: &Plan) -> Result<RunDir, StoreError> {
        let dir = self.run_dir();
        let id = self.id.clone();
        let path = self.persist(plan, &[dir.attempts_path(), dir.logs_path(), dir.requests_path()])?;
        Ok(RunDir::new(path, id))
    }

    /// Does the same for a workflow.
    pub fn commit_workflow(self, plan: &WorkflowPlan) -> Result<WorkflowDir, StoreError> {
        let dirs = [self.workflow_dir().requests_path()];
        let id = self.id.clone();
        Ok(WorkflowDir::new(self.persist(plan, &dirs)?, id))
    }

    fn persist(self, plan: &impl Serialize, dirs: &[PathBuf]) -> Result<PathBuf, StoreError> {
        for path in dirs {
            make_dirs(path)?;
        }
        replace_json(&self.run_dir().plan_path(), plan, Durability::Power)?;
        let path = self.day_path.join(self.id.as_str());
        match self.scratch.persist(&path) {
            Ok(()) => {}
            Err(cause) if is_occupied(cause.kind()) => {
                return Err(StoreError::RunExists { run: self.id, dir: path });
            }
            Err(cause) => return Err(StoreError::io("create run directory", &path)(cause)),
        }
        make_durable(&path, &self.day_path, self.first_of_day)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests;

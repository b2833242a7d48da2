//! Creates a workflow's directory, in the manner of `create.rs`: under a hidden name, renamed once it has its plan
//! and journal. This module never starts a process.

use crate::atomic::TempFile;
use crate::create::{fill, lock_dir, make_durable, open_day};
use crate::files::make_dirs;
use crate::{Day, Home, Journal, StoreError, WorkflowDir, WorkflowPlan};
use longhaul_core::{RunId, WorkflowRecord};
use std::fs::File;
use std::path::Path;

impl Home {
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
}

//! Lists and finds the workflows of a home. It reads directory entries, and plans only to find a name.

use crate::find_run::{days_newest_first, names, only_match};
use crate::{Home, StoreError, WorkflowDir};
use longhaul_core::RunId;
use std::path::PathBuf;
use std::time::SystemTime;

impl Home {
    /// Returns the directory of all workflows, by date.
    pub fn workflows_path(&self) -> PathBuf {
        self.path().join("workflows")
    }

    /// Returns every workflow, newest first. Directories that are still being created are not included.
    pub fn workflows_newest_first(&self) -> Result<Vec<WorkflowDir>, StoreError> {
        let days = days_newest_first(&self.workflows_path())?;
        let mut workflows: Vec<(SystemTime, WorkflowDir)> = Vec::new();
        for day in days {
            let visible = names(&day).unwrap_or_default().into_iter().filter(|name| !name.starts_with('.'));
            let dirs = visible.map(|name| WorkflowDir::new(day.join(&name), RunId::from(name)));
            workflows.extend(dirs.filter_map(|dir| Some((dir.created_at().ok()?, dir))));
        }
        workflows.sort_by_key(|(created, _)| std::cmp::Reverse(*created));
        Ok(workflows.into_iter().map(|(_, dir)| dir).collect())
    }

    /// Finds the workflow with this id, the newest one with this name, or the only one whose id starts with
    /// `request`. Returns `None` if `request` names none.
    ///
    /// # Errors
    /// Returns [`StoreError::AmbiguousRun`] if several ids start with `request`.
    pub fn find_workflow(&self, request: &str) -> Result<Option<WorkflowDir>, StoreError> {
        let workflows = self.workflows_newest_first()?;
        let is_named =
            |dir: &&WorkflowDir| dir.plan().is_ok_and(|plan| plan.name.as_deref() == Some(request));
        let exact = workflows.iter().find(|dir| dir.id().as_str() == request);
        if let Some(found) = exact.or_else(|| workflows.iter().find(is_named)) {
            return Ok(Some(found.clone()));
        }
        let has_prefix = |dir: &WorkflowDir| !request.is_empty() && dir.id().as_str().starts_with(request);
        only_match(request, workflows.into_iter().filter(has_prefix).collect())
    }
}

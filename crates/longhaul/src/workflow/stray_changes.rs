//! Stray changes: files that a run changed although no run may edit them. The guard on editing tools cannot know what
//! commands write; this looks at the recorded changes of the finished run.

use super::driver::Driver;
use super::worktrees::listed;
use longhaul_agent::EditPaths;
use longhaul_core::RunKey;
use std::path::PathBuf;

impl Driver<'_> {
    /// Reports files that neither this run nor another run of the workflow may edit. Returns `None` if there are
    /// none, or if a live run may edit every file.
    pub(super) fn stray_changes(&mut self, changed_files: &[PathBuf]) -> Option<String> {
        let is_unrestricted = |key: &RunKey| self.file.phases()[key.phase].edit_paths.is_empty();
        if changed_files.is_empty() || self.live.cancellers.keys().any(is_unrestricted) {
            return None;
        }
        self.read_edit_paths();
        let project = self.plan.project_dir.as_path();
        // The supervisor itself writes there.
        let own_dir = self.file.archon_files().map(|dir| project.join(dir));
        let is_stray = |path: &&PathBuf| {
            !own_dir.as_ref().is_some_and(|dir| path.starts_with(dir))
                && !self.live.edit_paths.values().any(|paths| paths.allows(path))
        };
        let name = |path: &PathBuf| path.strip_prefix(project).unwrap_or(path).display().to_string();
        let strays: Vec<String> = changed_files.iter().filter(is_stray).map(name).collect();
        (!strays.is_empty()).then(|| {
            format!(
                "files outside of `edit_paths` changed while it ran: {}; it or another live run changed them",
                listed(&strays)
            )
        })
    }

    /// Reads the edit paths of the runs of this iteration, each once.
    fn read_edit_paths(&mut self) {
        let state = self.workflow.state();
        self.live.edit_paths.retain(|key, _| key.iteration == state.iteration);
        let guarded =
            (0..self.file.phases().len()).filter(|phase| !self.file.phases()[*phase].edit_paths.is_empty());
        for (key, _) in guarded.flat_map(|phase| state.items(phase)) {
            if self.live.edit_paths.contains_key(&key) {
                continue;
            }
            let dir = self.home.run_with_id(&self.run_id(key)).ok().flatten();
            if let Some(plan) = dir.and_then(|dir| dir.plan().ok()) {
                let paths = EditPaths::new(&plan.spec.guards.edit_paths, plan.spec.cwd.as_path());
                self.live.edit_paths.insert(key, paths);
            }
        }
    }
}

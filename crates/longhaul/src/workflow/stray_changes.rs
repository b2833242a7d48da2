//! Stray changes: files that a run changed although neither it nor a run next to it may edit them. The guard on editing
//! tools cannot know what commands write; this looks at the recorded changes of the run when it ends.

use super::driver::Driver;
use super::worktrees::listed;
use longhaul_agent::EditPaths;
use longhaul_core::RunKey;
use std::path::PathBuf;

impl Driver<'_> {
    /// Reports files that neither this live run nor a run that was live at the same time may edit. Returns `None` if
    /// there are none, or if one of these runs may edit every file.
    pub(super) fn stray_changes(&mut self, key: RunKey, changed_files: &[PathBuf]) -> Option<String> {
        let keys = self.spans.overlapping(key);
        let is_unrestricted = |key: &RunKey| self.file.phases()[key.phase].edit_paths.is_empty();
        if changed_files.is_empty() || keys.iter().any(is_unrestricted) {
            return None;
        }
        self.read_edit_paths(&keys);
        let edit_paths: Vec<&EditPaths> =
            keys.iter().filter_map(|key| self.live.edit_paths.get(key)).collect();
        let project = self.plan.project_dir.as_path();
        // The supervisor itself writes there.
        let own_dir = self.file.archon_files().map(|dir| project.join(dir));
        let is_stray = |path: &&PathBuf| {
            !own_dir.as_ref().is_some_and(|dir| path.starts_with(dir))
                && !edit_paths.iter().any(|paths| paths.allows(path))
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

    /// Reads the edit paths of these runs, each once: a wide phase has many runs that overlap.
    fn read_edit_paths(&mut self, keys: &[RunKey]) {
        let iteration = self.workflow.state().iteration;
        self.live.edit_paths.retain(|key, _| key.iteration + 1 >= iteration);
        for key in keys {
            if !self.live.edit_paths.contains_key(key)
                && let Some(paths) = self.edit_paths_of(*key)
            {
                self.live.edit_paths.insert(*key, paths);
            }
        }
    }

    fn edit_paths_of(&self, key: RunKey) -> Option<EditPaths> {
        let plan = self.home.run_with_id(&self.run_id(key)).ok()??.plan().ok()?;
        Some(EditPaths::new(&plan.spec.guards.edit_paths, plan.spec.cwd.as_path()))
    }
}

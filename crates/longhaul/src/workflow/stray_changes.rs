//! Stray changes: files that a run changed although no run may edit them. The guard on editing tools
//! cannot know what commands write; this looks at the recorded changes of the finished run.

use super::driver::Driver;
use longhaul_agent::EditPaths;
use longhaul_core::RunKey;
use std::path::{Path, PathBuf};

// More names do not help a person.
const FILES_MAX: usize = 5;

impl Driver<'_> {
    /// Reports files that neither this run nor another run of the workflow may edit. Returns `None` if there are
    /// none, or if a live run may edit every file.
    pub(super) fn stray_changes(&self, changed_files: &[PathBuf]) -> Option<String> {
        let is_unrestricted = |key: &RunKey| self.file.phases()[key.phase].edit_paths.is_empty();
        if changed_files.is_empty() || self.live.cancellers.keys().any(is_unrestricted) {
            return None;
        }
        let project = self.plan.project_dir.as_path();
        // The supervisor itself writes there.
        let own_dir = self.file.archon_files().map(|dir| project.join(dir));
        let items = (0..self.file.phases().len()).flat_map(|phase| self.workflow.state().items(phase));
        let plans = items.filter_map(|(key, _)| self.home.run_with_id(&self.run_id(key)).ok()??.plan().ok());
        let guards = plans.map(|plan| (plan.spec.guards.edit_paths, plan.spec.cwd));
        let allowed: Vec<EditPaths> = guards
            .filter(|(paths, _)| !paths.is_empty())
            .map(|(paths, cwd)| EditPaths::new(&paths, cwd.as_path()))
            .collect();
        let is_stray = |path: &&PathBuf| {
            !own_dir.as_ref().is_some_and(|dir| path.starts_with(dir))
                && !allowed.iter().any(|paths| paths.allows(path))
        };
        let strays: Vec<&PathBuf> = changed_files.iter().filter(is_stray).collect();
        (!strays.is_empty()).then(|| report(&strays, project))
    }
}

fn report(strays: &[&PathBuf], project: &Path) -> String {
    let name = |path: &&PathBuf| path.strip_prefix(project).unwrap_or(path).display().to_string();
    let shown: Vec<String> = strays.iter().take(FILES_MAX).map(name).collect();
    let more = match strays.len().saturating_sub(FILES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "files outside of `edit_paths` changed while it ran: {}{more}; it or another live run changed them",
        shown.join(", ")
    )
}

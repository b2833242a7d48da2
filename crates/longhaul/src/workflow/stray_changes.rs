//! Stray changes: files that a run changed although neither it nor a run next to it may edit them. The guard on editing
//! tools cannot know what commands write; this looks at the recorded changes of the run when it ends.

use super::driver::Driver;
use super::worktrees::listed;
use longhaul_agent::EditPaths;
use longhaul_core::{RunKey, WorkflowRecord};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The time in which each run of the iteration was live, in the order of the journal.
#[derive(Default)]
pub(super) struct RunSpans {
    record_count: u64,
    /// First start and last end of each run. A live run has no end.
    spans: BTreeMap<RunKey, (u64, Option<u64>)>,
}

impl RunSpans {
    /// Follows a record.
    pub(super) fn apply(&mut self, record: &WorkflowRecord) {
        self.record_count += 1;
        if let WorkflowRecord::IterationStarted { .. } = record {
            self.spans.clear();
        } else if let WorkflowRecord::RunPlanned { key, .. } = record {
            self.spans.entry(*key).or_insert((self.record_count, None)).1 = None;
        } else if let WorkflowRecord::RunEnded { key, .. } = record
            && let Some((_, end)) = self.spans.get_mut(key)
        {
            *end = Some(self.record_count);
        }
    }

    /// Returns a live run and the runs that were live at the same time.
    fn overlapping(&self, key: RunKey) -> Vec<RunKey> {
        let Some((start, _)) = self.spans.get(&key) else { return vec![key] };
        let is_later = |end: Option<u64>| end.is_none_or(|end| end > *start);
        self.spans.iter().filter(|(_, (_, end))| is_later(*end)).map(|(key, _)| *key).collect()
    }
}

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
        let project = self.plan.project_dir.as_path();
        // The supervisor itself writes there.
        let own_dir = self.file.archon_files().map(|dir| project.join(dir));
        let is_stray = |path: &&PathBuf| {
            !own_dir.as_ref().is_some_and(|dir| path.starts_with(dir))
                && !keys
                    .iter()
                    .filter_map(|key| self.live.edit_paths.get(key))
                    .any(|paths| paths.allows(path))
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

    /// Reads the edit paths of runs of this iteration, each once.
    fn read_edit_paths(&mut self, keys: &[RunKey]) {
        let iteration = self.workflow.state().iteration;
        self.live.edit_paths.retain(|key, _| key.iteration == iteration);
        for key in keys.iter().filter(|key| key.iteration == iteration) {
            if self.live.edit_paths.contains_key(key) {
                continue;
            }
            let dir = self.home.run_with_id(&self.run_id(*key)).ok().flatten();
            if let Some(plan) = dir.and_then(|dir| dir.plan().ok()) {
                let paths = EditPaths::new(&plan.spec.guards.edit_paths, plan.spec.cwd.as_path());
                self.live.edit_paths.insert(*key, paths);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RunSpans;
    use longhaul_core::{AfterRun, Moment, Outcome, RunEnd, RunKey, RunShare, WorkflowRecord};

    #[test]
    fn runs_overlap_from_the_first_start_to_the_last_end() {
        let key = |item: u32| RunKey { iteration: 1, phase: 0, item, retry: 0 };
        let mut spans = RunSpans::default();
        // `+` starts or resumes a run, and `-` ends it.
        let mut apply = |steps: &str| {
            for step in steps.split(' ') {
                let (at, key) = (Moment(0), key(step[1..].parse().expect("a number")));
                let end =
                    RunEnd { outcome: Outcome::DONE, cost: Default::default(), active: Default::default() };
                spans.apply(&if step.starts_with('+') {
                    WorkflowRecord::RunPlanned { at, key, share: RunShare::default(), resumed: false }
                } else {
                    WorkflowRecord::RunEnded { at, key, end, next: AfterRun::Complete, parked_until: None }
                });
            }
        };
        apply("+0 -0 +1 +2 -1 +3");
        let overlapping = |spans: &RunSpans, item: u32| {
            spans.overlapping(key(item)).into_iter().map(|key| key.item).collect::<Vec<_>>()
        };
        apply("-3 +4");
        assert_eq!(overlapping(&spans, 4), [2, 4]);
        assert_eq!(overlapping(&spans, 2), [1, 2, 3, 4]);
    }
}

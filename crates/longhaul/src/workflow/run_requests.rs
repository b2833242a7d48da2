//! Requests for the runs of a workflow: renders the prompt of a run with the hints, results and limits so far. It starts
//! no run.

use super::driver::{Driver, NO_WORKTREES};
use crate::RunRequest;
use longhaul_core::{ItemState, RunId, RunKey, RunShare};
use longhaul_store::{Placement, StoreError, WorkflowPosition};
use longhaul_workflow::archon::slugs;
use longhaul_workflow::{PromptContext, PromptItem, item_text};

impl Driver<'_> {
    /// Renders the prompt and returns the request for a new run, or why there is none.
    pub(super) fn request(
        &self,
        key: RunKey,
        id: &RunId,
        share: RunShare,
    ) -> Result<Result<RunRequest, String>, StoreError> {
        let (policy, state) = (&self.plan.policy, self.workflow.state());
        let (phase, file) = (&policy.phases[key.phase], &self.file.phases()[key.phase]);
        if phase.has_worktrees && self.worktrees.is_none() {
            return Ok(Err(NO_WORKTREES.to_owned()));
        }
        let hints =
            if file.prompt.uses_hints() { self.receive_hints(key, &phase.name)? } else { Ok(Vec::new()) };
        let hints = match hints {
            Ok(hints) => hints,
            Err(problem) => return Ok(Err(problem)),
        };
        let item = self.results.item(key);
        let slugs = slugs(state.items(key.phase).map(|(_, item)| item.name.as_str()));
        let limits = state.limits(policy);
        // The shares of other live runs.
        let reserved = state.reserved().saturating_sub(share.budget.unwrap_or_default());
        let context = PromptContext {
            workflow: self.dir.id().as_str(),
            iteration: key.iteration,
            iterations_max: state.iterations_max(policy),
            item: item.zip(slugs.get(key.item as usize)).map(|(value, slug)| PromptItem {
                value,
                number: key.item + 1,
                slug,
            }),
            focus: self.plan.focus.as_deref(),
            hints: &hints,
            results: self.results.by_phase(),
            remaining_budget: limits.budget.map(|budget| budget.saturating_sub(state.cost + reserved)),
            remaining_time: limits.time.map(|time| time - state.clock.at(self.live.clock.at())),
            parameters: self.file.parameters(),
            project_dir: self.plan.project_dir.as_path(),
        };
        let edit_paths = file.edit_paths.iter().map(|path| path.render(&context)).collect();
        let (prompt, edit_paths) = match (file.prompt.render(&context), edit_paths) {
            (Ok(prompt), Ok(edit_paths)) => (prompt, edit_paths),
            (Err(error), _) | (_, Err(error)) => return Ok(Err(error.to_string())),
        };
        let spec = self.plan.runs[key.phase].clone().with(|spec| {
            // The share already respects the limits of the phase.
            let limits = &mut spec.policy.limits;
            (limits.budget, limits.time) = (share.budget.or(limits.budget), share.time.or(limits.time));
            spec.prompt = prompt;
            spec.guards.edit_paths = edit_paths;
            if let Some(worktrees) = self.worktrees.as_ref().filter(|_| phase.has_worktrees) {
                worktrees.move_run(id, spec);
            }
            spec.result_schema = file.schema.as_ref().map(|schema| schema.as_json().to_string());
        });
        let position = WorkflowPosition {
            id: self.dir.id().clone(),
            phase: phase.name.clone(),
            iteration: key.iteration,
            item: item.map(item_text),
        };
        let placement = Placement { id: Some(id.clone()), ..Placement::default() };
        let origins = self.plan.origins.get(key.phase).cloned().unwrap_or_default();
        Ok(Ok(RunRequest { placement, origins, workflow: Some(position), ..RunRequest::from(spec) }))
    }

    /// Returns the hints that this phase received in this iteration. The first run of the phase receives all
    /// pending ones, so that its other runs see the same. In a phase that takes place again, each run receives
    /// what the user wrote meanwhile.
    fn receive_hints(&self, key: RunKey, phase: &str) -> Result<Result<Vec<String>, String>, StoreError> {
        let is_first = !self.home_has_run_of(key) || self.workflow.state().phases[key.phase].is_reopened;
        if is_first {
            self.dir.receive_hints(key.iteration, phase)?;
        }
        let received = self.dir.received_hints(key.iteration, phase)?;
        let hints = received.into_iter().map(|hint| hint.text);
        let user_hints = self
            .archon
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |archon| archon.receive_hints(phase, is_first));
        Ok(user_hints.map(|user_hints| user_hints.into_iter().chain(hints).collect()))
    }

    /// Returns whether another run of the phase was started in this iteration.
    fn home_has_run_of(&self, key: RunKey) -> bool {
        let is_other = |(other, item): (RunKey, &ItemState)| {
            (other.item != key.item && item.share.is_some()) || other.item == key.item && other.retry > 0
        };
        self.workflow.state().items(key.phase).any(is_other)
    }
}

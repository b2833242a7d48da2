//! Derives `status.json` of a workflow: its state, for people and other programs. No decision depends on it. It may
//! lag behind the journal; recovering the workflow updates it.

use longhaul_core::{
    Dollars, ItemState, ItemStatus, Limit, Moment, Outcome, OutcomeKind, PhaseStatus, Rfc3339, RunId, RunKey,
    Span, UntilState, Usd, Workflow, WorkflowDeadline, WorkflowDeadlineKind, WorkflowPolicy, WorkflowStage,
};
use serde::{Deserialize, Serialize};

/// The state of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowStatus {
    /// Id of the workflow.
    pub workflow_id: RunId,
    /// `running`, `waiting`, `suspended` or the outcome's word.
    pub status: String,
    /// Exit code of the outcome.
    pub returncode: Option<u8>,
    /// When a retry makes sense (`retry_later`).
    pub retry_at: Option<Rfc3339>,
    /// Current or last iteration, starting at 1; 0 before the first.
    pub iteration: u32,
    /// Maximum number of iterations.
    pub iterations_max: u32,
    /// Phases of this iteration, in the order of the file.
    pub phases: Vec<PhaseReport>,
    /// Warnings of this iteration: parts that are left out, and files that could not be written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether the condition of `until` held in this iteration. `None` if it was not evaluated.
    pub until_holds: Option<bool>,
    /// Why the condition could not be evaluated.
    pub until_problem: Option<String>,
    /// Cost of all runs that ended.
    pub total_cost_usd: Dollars,
    /// Limit on the cost.
    pub budget_usd: Option<Dollars>,
    /// Working time.
    pub active_ms: Span,
    /// Limit on the working time.
    pub time_limit_ms: Option<Span>,
    /// Run that stopped the workflow by a limit of its own, which no limit of the workflow raises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_limit_run: Option<RunId>,
    /// Limit of the workflow that stopped it or a run, and that a resume must raise: `budget` or `time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted_limit: Option<Limit>,
    /// When the workflow next acts without an event.
    pub deadline_at: Option<Rfc3339>,
    /// Reason for that: `start_gap`, `memory` (the next run waits until more is available), `park` or `time`.
    pub deadline: Option<String>,
    /// PID of the supervisor.
    pub supervisor_pid: u32,
    /// When the file was written.
    pub updated_at: Rfc3339,
}

/// A phase in the current iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseReport {
    /// Name of the phase.
    pub name: String,
    /// `pending`, `running`, `skipped`, `stopped` (the workflow finished before its last run) or the outcome's word.
    pub status: String,
    /// Runs of the phase, in the order of its items.
    pub items: Vec<ItemReport>,
    /// Number of items above the maximum, which this iteration leaves out.
    pub deferred: u32,
    /// Cost of all runs of the phase that ended, also of those that a newer run of the same item replaced.
    #[serde(default)]
    pub total_cost_usd: Dollars,
    /// Problem that is not a run's: there were no items, or they could not be listed.
    pub problem: Option<String>,
}

/// An item of a phase, with its current run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ItemReport {
    /// Item as text. `None` for a phase without items.
    pub item: Option<String>,
    /// Id of the run. `None` before it is planned.
    pub run: Option<RunId>,
    /// `pending`, `running`, `parked`, `limited`, `suspended` or the outcome's word.
    pub status: String,
    /// When a parked run is resumed.
    pub until: Option<Rfc3339>,
    /// Cost of the run up to its last end.
    pub total_cost_usd: Dollars,
    /// Number of runs of the item before this one.
    pub retries: u32,
    /// Why the run has no valid result or did not start, or the files outside of its `edit_paths` that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl WorkflowStatus {
    /// Creates the status of `workflow` at `at`, without warnings, driven by process `supervisor_pid`. `problem_of` returns
    /// the problem of a run that has no valid result, did not start, or changed files outside of its `edit_paths`.
    pub fn new(
        id: &RunId,
        workflow: &Workflow,
        policy: &WorkflowPolicy,
        problem_of: impl Fn(RunKey, &RunId) -> Option<String>,
        supervisor_pid: u32,
        at: Moment,
    ) -> WorkflowStatus {
        let state = workflow.state();
        let outcome = state.outcome();
        let deadline = workflow.deadline(policy);
        let limits = state.limits(policy);
        let (until_holds, until_problem) = match &state.until {
            UntilState::Open | UntilState::Checking => (None, None),
            UntilState::Ended { holds, problem } => (*holds, problem.clone()),
        };
        let phase = |index: usize| {
            let phase = &policy.phases[index];
            let shown = state.phases.get(index);
            let status = match state.phase_status(policy, index) {
                PhaseStatus::Pending => "pending",
                PhaseStatus::Running if outcome.is_some() => "stopped",
                PhaseStatus::Running => "running",
                PhaseStatus::Skipped => "skipped",
                PhaseStatus::Ended => {
                    shown.and_then(|state| state.outcome).map_or("done", |outcome| outcome.kind.as_str())
                }
            };
            let item = |(key, item): (RunKey, &ItemState)| {
                let run = item.share.map(|_| key.run_id(id, &phase.name));
                // Otherwise the stored result is that of an earlier end of the run.
                let ended = run.as_ref().filter(|_| matches!(item.status, ItemStatus::Ended { .. }));
                let problem = ended.and_then(|run| problem_of(key, run));
                let (word, until) = match item.status {
                    // A finished workflow resumes nothing on its own.
                    ItemStatus::Parked { .. } if outcome.is_some() => {
                        (OutcomeKind::RetryLater.as_str(), None)
                    }
                    ItemStatus::Parked { until } => (item_status(item.status), Some(until)),
                    status => (item_status(status), None),
                };
                ItemReport {
                    item: phase.has_items.then(|| item.name.clone()),
                    run,
                    status: word.to_owned(),
                    until: until.map(Rfc3339),
                    total_cost_usd: item.cost.into(),
                    retries: item.retry,
                    problem,
                }
            };
            PhaseReport {
                name: phase.name.clone(),
                status: status.to_owned(),
                items: state.items(index).map(item).collect(),
                deferred: shown.map_or(0, |state| state.deferred),
                total_cost_usd: shown.map_or(Usd::ZERO, |state| state.cost).into(),
                problem: shown.and_then(|state| state.problem.clone()),
            }
        };
        WorkflowStatus {
            workflow_id: id.clone(),
            status: status_word(state.stage, outcome, deadline).to_owned(),
            returncode: outcome.as_ref().map(Outcome::exit_code),
            retry_at: outcome.and_then(|outcome| outcome.retry_at).map(Rfc3339),
            iteration: state.iteration,
            iterations_max: state.iterations_max(policy),
            phases: (0..policy.phases.len()).map(phase).collect(),
            warnings: Vec::new(),
            until_holds,
            until_problem,
            total_cost_usd: state.cost.into(),
            budget_usd: limits.budget.map(Into::into),
            active_ms: state.clock.at(at),
            time_limit_ms: limits.time,
            own_limit_run: state
                .stopped_at_own_limit(policy)
                .map(|key| key.run_id(id, &policy.phases[key.phase].name)),
            exhausted_limit: outcome.and_then(|_| state.exhausted_limit(policy)),
            deadline_at: deadline.map(|deadline| deadline.at.into()),
            deadline: deadline.map(|deadline| deadline.kind.as_str().to_owned()),
            supervisor_pid,
            updated_at: at.into(),
        }
    }
}

fn status_word(
    stage: WorkflowStage,
    outcome: Option<Outcome>,
    deadline: Option<WorkflowDeadline>,
) -> &'static str {
    match (stage, outcome) {
        (_, Some(outcome)) => outcome.kind.as_str(),
        (WorkflowStage::Suspended { .. }, None) => OutcomeKind::Suspended.as_str(),
        (WorkflowStage::New | WorkflowStage::Running | WorkflowStage::Finished { .. }, None) => {
            match deadline.map(|deadline| deadline.kind) {
                Some(WorkflowDeadlineKind::Park) => "waiting",
                // Another run works meanwhile.
                Some(
                    WorkflowDeadlineKind::Memory
                    | WorkflowDeadlineKind::StartGap
                    | WorkflowDeadlineKind::Time,
                )
                | None => "running",
            }
        }
    }
}

fn item_status(status: ItemStatus) -> &'static str {
    match status {
        ItemStatus::Pending | ItemStatus::Resuming { .. } => "pending",
        ItemStatus::Live => "running",
        ItemStatus::Parked { .. } => "parked",
        ItemStatus::Limited { .. } => "limited",
        ItemStatus::Suspended => OutcomeKind::Suspended.as_str(),
        ItemStatus::Ended { outcome } => outcome.kind.as_str(),
    }
}

//! The report of a finished workflow.

use crate::RunReport;
use longhaul_core::{
    CancelSource, Moment, Outcome, OutcomeKind, RunId, RunKey, Span, Workflow, WorkflowPolicy, WorkflowState,
};
use longhaul_store::{WorkflowDir, WorkflowPlan, WorkflowStatus};
use std::path::PathBuf;
use std::process;

/// The report of a finished or suspended workflow.
#[derive(Clone, Debug)]
pub struct WorkflowReport {
    /// The workflow.
    pub workflow: RunId,
    /// Its directory.
    pub dir: PathBuf,
    /// How it finished.
    pub outcome: Outcome,
    /// Its state: phases, runs and costs of the last iteration.
    pub status: WorkflowStatus,
    /// Errors for people: first the reason for the outcome, then the problems of runs and phases. Empty only if
    /// the work is done.
    pub errors: Vec<String>,
    /// Time from start to finish.
    pub wall: Span,
    /// Working time.
    pub active: Span,
    /// When it finished.
    pub finished_at: Moment,
}

impl WorkflowReport {
    /// Creates the report of a workflow that finished at `finished_at`, or that was suspended then.
    pub fn new(
        dir: &WorkflowDir,
        plan: &WorkflowPlan,
        workflow: &Workflow,
        outcome: Outcome,
        finished_at: Moment,
    ) -> WorkflowReport {
        let status = workflow_status(dir, plan, workflow, finished_at);
        let state = workflow.state();
        WorkflowReport {
            workflow: dir.id().clone(),
            dir: dir.path().to_owned(),
            outcome,
            errors: errors(&status, outcome, &plan.policy, state),
            wall: finished_at.since(plan.started_at.0),
            active: state.clock.at(finished_at),
            status,
            finished_at,
        }
    }
}

/// Returns the state of a workflow as of `at`, with the problems of its runs and its warnings. It names this process as
/// supervisor.
pub fn workflow_status(
    dir: &WorkflowDir,
    plan: &WorkflowPlan,
    workflow: &Workflow,
    at: Moment,
) -> WorkflowStatus {
    status_with(dir, plan, workflow, at, |key, _| problem_of(dir, plan, key))
}

/// Returns why a run is not done, or which files outside of its `edit_paths` changed, as stored for its last end.
pub fn problem_of(dir: &WorkflowDir, plan: &WorkflowPlan, key: RunKey) -> Option<String> {
    let phase = &plan.policy.phases[key.phase].name;
    let result = dir.result(key.iteration, phase, key.item).ok().flatten()?;
    // A new run of the same item replaces the result.
    result.problem.filter(|_| result.run == key.run_id(dir.id(), phase))
}

/// Returns the state of a workflow, with the problems of its runs that `problem` returns.
pub(super) fn status_with(
    dir: &WorkflowDir,
    plan: &WorkflowPlan,
    workflow: &Workflow,
    at: Moment,
    problem: impl Fn(RunKey, &RunId) -> Option<String>,
) -> WorkflowStatus {
    let warnings = dir.warnings(workflow.state().iteration).unwrap_or_default();
    let status = WorkflowStatus::new(dir.id(), workflow, &plan.policy, problem, process::id(), at);
    WorkflowStatus { warnings, ..status }
}

/// Returns why a run is not done, for people. `None` if its outcome says everything.
pub(super) fn reported_problem(report: &RunReport) -> Option<String> {
    let is_explained = is_explained(report.outcome.kind) || report.failed_check.is_some();
    let reason = report.errors.first().filter(|_| is_explained)?;
    let last_line = report.failed_check.as_ref().and_then(|check| last_line_of_output(&check.tail));
    Some(match last_line {
        Some(line) => format!("{reason}, and ends with: {line}"),
        None => reason.clone(),
    })
}

/// Returns the last line that the failed command wrote. `None` if it wrote nothing, so that the log ends with the
/// command.
fn last_line_of_output(log: &str) -> Option<&str> {
    let last = log.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    (!last.starts_with("$ ")).then_some(last)
}

fn is_explained(outcome: OutcomeKind) -> bool {
    match outcome {
        OutcomeKind::Done
        | OutcomeKind::Failed
        | OutcomeKind::NeedsPerson
        | OutcomeKind::CheckFailed
        | OutcomeKind::NotStarted
        | OutcomeKind::Incomplete
        | OutcomeKind::Bug => true,
        OutcomeKind::OverBudget
        | OutcomeKind::OutOfTime
        | OutcomeKind::Partial
        | OutcomeKind::RetryLater
        | OutcomeKind::Cancelled
        | OutcomeKind::Suspended => false,
    }
}

fn errors(
    status: &WorkflowStatus,
    outcome: Outcome,
    policy: &WorkflowPolicy,
    state: &WorkflowState,
) -> Vec<String> {
    if outcome.kind == OutcomeKind::Done {
        return Vec::new();
    }
    let mut errors = vec![reason(status, outcome, policy, state)];
    for phase in &status.phases {
        errors.extend(phase.problem.iter().map(|problem| format!("phase `{}`: {problem}", phase.name)));
        let failed = phase.items.iter().filter(|item| {
            let unfailed =
                ["pending", "running", OutcomeKind::Done.as_str(), OutcomeKind::Suspended.as_str()];
            !unfailed.contains(&item.status.as_str())
        });
        errors.extend(failed.filter_map(|item| {
            let run = item.run.as_ref()?;
            let problem = item.problem.as_ref().map_or_else(String::new, |problem| format!(": {problem}"));
            Some(match item.status.as_str() {
                "limited" => format!("run {run} used up its share of the budget"),
                "parked" => format!("run {run} waits for its API"),
                outcome => format!("run {run} finished as {outcome}{problem}"),
            })
        }));
    }
    errors
}

/// Returns the number of deferred items, if they alone keep the workflow from being done.
fn deferred_items(status: &WorkflowStatus) -> Option<u32> {
    let is_done = |word: &str| [OutcomeKind::Done.as_str(), "skipped"].contains(&word);
    let deferred = status.phases.iter().map(|phase| phase.deferred).sum();
    (deferred > 0 && status.phases.iter().all(|phase| is_done(&phase.status))).then_some(deferred)
}

fn reason(
    status: &WorkflowStatus,
    outcome: Outcome,
    policy: &WorkflowPolicy,
    state: &WorkflowState,
) -> String {
    if let Some(problem) = &status.until_problem {
        return format!("the condition of `until` could not be evaluated: {problem}");
    }
    if let Some((run, limit)) = status.own_limit_run.as_ref().zip(outcome.limit) {
        return format!("{} of run {run} stopped the workflow", limit.describe());
    }
    match outcome.kind {
        OutcomeKind::Partial if policy.until_after.is_some() => {
            format!("the condition of `until` does not hold after iteration {}", status.iteration)
        }
        OutcomeKind::Partial => match deferred_items(status) {
            Some(1) => "1 item above `max_objectives` was left out".to_owned(),
            Some(deferred) => format!("{deferred} items above `max_objectives` were left out"),
            None => "some runs of the workflow are not done".to_owned(),
        },
        OutcomeKind::OverBudget => {
            let budget = status.budget_usd.map_or_else(String::new, |budget| format!(" of {}", budget.0));
            format!("the budget stopped the workflow: {}{budget} used", status.total_cost_usd.0)
        }
        OutcomeKind::OutOfTime => {
            let limit = status.time_limit_ms.map_or_else(String::new, |limit| format!(" of {limit}"));
            format!("the time limit stopped the workflow: {}{limit} worked", state.clock.before)
        }
        // A signal that would suspend the workflow can cancel its runs.
        OutcomeKind::Cancelled => match state.cancelled_by.or(state.suspended_by) {
            Some(source) => format!("{} cancelled the workflow", source.actor()),
            None => "a run of the workflow was cancelled".to_owned(),
        },
        OutcomeKind::Suspended => {
            let source = outcome.cancelled_by.unwrap_or(CancelSource::Sigterm);
            format!("{} suspended the workflow", source.signal())
        }
        OutcomeKind::Done
        | OutcomeKind::Failed
        | OutcomeKind::NeedsPerson
        | OutcomeKind::CheckFailed
        | OutcomeKind::NotStarted
        | OutcomeKind::Incomplete
        | OutcomeKind::Bug
        | OutcomeKind::RetryLater => format!("a phase of the workflow finished as {}", outcome.kind),
    }
}

#[cfg(test)]
mod tests {
    use super::last_line_of_output;

    #[test]
    fn command_is_not_its_output() {
        assert_eq!(last_line_of_output("$ cargo test\n3 tests failed\n\n"), Some("3 tests failed"));
        assert_eq!(last_line_of_output("$ cargo test\nok\n$ test -f ok\n"), None);
        assert_eq!(last_line_of_output(""), None);
    }
}

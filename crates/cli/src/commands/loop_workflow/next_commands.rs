//! Commands that a user can type to continue a workflow. Each works as printed.

use longhaul_core::{Outcome, OutcomeKind};
use longhaul_store::WorkflowStatus;

/// Returns the commands that continue a finished or suspended workflow, the likeliest first. The list is empty if
/// nothing needs to be done.
pub fn next_commands(status: &WorkflowStatus, outcome: Outcome) -> Vec<String> {
    let id = &status.workflow_id;
    let failed_runs = status.phases.iter().flat_map(|phase| &phase.items).filter(|item| {
        let kinds = [OutcomeKind::Failed, OutcomeKind::NeedsPerson, OutcomeKind::CheckFailed];
        kinds.iter().any(|kind| kind.as_str() == item.status)
    });
    let why =
        failed_runs.filter_map(|item| item.run.as_ref()).next().map(|run| format!("longhaul why {run}"));
    let resume = format!("longhaul resume {id}");
    match outcome.kind {
        OutcomeKind::Done => Vec::new(),
        OutcomeKind::Suspended => vec![format!("longhaul recover {id}")],
        OutcomeKind::OverBudget => {
            // As much again, so that the rest has a chance to fit.
            let more = status.budget_usd.map_or(1.0, |budget| budget.0.as_dollars()).max(0.01);
            vec![format!("{resume} --add-budget {more:.2}")]
        }
        OutcomeKind::OutOfTime => {
            let more = status.time_limit_ms.map_or(3_600, |limit| limit.millis() / 1_000).max(1);
            vec![format!("{resume} --add-time {more}s")]
        }
        OutcomeKind::Partial if status.iteration >= status.iterations_max => why
            .into_iter()
            .chain([format!("{resume} --max-iterations {}", status.iterations_max * 2)])
            .collect(),
        OutcomeKind::Failed
        | OutcomeKind::NeedsPerson
        | OutcomeKind::CheckFailed
        | OutcomeKind::NotStarted
        | OutcomeKind::Incomplete
        | OutcomeKind::Partial
        | OutcomeKind::Bug
        | OutcomeKind::RetryLater
        | OutcomeKind::Cancelled => why.into_iter().chain([resume]).collect(),
    }
}

//! Supervises a workflow: signals cancel or suspend it, its progress and its outcome are printed.

use super::envelope::print_end;
use super::progress::WorkflowProgress;
use crate::args::GlobalArgs;
use crate::commands::detach::DetachObserver;
use crate::commands::supervise::supervisor;
use crate::failure::Failure;
use crate::hints::Hint;
use crate::next_commands::recover_or_cancel;
use crate::{open_home, run_learning, runtime, signals};
use longhaul::workflow::{WorkflowError, WorkflowObserver, WorkflowReport, WorkflowStart, WorktreeError};
use longhaul_core::OutcomeKind;
use longhaul_store::{Home, WorkflowDir};

/// Supervises one workflow on this thread, prints the outcome and returns the exit code.
pub fn supervise_and_print(global: &GlobalArgs, home: &Home, start: WorkflowStart) -> Result<u8, Failure> {
    if global.detached {
        let result = runtime::supervise(drive(home, start, &mut DetachObserver::default()))?;
        return result.map(|report| report.outcome.exit_code());
    }
    let mut progress = WorkflowProgress::new(global);
    let report = runtime::supervise(drive(home, start, &mut progress))?;
    progress.close();
    let report = report?;
    print_end(global, &report);
    Ok(report.outcome.exit_code())
}

/// Drives a workflow to its outcome. Signals of this process cancel or suspend it.
pub async fn drive(
    home: &Home,
    start: WorkflowStart,
    observer: &mut dyn WorkflowObserver,
) -> Result<WorkflowReport, Failure> {
    let supervisor = supervisor(home);
    let workflow = supervisor.observe_workflow(start, observer);
    signals::cancel(workflow.canceller())?;
    let report = workflow.await?;
    for run in report.status.phases.iter().flat_map(|phase| &phase.items).filter_map(|item| item.run.as_ref())
    {
        if let Ok(Some(dir)) = home.run_with_id(run) {
            run_learning::queue_sessions(dir.path());
        }
    }
    Ok(report)
}

impl From<WorktreeError> for Failure {
    fn from(error: WorktreeError) -> Failure {
        Failure { hint: error.hint(), ..Failure::not_started(error.to_string(), "") }
    }
}

impl From<WorkflowError> for Failure {
    fn from(error: WorkflowError) -> Failure {
        let text = error.to_string();
        match error {
            WorkflowError::Store(error) => error.into(),
            WorkflowError::File(error) => error.into(),
            WorkflowError::Worktrees(error) => error.into(),
            WorkflowError::AlreadyFinished { workflow, outcome } => {
                let hint = match outcome.kind {
                    OutcomeKind::Done => format!("`longhaul show {workflow}` shows it"),
                    _ => format!("continue it with `longhaul resume {workflow}`"),
                };
                Failure::not_started(text, hint)
            }
            WorkflowError::NotFinished(workflow) | WorkflowError::Orphaned(workflow) => {
                Failure::not_started(text, recover_or_cancel(workflow))
            }
            WorkflowError::RunWorks { run, .. } => Failure::not_started(
                text,
                format!(
                    "wait for the run with `longhaul attach {run}`, or stop it with `longhaul cancel {run}`"
                ),
            ),
            WorkflowError::Aborted { workflow, source } => {
                let remedy = if source.is_disk_full() { "free disk space" } else { "fix the cause" };
                let hint = format!("{remedy}, and continue it with `longhaul recover {workflow}`");
                Failure::aborted(workflow, text, hint)
            }
        }
    }
}

/// Finds a workflow by its id, a prefix of it, its name, or `@` for the latest one.
pub fn find(home: &Home, request: &str) -> Result<WorkflowDir, Failure> {
    open_home::find_workflow(home, request)?.ok_or_else(|| {
        if !request.starts_with('@')
            && let Ok(run) = open_home::find_run(home, request)
        {
            let hint = format!("`{request}` is a run: `longhaul show {}`", run.id());
            return Failure::usage(format!("no workflow `{request}`"), hint);
        }
        let last = home.workflows_newest_first().ok().and_then(|all| all.first().map(|dir| dir.id().clone()));
        let hint = match last {
            Some(last) => format!("the last workflow is {last}"),
            None => "there are no workflows yet; `longhaul loop` starts one".to_owned(),
        };
        Failure::usage(format!("no workflow `{request}`"), hint)
    })
}

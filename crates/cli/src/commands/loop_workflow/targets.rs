//! The commands that take a run or a workflow, for a workflow: `recover`, `attach`, `cancel` and `resume`.

use super::envelope::print_end;
use super::progress::WorkflowProgress;
use super::supervise::{drive, supervise_and_print};
use crate::args::{GlobalArgs, ResumeArgs};
use crate::commands::supervise::supervisor;
use crate::config::arguments::typed_except;
use crate::failure::Failure;
use crate::output::print_status;
use crate::workflow_next_commands::next_commands;
use crate::{frozen_supervisor, limit_flags, runtime, signals};
use clap::ArgMatches;
use longhaul::workflow::{NoWorkflowObserver, WorkflowError, WorkflowReport, WorkflowResume, WorkflowStart};
use longhaul_core::{
    CancelSource, Limit, Limits, OutcomeKind, RunId, Workflow, WorkflowLimits, WorkflowState,
};
use longhaul_store::{Home, Journal, WorkflowDir, WorkflowPlan};

/// Flags of `resume` that apply to a workflow.
const OF_WORKFLOW: [&str; 7] =
    ["run", "budget", "time_limit", "add_budget", "add_time", "max_iterations", "detach"];

/// Follows a workflow. Ctrl-C detaches.
pub fn attach(global: &GlobalArgs, home: &Home, dir: WorkflowDir) -> Result<u8, Failure> {
    let id = dir.id().clone();
    let mut progress = WorkflowProgress::new(global);
    let supervisor = supervisor(home);
    let following = supervisor.observe_workflow(WorkflowStart::Attach(dir), &mut progress);
    let followed = runtime::new()?.block_on(signals::until_cancelled(following));
    progress.close();
    match followed? {
        Ok(report) => {
            let report = report?;
            print_end(global, &report);
            Ok(report.outcome.exit_code())
        }
        Err(source) => {
            print_status(&format!("workflow {id} continues; stop it with `longhaul cancel {id}`"));
            Ok(source.exit_code())
        }
    }
}

/// Cancels a workflow, with or without a supervisor. Returns 0 once it is finished, whatever its outcome.
pub fn cancel(global: &GlobalArgs, home: &Home, dir: WorkflowDir, immediately: bool) -> Result<u8, Failure> {
    let report = runtime::supervise(finish(home, dir, immediately))??;
    print_end(global, &report);
    Ok(0)
}

async fn finish(home: &Home, dir: WorkflowDir, immediately: bool) -> Result<WorkflowReport, Failure> {
    let supervisor = supervisor(home);
    let source = if immediately { CancelSource::PersonNow } else { CancelSource::Person };
    if Journal::is_locked(&dir.journal_path())? {
        if let Some(hint) = frozen_supervisor::hint(dir.path()) {
            print_status(&format!("waiting: {hint}"));
        }
        dir.requests().send(source)?;
        match supervisor.observe_workflow(WorkflowStart::Attach(dir.clone()), &mut NoWorkflowObserver).await {
            // The supervisor died, or suspended the workflow first. This process takes over and cancels.
            Err(WorkflowError::Orphaned(_)) => {}
            Ok(report) if report.outcome.kind == OutcomeKind::Suspended => {}
            followed => return Ok(followed?),
        }
    }
    let mut observer = NoWorkflowObserver;
    let workflow = supervisor.observe_workflow(WorkflowStart::Recover(dir), &mut observer);
    workflow.canceller().cancel_by(source);
    workflow.await.map_err(|error| match error {
        WorkflowError::AlreadyFinished { ref workflow, .. } => {
            let hint = format!("see `longhaul status {workflow}`");
            Failure::not_started(error.to_string(), hint)
        }
        error => error.into(),
    })
}

pub fn resume(
    global: &GlobalArgs,
    args: &ResumeArgs,
    matches: &ArgMatches,
    home: &Home,
    dir: WorkflowDir,
) -> Result<u8, Failure> {
    let id = dir.id().clone();
    if let Some(other) = typed_except(&OF_WORKFLOW, "resume", matches) {
        return Err(Failure::usage(
            format!("`{other}` applies to a run, not to a workflow"),
            "a workflow takes --add-budget, --add-time, --budget, --time-limit and --max-iterations",
        ));
    }
    let plan = dir.plan()?;
    let loaded = Journal::load(&dir.journal_path())?;
    let workflow = Workflow::replay(loaded.records());
    let (current, iterations_max) = (workflow.state().iteration, args.max_iterations.map(u32::from));
    if let Some(max) = iterations_max.filter(|max| *max < current) {
        let text = format!("cannot resume workflow {id} with {max} iterations: it is in iteration {current}");
        return Err(Failure::usage(text, format!("pass --max-iterations {current} or more")));
    }
    let old = workflow.state().limits(&plan.policy);
    let mut new = Limits::default().with(|limits| (limits.budget, limits.time) = (old.budget, old.time));
    limit_flags::change("workflow", &args.changes.limits, &args.changes.more, &mut new)?;
    let new = WorkflowLimits { budget: new.budget, time: new.time };
    require_remaining(&dir, &workflow, &plan, new)?;
    let limits = (new != old).then_some(new);
    if limits.is_none() && iterations_max.is_none() && is_complete(workflow.state()) {
        return Err(already_done(&id));
    }
    let start = WorkflowStart::Resume { dir, resume: WorkflowResume { limits, iterations_max } };
    supervise_and_print(global, home, start)
}

/// Returns whether a workflow is done and left no items out, so that a resume would start nothing.
fn is_complete(state: &WorkflowState) -> bool {
    let is_done = state.outcome().is_some_and(|outcome| outcome.kind == OutcomeKind::Done);
    is_done && state.phases.iter().all(|phase| phase.deferred == 0)
}

fn already_done(workflow: &RunId) -> Failure {
    let hint = format!("`longhaul show {workflow}` shows it; `longhaul loop FILE` starts a new workflow");
    Failure::not_started(format!("cannot resume workflow {workflow}: it has finished as done"), hint)
}

/// Rejects the limit that stopped the workflow if it is not raised, or used up. Its runs would end at once.
fn require_remaining(
    dir: &WorkflowDir,
    workflow: &Workflow,
    plan: &WorkflowPlan,
    limits: WorkflowLimits,
) -> Result<(), Failure> {
    let state = workflow.state();
    let Some(outcome) = state.outcome() else { return Ok(()) };
    let (cost, time, is_unraised) = (state.cost, state.clock.before, limits == state.limits(&plan.policy));
    let (limit, is_exhausted, used) = match (state.exhausted_limit(&plan.policy), limits.budget, limits.time)
    {
        (Some(Limit::Budget), Some(budget), _) => {
            (Limit::Budget, cost >= budget, format!("{cost} of {budget}"))
        }
        (Some(Limit::Time), _, Some(limit)) => (Limit::Time, time >= limit, format!("{time} of {limit}")),
        (_, _, _) => return Ok(()),
    };
    let rest = match (is_exhausted, is_unraised) {
        (true, _) => "exhausted",
        (false, true) => "down to its wrap-up reserve",
        (false, false) => return Ok(()),
    };
    let error = format!("cannot resume workflow {}: {} is {rest} ({used})", dir.id(), limit.describe());
    let status = dir.status().ok();
    let raise = status.and_then(|status| next_commands(&status, outcome).into_iter().next());
    Err(Failure::usage(
        error,
        raise.map_or_else(
            || "add --add-budget 5 or --add-time 1h".to_owned(),
            |command| format!("raise it: `{command}`"),
        ),
    ))
}

/// Takes over a workflow as one of several, and prints how it finished.
pub async fn recover_one(global: &GlobalArgs, home: &Home, dir: WorkflowDir) -> Result<u8, Failure> {
    let mut progress = WorkflowProgress::lines_only(global);
    let report = drive(home, WorkflowStart::Recover(dir), &mut progress).await?;
    print_end(global, &report);
    Ok(report.outcome.exit_code())
}

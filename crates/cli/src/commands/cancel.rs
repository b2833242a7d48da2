//! `longhaul cancel`: finishes a run, with or without a supervisor.

use super::loop_workflow;
use super::show::print_end;
use super::supervise::supervisor;
use crate::args::{CancelArgs, GlobalArgs};
use crate::failure::Failure;
use crate::open_home::RunOrWorkflow;
use crate::output::print_status;
use crate::output::progress::ProgressDisplay;
use crate::{frozen_supervisor, open_home, run_learning, runtime};
use longhaul::{RunError, RunReport, RunStart, SuperviseError};
use longhaul_core::{CancelSource, OutcomeKind};
use longhaul_store::{Home, Journal, RunDir};

/// Runs the command and returns its exit code: 0 once the run is finished, whatever its outcome.
pub fn cancel(global: &GlobalArgs, args: &CancelArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let dir = match open_home::find_target(&home, &args.run)? {
        RunOrWorkflow::Run(dir) => dir,
        RunOrWorkflow::Workflow(dir) => return loop_workflow::cancel(global, &home, dir, args.immediately),
    };
    let report = runtime::supervise(finish(&home, dir, args.immediately, global))??;
    print_end(global, &report);
    Ok(0)
}

async fn finish(
    home: &Home,
    dir: RunDir,
    immediately: bool,
    global: &GlobalArgs,
) -> Result<RunReport, Failure> {
    let supervisor = supervisor(home);
    let mut screen = ProgressDisplay::following(global);
    let source = if immediately { CancelSource::PersonNow } else { CancelSource::Person };
    let is_locked = Journal::is_locked(&dir.journal_path())?;
    if is_locked {
        if let Some(hint) = frozen_supervisor::hint(dir.path()) {
            print_status(&format!("waiting: {hint}"));
        }
        dir.requests().send(source)?;
        match supervisor.observe(RunStart::Attach(dir.clone()), &mut screen).await {
            // The supervisor died, or suspended the run first. This process takes over and cancels.
            Err(RunError::NotStarted(SuperviseError::Orphaned(_))) => {}
            Ok(report) if report.outcome.kind == OutcomeKind::Suspended => {}
            followed => {
                let report = followed?;
                screen.close();
                return Ok(report);
            }
        }
    }
    let run = supervisor.observe(RunStart::Recover { dir, notify: None }, &mut screen);
    run.canceller().cancel_by(source);
    let result = run.await;
    screen.close();
    result.iter().for_each(|report| run_learning::queue_sessions(&report.dir));
    result.map_err(|error| match error {
        RunError::NotStarted(SuperviseError::AlreadyFinished { run, outcome, .. }) => Failure::not_started(
            format!("run {run} has already finished: {}", outcome.kind),
            format!("see `longhaul why {run}`"),
        ),
        error => error.into(),
    })
}

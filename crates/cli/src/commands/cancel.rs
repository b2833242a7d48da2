//! `longhaul cancel`: finishes a run, with or without a supervisor.

use super::run::failure;
use super::show::print_end;
use super::watchdog::environment;
use crate::args::{CancelArgs, GlobalArgs};
use crate::failure::Failure;
use crate::output::{self, progress::ProgressDisplay};
use crate::{open_home, runtime};
use longhaul::{FollowEnd, RunError, RunReport, SuperviseError, follow, recover};
use longhaul_core::CancelSource;
use longhaul_store::{Home, Journal, RunDir, SupervisorRequest};
use tokio::sync::mpsc;

/// Runs the command and returns its exit code: 0 once the run is finished, whatever its outcome.
pub fn cancel(global: &GlobalArgs, args: &CancelArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let dir = open_home::find_run(&home, &args.run)?;
    let runtime = runtime::new()?;
    let report = runtime.block_on(finish(&home, dir, args.immediately, global))?;
    print_end(&report, output::format(global));
    Ok(0)
}

async fn finish(
    home: &Home,
    dir: RunDir,
    immediately: bool,
    global: &GlobalArgs,
) -> Result<RunReport, Failure> {
    let mut screen = ProgressDisplay::following(global);
    let is_locked =
        Journal::is_locked(&dir.journal_path()).map_err(|error| open_home::store_failure(&error))?;
    if is_locked {
        let request = if immediately { SupervisorRequest::CancelNow } else { SupervisorRequest::Cancel };
        dir.send_request(request).map_err(|error| open_home::store_failure(&error))?;
        let followed = follow(&dir, &mut screen).await;
        if let FollowEnd::Ended(report) = followed.map_err(|error| failure(RunError::NotStarted(error)))? {
            screen.close();
            return Ok(*report);
        }
        // The supervisor died meanwhile. This process takes over and cancels.
    }
    let (sender, cancels) = mpsc::channel(1);
    // The channel has room for one request, and nothing else is sent.
    let _ = sender.try_send(if immediately { CancelSource::PersonNow } else { CancelSource::Person });
    let result = recover(home, dir, None, environment(), &mut screen, cancels).await;
    screen.close();
    result.map_err(|error| match error {
        RunError::NotStarted(SuperviseError::AlreadyFinished { run, outcome, .. }) => Failure::not_started(
            format!("run {run} has already finished: {}", outcome.kind),
            format!("see `longhaul why {run}`"),
            None,
        ),
        error => failure(error),
    })
}

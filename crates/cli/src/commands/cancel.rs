//! `longhaul cancel`: ends a run, whoever supervises it.

use super::run::failure;
use super::show::print_end;
use super::watchdog::environment;
use crate::args::{CancelArgs, Global};
use crate::failure::Failure;
use crate::output::{self, screen::Screen};
use crate::{home, runtime};
use longhaul::{Followed, Report, RunError, SuperviseError, follow, recover};
use longhaul_core::By;
use longhaul_store::{Home, Journal, RunDir, RunRequest};
use tokio::sync::mpsc;

/// Carries out the command and returns its exit code: 0 once the run is over, however it ended.
pub fn cancel(global: &Global, args: &CancelArgs) -> Result<u8, Failure> {
    let home = home::locate()?;
    let dir = home::find_run(&home, &args.run)?;
    let runtime = runtime::new()?;
    let report = runtime.block_on(end(&home, dir, args.now, global))?;
    print_end(&report, output::format(global));
    Ok(0)
}

async fn end(home: &Home, dir: RunDir, now: bool, global: &Global) -> Result<Report, Failure> {
    let mut screen = Screen::following(global);
    let held = Journal::is_held(&dir.journal_path()).map_err(|error| home::of_store(&error))?;
    if held {
        let request = if now { RunRequest::CancelNow } else { RunRequest::Cancel };
        dir.ask(request).map_err(|error| home::of_store(&error))?;
        let followed = follow(&dir, &mut screen).await;
        if let Followed::Ended(report) = followed.map_err(|error| failure(RunError::Refused(error)))? {
            screen.close();
            return Ok(*report);
        }
        // Its supervisor died of something else meanwhile; the wish is ours to carry out now.
    }
    let (sender, cancels) = mpsc::channel(1);
    // Room for one, and nobody else sends.
    let _ = sender.try_send(if now { By::PersonNow } else { By::Person });
    let ended = recover(home, dir, None, environment(), &mut screen, cancels).await;
    screen.close();
    ended.map_err(|error| match error {
        RunError::Refused(SuperviseError::Ended { run, outcome, .. }) => Failure::refused(
            format!("cancel run {run}: it has ended as {}", outcome.kind),
            format!("nothing of it goes on; `longhaul why {run}` tells how it ended"),
            None,
        ),
        error => failure(error),
    })
}

//! `longhaul attach`: follows a run that another process supervises. Detaching changes nothing.

use super::run::failure;
use super::show::print_end;
use crate::args::{AttachArgs, GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use crate::output::events::{self, Events, Writer};
use crate::output::progress::ProgressDisplay;
use crate::output::stream::Stream;
use crate::{open_home, runtime, signals};
use longhaul::{FollowEnd, Observer, RunError, SuperviseError, follow};
use longhaul_core::CancelSource;

/// Why following ended.
enum AttachEnd {
    /// The run finished or was orphaned.
    Followed(FollowEnd),
    /// The user detached.
    Detached(CancelSource),
}

/// Runs the command and returns the exit code of the run.
pub fn attach(global: &GlobalArgs, args: &AttachArgs) -> Result<u8, Failure> {
    let format = output::format(global);
    let home = open_home::locate()?;
    let dir = open_home::find_run(&home, &args.run)?;
    let events = events::open(&args.events, global, false)?;
    let (queue, prints_report) =
        (events.as_ref().map(Writer::queue), !events.as_ref().is_some_and(Writer::is_on_stdout));
    let runtime = runtime::new()?;
    let mut screen = ProgressDisplay::following(global);
    let follow = async |observer: &mut dyn Observer| match queue {
        Some(queue) => follow(&dir, &mut Events::following(observer, queue)).await,
        None => follow(&dir, observer).await,
    };
    let result = runtime.block_on(async {
        let mut cancels = signals::cancels().map_err(SuperviseError::Io)?;
        let follow_run = async {
            match format {
                OutputFormat::StreamJson => follow(&mut Stream::new(&mut screen)).await,
                OutputFormat::Json | OutputFormat::Text => follow(&mut screen).await,
            }
        };
        tokio::select! {
            followed = follow_run => followed.map(AttachEnd::Followed),
            Some(by) = cancels.recv() => Ok(AttachEnd::Detached(by)),
        }
    });
    screen.close();
    events::close(events, global);
    let followed = match result.map_err(|error| failure(RunError::NotStarted(error)))? {
        AttachEnd::Followed(followed) => followed,
        AttachEnd::Detached(by) => {
            if !global.quiet {
                let run = dir.id();
                output::print_status(&format!("run {run} continues; stop it with `longhaul cancel {run}`"));
            }
            return Ok(by.exit_code());
        }
    };
    match followed {
        FollowEnd::Ended(report) => {
            if prints_report {
                print_end(&report, format);
            }
            Ok(report.outcome.exit_code())
        }
        FollowEnd::Orphaned => Err(Failure::not_started(
            format!("cannot follow run {}: it has no supervisor", dir.id()),
            format!(
                "continue it with `longhaul recover {0}`, or stop it with `longhaul cancel {0}`",
                dir.id()
            ),
            None,
        )),
    }
}

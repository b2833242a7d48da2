//! `longhaul attach`: follows a run that another process supervises. Detaching changes nothing.

use super::detach;
use super::show::print_end;
use super::supervise::supervisor;
use crate::args::{EventsArgs, GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use crate::output::events::{self, Events, Writer};
use crate::output::progress::ProgressDisplay;
use crate::output::stream::Stream;
use crate::{frozen_supervisor, open_home, runtime, signals};
use longhaul::{Observer, RunStart};
use longhaul_store::RunDir;

/// Follows a running run and returns its exit code, or only announces it if this process is detached.
pub fn attach(global: &GlobalArgs, dir: &RunDir, events: &EventsArgs) -> Result<u8, Failure> {
    if global.detached {
        detach::announce(dir.id(), dir.path());
        return Ok(0);
    }
    if let Some(hint) = frozen_supervisor::hint(dir.path()) {
        output::print_warning(&hint, None);
    }
    let format = output::format(global);
    let home = open_home::locate()?;
    let events = events::open(events, global)?;
    let (queue, prints_report) =
        (events.as_ref().map(Writer::queue), !events.as_ref().is_some_and(Writer::is_on_stdout));
    let runtime = runtime::new()?;
    let mut screen = ProgressDisplay::following(global);
    let (supervisor, start) = (supervisor(&home), RunStart::Attach(dir.clone()));
    let (mut events_of_run, mut stream) = (queue.map(Events::following), Stream::new());
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(events_of_run.as_mut().map(|events| events as &mut dyn Observer));
    if format == OutputFormat::StreamJson {
        observers.push(&mut stream);
    }
    observers.push(&mut screen);
    let followed = runtime.block_on(signals::until_cancelled(supervisor.observe(start, &mut observers)));
    screen.close();
    // The writer ends when nothing can send events any more.
    drop(events_of_run);
    events::close(events);
    match followed? {
        Ok(report) => {
            let report = report?;
            if prints_report {
                print_end(global, &report);
            }
            Ok(report.outcome.exit_code())
        }
        Err(by) => {
            if !global.quiet {
                let run = dir.id();
                output::print_status(&format!("run {run} continues; stop it with `longhaul cancel {run}`"));
            }
            Ok(by.exit_code())
        }
    }
}

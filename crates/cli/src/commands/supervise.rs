//! Supervises a run in this process, displays it and prints how it ended. It prepares no run.

use super::runs::table::outcome_style;
use super::show::{finish, print_end};
use crate::args::{EventsArgs, GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::next_commands::commands_of;
use crate::output::color::Style;
use crate::output::events::{self, Events, Queue, Writer};
use crate::output::lifecycle::Lifecycle;
use crate::output::progress::ProgressDisplay;
use crate::output::stream::Stream;
use crate::output::{self, phrases};
use crate::telemetry::TelemetryHandle;
use crate::{open_home, run_learning, runtime, signals};
use longhaul::{Observer, RunReport, RunStart, Supervisor};
use longhaul_core::{OutcomeKind, RunId};
use longhaul_store::{Home, Journal, RunDir};
use std::path::Path;

// Live runs are among the newest. Each check tries to lock a journal.
const NEIGHBORS_MAX: usize = 100;

/// Recipients of a run's progress, in addition to the terminal.
pub struct DisplayOptions {
    pub has_permission_mode: bool,
    pub events: Option<Writer>,
    pub lifecycle: Option<Lifecycle>,
}

impl DisplayOptions {
    pub fn open(global: &GlobalArgs, args: &EventsArgs) -> Result<DisplayOptions, Failure> {
        let events = events::open(args, global)?;
        Ok(DisplayOptions { has_permission_mode: true, events, lifecycle: None })
    }
}

pub fn supervisor(home: &Home) -> Supervisor {
    Supervisor::from(home.clone()).with_environment(super::watchdog::environment())
}

/// Supervises one run. Signals of this process cancel it.
pub async fn supervise(
    supervisor: &Supervisor,
    start: RunStart,
    observer: &mut dyn Observer,
    format: OutputFormat,
    events: Option<Queue>,
    mut telemetry: Option<Box<dyn Observer>>,
) -> Result<RunReport, Failure> {
    let mut events = events.map(Events::new);
    let mut stream = (format == OutputFormat::StreamJson).then(Stream::new);
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(events.as_mut().map(|events| events as &mut dyn Observer));
    observers.extend(telemetry.as_deref_mut().map(|telemetry| telemetry as &mut dyn Observer));
    observers.extend(stream.as_mut().map(|stream| stream as &mut dyn Observer));
    observers.push(observer);
    let run = supervisor.observe(start, &mut observers);
    signals::cancel(run.canceller())?;
    Ok(run.await?)
}

/// Supervises one run on this thread, displays it, prints the outcome and returns the exit code.
pub fn supervise_and_print(
    global: &GlobalArgs,
    options: DisplayOptions,
    home: &Home,
    start: RunStart,
) -> Result<u8, Failure> {
    let format = output::format(global);
    let prints_report = !options.events.as_ref().is_some_and(Writer::is_on_stdout);
    let DisplayOptions { has_permission_mode, events, lifecycle } = options;
    let telemetry = TelemetryHandle::start();
    let supervised = |observer: &mut dyn Observer, format| {
        let (events, telemetry) = (events.as_ref().map(Writer::queue), telemetry.observer());
        runtime::supervise(supervise(&supervisor(home), start, observer, format, events, telemetry))?
    };
    let result = if global.detached {
        supervised(&mut super::detach::DetachObserver::default(), OutputFormat::Text)
    } else {
        lifecycle.iter().for_each(Lifecycle::emit_start);
        let mut screen = ProgressDisplay::new(global, has_permission_mode);
        let result = supervised(&mut screen, format);
        screen.close();
        result
    };
    // Its warnings are printed after the live view is closed.
    result.iter().for_each(|report| run_learning::queue_sessions(&report.dir));
    // The result of a detached run is read by attaching to it.
    if !global.detached {
        lifecycle.iter().for_each(|lifecycle| lifecycle.emit_end(&result));
        if let Ok(report) = &result {
            if prints_report {
                print_end(global, report);
            }
            if format != OutputFormat::Text || !prints_report {
                let subject = format!("run {}", report.run);
                print_outcome(global, &subject, report.outcome.kind, &finish(report), || hint(report));
            }
        }
    }
    events::close(events);
    telemetry.close();
    result.map(|report| report.outcome.exit_code())
}

/// Warns of another live run in this directory, because both change the same files.
pub fn warn_of_neighbor(cwd: &Path, own_run: Option<&RunId>) {
    let Ok(runs) = open_home::locate().and_then(|home| Ok(home.runs_newest_first()?)) else {
        return;
    };
    let is_here = |run: &RunDir| {
        own_run != Some(run.id())
            && Journal::is_locked(&run.journal_path()).unwrap_or(false)
            && run.plan().is_ok_and(|plan| plan.spec.cwd == cwd)
    };
    if let Some(other) = runs.take(NEIGHBORS_MAX).find(is_here) {
        let hint = format!(
            "follow it with `longhaul logs {0} --follow`, stop it with `longhaul cancel {0}`",
            other.id()
        );
        output::print_warning(&format!("another run, {}, works in this directory", other.id()), Some(&hint));
    }
}

/// Returns advice and the commands that continue a finished run. Empty if there are none.
fn hint(report: &RunReport) -> String {
    let commands: Vec<String> =
        commands_of(&report.dir).iter().map(|command| format!("`{command}`")).collect();
    let commands = Some(commands.join(" or ")).filter(|commands| !commands.is_empty());
    let read = || {
        let dir = RunDir::from_path(report.dir.clone())?;
        phrases::advice_of(open_home::replay(&dir).ok()?.state(), &dir.plan().ok()?.spec.agent)
    };
    let advice = read();
    let advice = advice.map(str::to_owned);
    advice.into_iter().chain(commands).collect::<Vec<_>>().join(": ")
}

/// Prints the outcome of a run or a workflow on stderr, because a program may read stdout. Omits `done`.
pub fn print_outcome(
    global: &GlobalArgs,
    subject: &str,
    kind: OutcomeKind,
    how: &str,
    hint: impl FnOnce() -> String,
) {
    if global.quiet || kind == OutcomeKind::Done {
        return;
    }
    let hint = Some(hint()).filter(|hint| !hint.is_empty());
    let state = if kind == OutcomeKind::Suspended { "is" } else { "finished as" };
    let text = format!("{subject} {state} {how}");
    // What a person stopped, or what needs one, has not failed.
    if outcome_style(kind) == Some(Style::Bad) {
        output::print_error(&text, hint.as_deref());
    } else {
        output::print_warning(&text, hint.as_deref());
    }
}

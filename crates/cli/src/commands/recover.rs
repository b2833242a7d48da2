//! `longhaul recover`: goes on with the runs whose supervisor died, all at once.

pub mod env_file;
mod service;
mod unit;

pub use service::is_installed;

use super::run::failure;
use super::runs::{Row, table};
use super::show::print_end;
use super::watchdog::environment;
use crate::args::{GlobalArgs, OutputFormat, RecoverArgs};
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::events::{self, Events, Queue, Writer};
use crate::output::lifecycle::Lifecycle;
use crate::output::pager::page;
use crate::output::progress::ProgressDisplay;
use crate::output::stream::Stream;
use crate::output::{self, print_status};
use crate::run_learning::{destination, start_worker};
use crate::signals;
use crate::telemetry::{TelemetryExporter, TelemetryHandle, telling};
use crate::{notify_flag, open_home, run_learning, runtime};
use longhaul::{Observer, RunReport, recover as take_over, recoverable};
use longhaul_core::{CancelSource, Outcome, OutcomeKind, Span};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::{Home, Journal, LedgerEntry, RunDir};
use std::fs;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

/// Carries out the command and returns its exit code.
pub fn recover(global: &GlobalArgs, args: &RecoverArgs) -> Result<u8, Failure> {
    let format = output::format(global);
    let home = open_home::locate()?;
    if args.install || args.print_service {
        let unit = service::unit(&home, args.active_within)?;
        return if args.print_service { Ok(service::print(&unit)) } else { service::install(&unit, global) };
    }
    if args.uninstall {
        return service::uninstall(global);
    }
    let runs = match &args.run {
        Some(asked) => vec![open_home::find_run(&home, asked)?],
        None => all(&home, args.active_within, global)?,
    };
    let unreadable =
        if args.run.is_none() { complain_of_unreadable(&home, args.active_within)? } else { Vec::new() };
    if args.list {
        list(&runs, global);
        return Ok(0);
    }
    if args.run.is_none() {
        go_on_learning(&home, global);
    }
    if runs.is_empty() && unreadable.is_empty() && !global.quiet {
        print_status("nothing to recover: every run has ended or is supervised");
    }
    notify_flag::check(&args.notify, None)?;
    let events = events::open(&args.events, global, false)?;
    let sending = TelemetryHandle::start(global);
    let ended = carry_on(&home, runs, (global, args), format, (events.as_ref(), &sending));
    events::close(events, global);
    sending.close(global);
    let mut ended = ended?;
    ended.extend(unreadable);
    match ended.as_slice() {
        [only] => Ok(*only),
        all if all.iter().all(|code| *code == 0) => Ok(0),
        _ => Ok(Outcome { kind: OutcomeKind::Incomplete, ..Outcome::DONE }.exit_code()),
    }
}

/// Starts a worker for what sessions have left to be learnt from, if some of it is due. No run waits for that.
fn go_on_learning(home: &Home, global: &GlobalArgs) {
    let place = LearningPaths::in_home(home.path());
    let Ok(Some(learning)) = LearningDb::open_existing(&place) else { return };
    let api = destination();
    for judge in JudgeKind::ALL {
        let is_due = learning.has_due(output::now(), &api, *judge).unwrap_or(false);
        if is_due && start_worker(&place, &api, *judge).is_ok() && !global.quiet {
            print_status("learning from past sessions goes on in the background: longhaul playbook status");
        }
    }
}

/// An id a line for programs; for people, since when each goes on, and what it is about.
fn list(runs: &[RunDir], global: &GlobalArgs) {
    if !output::out::stdout_is_terminal() {
        runs.iter().for_each(|run| output::print_text(&format!("{}\n", run.id())));
    } else if runs.is_empty() {
        print_status("nothing to recover: every run has ended or is supervised");
    } else {
        let rows: Vec<Row> = runs.iter().map(|run| Row::new(LedgerEntry::read(run).run)).collect();
        let rows: Vec<_> = rows.iter().map(|row| (row, None)).collect();
        page(global, &table::runs(&rows, output::now(), output::width(), Colors::stdout()));
    }
}

/// Every run to go on with. One that nobody has touched for long is the user's to decide on: it may
/// have been given up on purpose, and going on costs money.
fn all(home: &Home, within: Option<Span>, global: &GlobalArgs) -> Result<Vec<RunDir>, Failure> {
    let runs = recoverable(home).map_err(|error| open_home::of_store(&error))?;
    let (recent, old): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| is_recent(run, within));
    for run in old.iter().filter(|_| !global.quiet) {
        print_status(&format!(
            "left alone: {} was last active {} ago; `longhaul recover {0}` goes on with it",
            run.id(),
            age(run)
        ));
    }
    Ok(recent)
}

/// Says of each recent run that may not be over, and that nobody can go on with, why that is. Returns an exit code for
/// each.
fn complain_of_unreadable(home: &Home, within: Option<Span>) -> Result<Vec<u8>, Failure> {
    let runs = home.runs_newest_first().map_err(|error| open_home::of_store(&error))?;
    let open = runs.filter(|run| !run.status().is_ok_and(|status| status.returncode.is_some()));
    let failures = open.filter(|run| is_recent(run, within)).filter_map(|run| {
        let failure = open_home::of_store(&Journal::load(&run.journal_path()).err()?);
        output::print_error(&failure.error, failure.hint.as_deref());
        Some(failure.exit_code)
    });
    Ok(failures.collect())
}

fn is_recent(run: &RunDir, within: Option<Span>) -> bool {
    within.is_none_or(|within| within == Span::ZERO || age(run) <= within)
}

/// Since when nothing was decided.
fn age(run: &RunDir) -> Span {
    let found = fs::metadata(run.journal_path()).or_else(|_| fs::metadata(run.path()));
    let modified = found.and_then(|found| found.modified());
    let age = modified.ok().and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
    Span::from_secs(age.as_secs())
}

/// Supervises all of them on one thread, prints each envelope as its run ends, and returns their exit
/// codes.
fn carry_on(
    home: &Home,
    runs: Vec<RunDir>,
    (global, args): (&GlobalArgs, &RecoverArgs),
    format: OutputFormat,
    (events, sending): (Option<&Writer>, &TelemetryHandle),
) -> Result<Vec<u8>, Failure> {
    let prints = !events.is_some_and(Writer::is_on_stdout);
    let runtime = runtime::new()?;
    let alone = runs.len() == 1;
    runtime.block_on(LocalSet::new().run_until(async {
        let mut cancels =
            signals::cancels().map_err(|error| Failure::unexpected(format!("listen to signals: {error}")))?;
        let mut senders = Vec::new();
        let mut supervised = JoinSet::new();
        for dir in runs {
            let (sender, cancels) = mpsc::channel(signals::CANCELS_MAX);
            senders.push(sender);
            let (home, told) =
                (home.clone(), (args.notify.commands(), events.map(Writer::queue), sending.exporter()));
            let shown = if alone {
                ProgressDisplay::new(global, true)
            } else {
                ProgressDisplay::prefixed(global, dir.id())
            };
            let lifecycle = dir.plan().ok().and_then(|plan| Lifecycle::of_plan(global, &plan));
            supervised.spawn_local(async move {
                let ended = one(&home, dir, (shown, format), told, cancels).await;
                lifecycle.iter().for_each(|lifecycle| lifecycle.emit_end(&ended));
                ended
            });
        }
        // Every run is asked to end by the same signal.
        tokio::task::spawn_local(async move {
            while let Some(by) = cancels.recv().await {
                for sender in &senders {
                    let _ = sender.send(by).await;
                }
            }
        });
        let mut codes = Vec::new();
        while let Some(ended) = supervised.join_next().await {
            let ended = ended.map_err(|error| Failure::unexpected(error.to_string()))?;
            match ended {
                Ok(report) => {
                    if prints {
                        print_end(&report, format);
                    }
                    codes.push(report.outcome.exit_code());
                }
                Err(failure) if alone => return Err(failure),
                Err(failure) => {
                    output::print_error(&failure.error, failure.hint.as_deref());
                    codes.push(failure.exit_code);
                }
            }
        }
        Ok(codes)
    }))
}

async fn one(
    home: &Home,
    dir: RunDir,
    (mut screen, format): (ProgressDisplay, OutputFormat),
    (notify, events, voice): (Option<Vec<String>>, Option<Queue>, TelemetryExporter),
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<RunReport, Failure> {
    let mut stream;
    let observer: &mut dyn Observer = match format {
        OutputFormat::StreamJson => {
            stream = Stream::new(&mut screen);
            &mut stream
        }
        OutputFormat::Json | OutputFormat::Text => &mut screen,
    };
    let ended = {
        let mut observer = telling(observer, voice);
        match events {
            Some(queue) => {
                let mut events = Events::new(&mut observer, queue);
                take_over(home, dir, notify, environment(), &mut events, cancels).await
            }
            None => take_over(home, dir, notify, environment(), &mut observer, cancels).await,
        }
    };
    screen.close();
    ended.map_err(failure).inspect(|report| run_learning::after(&report.dir))
}

//! `longhaul recover`: takes over all orphaned runs.

pub mod env_file;
mod service;
mod unit;

pub use service::is_installed;

use super::run::{Outputs, supervise, supervisor};
use super::runs::{Row, table};
use super::show::print_end;
use crate::args::{GlobalArgs, OutputFormat, RecoverArgs};
use crate::command_flags::check_channels;
use crate::failure::{self, Failure};
use crate::output::color::Colors;
use crate::output::events::{self, Writer};
use crate::output::lifecycle::Lifecycle;
use crate::output::pager::page;
use crate::output::progress::ProgressDisplay;
use crate::output::{self, print_status};
use crate::run_learning::{destination, start_worker};
use crate::telemetry::TelemetryHandle;
use crate::{open_home, run_learning, runtime};
use longhaul::{RunStart, recoverable};
use longhaul_core::{OutcomeKind, Span};
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::{Home, Journal, LedgerEntry, RunDir};
use std::fs;
use tokio::task::{JoinSet, LocalSet};

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
        Some(selector) => vec![open_home::find_run(&home, selector)?],
        None => runs_to_recover(&home, args.active_within, global)?,
    };
    let unreadable =
        if args.run.is_none() { print_unreadable_runs(&home, args.active_within)? } else { Vec::new() };
    if args.list {
        list(&runs, global);
        return Ok(0);
    }
    if args.run.is_none() {
        start_learning(&home, global);
    }
    if runs.is_empty() && unreadable.is_empty() && !global.quiet {
        print_status("nothing to recover");
    }
    check_channels(&args.notify, None)?;
    let events = events::open(&args.events, global, false)?;
    let telemetry = TelemetryHandle::start(global);
    let results = supervise_all(&home, runs, global, args, format, events.as_ref(), &telemetry);
    events::close(events, global);
    telemetry.close(global);
    let mut exit_codes = results?;
    exit_codes.extend(unreadable);
    match exit_codes.as_slice() {
        [only] => Ok(*only),
        all if all.iter().all(|code| *code == 0) => Ok(0),
        _ => Ok(failure::code(OutcomeKind::Incomplete)),
    }
}

/// Starts a worker if lessons are due. Runs do not wait for it.
fn start_learning(home: &Home, global: &GlobalArgs) {
    let paths = LearningPaths::in_home(home.path());
    let Ok(Some(learning)) = LearningDb::open_existing(&paths) else { return };
    let api = destination();
    for judge in JudgeKind::ALL {
        let is_due = learning.has_due(output::now(), &api, *judge).unwrap_or(false);
        if is_due && start_worker(&paths, &api, *judge).is_ok() && !global.quiet {
            print_status("learning from past sessions continues in the background: longhaul playbook status");
        }
    }
}

/// Lists the runs: one id on each line for programs, a table for people.
fn list(runs: &[RunDir], global: &GlobalArgs) {
    if !output::out::stdout_is_terminal() {
        runs.iter().for_each(|run| output::print_text(&format!("{}\n", run.id())));
    } else if runs.is_empty() {
        print_status("nothing to recover");
    } else {
        let rows: Vec<Row> = runs.iter().map(|run| Row::new(LedgerEntry::read(run).run)).collect();
        let rows: Vec<_> = rows.iter().map(|row| (row, None)).collect();
        page(global, &table::runs(&rows, output::now(), output::width(), Colors::stdout()));
    }
}

/// Returns the runs to recover. Runs that have been inactive for long are skipped: they may have been
/// abandoned on purpose, and continuing costs money.
fn runs_to_recover(
    home: &Home,
    active_within: Option<Span>,
    global: &GlobalArgs,
) -> Result<Vec<RunDir>, Failure> {
    let runs = recoverable(home)?;
    let (recent, old): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| is_recent(run, active_within));
    for run in old.iter().filter(|_| !global.quiet) {
        print_status(&format!(
            "skipped {}: it was last active {} ago; recover it with `longhaul recover {0}`",
            run.id(),
            age(run)
        ));
    }
    Ok(recent)
}

/// Prints an error for each recent run whose journal cannot be read. Returns an exit code for each.
fn print_unreadable_runs(home: &Home, active_within: Option<Span>) -> Result<Vec<u8>, Failure> {
    let runs = home.runs_newest_first()?;
    let open = runs.filter(|run| !run.status().is_ok_and(|status| status.returncode.is_some()));
    let failures = open.filter(|run| is_recent(run, active_within)).filter_map(|run| {
        let failure = Failure::from(<Journal>::load(&run.journal_path()).err()?);
        output::print_error(&failure.error, failure.hint.as_deref());
        Some(failure.exit_code)
    });
    Ok(failures.collect())
}

fn is_recent(run: &RunDir, active_within: Option<Span>) -> bool {
    active_within.is_none_or(|limit| limit == Span::ZERO || age(run) <= limit)
}

fn age(run: &RunDir) -> Span {
    let metadata = fs::metadata(run.journal_path()).or_else(|_| fs::metadata(run.path()));
    let modified = metadata.and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
    Span::from_secs(age.as_secs())
}

/// Supervises all runs on one thread and prints each envelope when its run finishes. Returns the exit codes.
fn supervise_all(
    home: &Home,
    runs: Vec<RunDir>,
    global: &GlobalArgs,
    args: &RecoverArgs,
    format: OutputFormat,
    events: Option<&Writer>,
    telemetry: &TelemetryHandle,
) -> Result<Vec<u8>, Failure> {
    let prints_report = !events.is_some_and(Writer::is_on_stdout);
    let runtime = runtime::new()?;
    let is_single = runs.len() == 1;
    runtime.block_on(LocalSet::new().run_until(async {
        let mut supervised = JoinSet::new();
        for dir in runs {
            let supervisor = supervisor(home);
            let outputs =
                Outputs { format, events: events.map(Writer::queue), exporter: telemetry.exporter() };
            let mut screen = if is_single {
                ProgressDisplay::new(global, true)
            } else {
                ProgressDisplay::prefixed(global, dir.id())
            };
            let lifecycle = dir.plan().ok().and_then(|plan| Lifecycle::for_plan(global, &plan));
            let start = RunStart::Recover { dir, notify: args.notify.commands() };
            supervised.spawn_local(async move {
                let result = supervise(&supervisor, start, &mut screen, outputs).await;
                screen.close();
                result.iter().for_each(|report| run_learning::queue_sessions(&report.dir));
                lifecycle.iter().for_each(|lifecycle| lifecycle.emit_end(&result));
                result
            });
        }
        let mut codes = Vec::new();
        while let Some(result) = supervised.join_next().await {
            let result = result.map_err(|error| Failure::unexpected(error.to_string()))?;
            match result {
                Ok(report) => {
                    if prints_report {
                        print_end(&report, format);
                    }
                    codes.push(report.outcome.exit_code());
                }
                Err(failure) if is_single => return Err(failure),
                Err(failure) => {
                    output::print_error(&failure.error, failure.hint.as_deref());
                    codes.push(failure.exit_code);
                }
            }
        }
        Ok(codes)
    }))
}

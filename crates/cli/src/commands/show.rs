//! `longhaul show`: one run with what it used, and what was decided in each of its attempts. It reads the run's files
//! alone, and of the large ones only the beginnings.

mod attempt;
mod files;
mod text;
mod usage;

use super::why::run_status;
use crate::args::{GlobalArgs, OutputFormat, ShowArgs};
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::envelope::Envelope;
use crate::output::pager::page;
use crate::output::time::TimeFormat;
use crate::run_history::{self, NextStep, RecordAt, attempts_of, next_step, read_attempt_files};
use crate::{open_home, output};
use attempt::{Attempt, Check, checks_of};
use files::{AgentInfo, Files, agent_seen, files_of};
use longhaul::RunReport;
use longhaul_core::{Fault, Limit, Limits, Moment, Outcome, OutcomeKind, Record, Run, Span, State, Verified};
use longhaul_store::{DiffStat, Journal, Plan, RunDir, rfc3339};
use serde::Serialize;
pub use text::finish;
use usage::RunUsage;
pub use usage::{LimitStatus, figures};

const TASK_CHARS_MAX: usize = 200;

/// A run, as it is printed. Keys are only ever added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShowOutput {
    /// The run's id.
    id: String,
    /// What the user called it.
    name: Option<String>,
    /// How it ended; nothing if it has not.
    outcome: Option<OutcomeKind>,
    /// The proof that the work is done: `checks`, or `none` if no check was set or the work is not done.
    verified: Verified,
    /// What decided that.
    fault: Option<Fault>,
    /// The limit that ended it, if one did.
    limit: Option<Limit>,
    /// When trying again makes sense (`retry_later`).
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    retry_at: Option<String>,
    /// How the prompt begins, on one line.
    task: String,
    /// The directory that the agent works in.
    cwd: String,
    /// The session that can be resumed.
    session_id: Option<String>,
    /// The run's directory.
    dir: String,
    /// Stated by the agent plus estimated by us.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    total_cost_usd: f64,
    /// Its attempts, the first one first.
    attempts: Vec<Attempt>,
    /// Who worked.
    agent: AgentInfo,
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    started_at: Option<String>,
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    ended_at: Option<String>,
    #[serde(flatten)]
    figures: RunUsage,
    /// How often a new supervisor took it over from one that had died.
    recoveries: usize,
    /// For how long nobody supervised it in all, at most.
    unsupervised_ms: Span,
    /// How often its work was judged, and what came of it.
    checks: Vec<Check>,
    /// What it changed in its workspace; nothing while it is not over, and where that is not recorded.
    changed: Option<DiffStat>,
    /// How large its files are.
    files: Files,
    /// Whether a process supervises it now.
    supervised: bool,
    /// What comes next.
    next: NextStep,
}

/// How much of a limit is used: `budget $0.0350: $0.0194 used, $0.0156 left`.
pub fn limit_used(state: &State, limits: Limits, limit: Limit) -> Option<String> {
    let figures = figures(state, limits, state.finished_at);
    figures.limits.iter().find(|used| used.limit == limit).map(text::limit_line)
}

/// A run as it is shown, with the moments behind its texts.
struct Loaded {
    shown: ShowOutput,
    outcome: Option<Outcome>,
    start: Option<Moment>,
    as_of: Moment,
    attempts: Vec<run_history::AttemptHistory>,
}

/// Carries out the command and returns its exit code.
pub fn show(global: &GlobalArgs, args: &ShowArgs) -> Result<u8, Failure> {
    let dir = open_home::find_run(&open_home::locate()?, &args.run)?;
    let clock = TimeFormat::here();
    let Loaded { shown, outcome, start: began, as_of, attempts } = load(&dir, &clock)?;
    match output::format(global) {
        OutputFormat::Text => {
            let times = text::RunTimes { started_at: began, as_of, attempts: &attempts, clock: &clock };
            page(global, &text::text(&shown, outcome, &times));
        }
        OutputFormat::Json | OutputFormat::StreamJson => {
            output::print_json(&shown);
        }
    }
    Ok(0)
}

/// Prints how a run finished on stdout: the envelope for programs, the answer and a summary for people.
pub fn print_end(report: &RunReport, format: OutputFormat) {
    match format {
        OutputFormat::Text => match summary(report) {
            Ok(text) => output::print_text(&text),
            Err(failure) => output::print_error(&failure.error, failure.hint.as_deref()),
        },
        OutputFormat::Json | OutputFormat::StreamJson => output::print(&Envelope::new(report), format),
    }
}

/// The answer of a finished run, and below it the figures that `longhaul show` prints.
fn summary(report: &RunReport) -> Result<String, Failure> {
    let missing = || Failure::unexpected(format!("show run {}: it has no directory", report.run));
    let dir = RunDir::at(report.dir.clone()).ok_or_else(missing)?;
    let loaded = load(&dir, &TimeFormat::here())?;
    Ok(text::summary(&loaded.shown, report, Colors::stdout()))
}

fn load(dir: &RunDir, clock: &TimeFormat) -> Result<Loaded, Failure> {
    let plan = dir.plan().map_err(|error| open_home::of_store(&error))?;
    let history = Journal::load(&dir.journal_path()).map_err(|error| open_home::of_store(&error))?;
    let told: Vec<RecordAt<'_>> = history
        .entries
        .iter()
        .flat_map(|entry| entry.records.iter().map(|record| (entry.at, record)))
        .collect();
    let run = Run::replay(history.records());
    let state = &State { usage: dir.usage(run.state()), ..run.state().clone() };
    let (outcome, stand) = (state.outcome(), run_status(dir)?);
    // While nobody supervises it, it is as it was when its last decision was made.
    let as_of = match (outcome, stand.is_supervised) {
        (Some(_), _) => state.finished_at,
        (None, true) => stand.now,
        (None, false) => history.last_step_at().unwrap_or(stand.now),
    };
    let attempts = attempts_of(told.iter().copied());
    let facts = read_attempt_files(dir, &attempts);
    let began = told.first().filter(|(_, record)| matches!(record, Record::RunStarted { .. }));
    let (recoveries, unsupervised_ms) = recoveries(&told);
    let shown = ShowOutput {
        id: dir.id().to_string(),
        name: plan.name.clone(),
        outcome: outcome.map(|outcome| outcome.kind),
        verified: state.verified(),
        fault: outcome.and_then(|outcome| outcome.fault),
        limit: outcome.and_then(|outcome| outcome.limit),
        retry_at: outcome.and_then(|outcome| outcome.retry_at).map(rfc3339),
        task: task(&plan),
        cwd: plan.cwd.as_path().display().to_string(),
        session_id: state.session.as_ref().map(ToString::to_string),
        dir: dir.path().display().to_string(),
        total_cost_usd: state.usage.total_cost().as_dollars(),
        attempts: attempts.iter().map(|attempt| Attempt::new(attempt, &facts, dir)).collect(),
        agent: agent_seen(dir, &plan, &told),
        started_at: began.map(|(at, _)| rfc3339(*at)),
        ended_at: outcome.map(|_| rfc3339(state.finished_at)),
        figures: figures(state, plan.policy.limits, as_of),
        recoveries,
        unsupervised_ms,
        checks: checks_of(&told, dir),
        changed: changed_by(dir, outcome.map(|_| state.reopen_count)),
        files: files_of(dir),
        supervised: stand.is_supervised,
        next: next_step(dir.id(), &run, (&plan).into(), stand, clock),
    };
    let began = began.map(|(at, _)| *at);
    Ok(Loaded { shown, outcome, start: began, as_of, attempts })
}

/// How often a new supervisor took the run over, and for how long nobody had supervised it, at most.
fn recoveries(told: &[RecordAt<'_>]) -> (usize, Span) {
    let (mut count, mut alone) = (0, Span::ZERO);
    for (_, record) in told {
        if let Record::Recovered { at, last_record_at: last_at, .. } = record {
            count += 1;
            alone = alone + last_at.map_or(Span::ZERO, |last| at.since(last));
        }
    }
    (count, alone)
}

/// What a run that is over, and that somebody had let go on so often, was recorded to have changed.
fn changed_by(dir: &RunDir, resume_generation: Option<u32>) -> Option<DiffStat> {
    dir.changes().ok()??.end(resume_generation?)?.changed
}

/// The beginning of the task, on one line.
fn task(plan: &Plan) -> String {
    let line = plan.prompt.text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TASK_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

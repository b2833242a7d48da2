//! `longhaul show`: one run, its usage and the decisions of each attempt; or one workflow with all its runs.
//!
//! Reads only their files, and only the start of the large ones.

mod attempt;
mod files;
mod text;
mod workflow;

use super::why::{next_of_run, run_status};
use crate::args::{GlobalArgs, OutputFormat, ShowArgs};
use crate::failure::Failure;
use crate::figures::{RunUsage, figures};
use crate::open_home::RunOrWorkflow;
use crate::output::color::Colors;
use crate::output::envelope::Envelope;
use crate::output::envelope_text::cut;
use crate::output::pager::page_output;
use crate::output::phrases::one_line;
use crate::output::result_event::ResultEvent;
use crate::output::time::TimeFormat;
use crate::run_history::{NextStep, errors_of, read_attempt_files};
use crate::{open_home, output};
use attempt::{Attempt, Check, checks_of};
use files::{AgentInfo, RunFiles, agent_info, files_of};
use longhaul::RunReport;
use longhaul_core::{
    Dollars, Fault, HistoryEvent, HistoryEventKind, Limit, OutcomeKind, Rfc3339, RunHistory, Span, State,
    Verified,
};
use longhaul_store::{DiffStat, Journal, RunDir};
use serde::Serialize;
pub use text::finish;
#[cfg(test)]
pub use workflow::ShowWorkflowOutput;

const TASK_CHARS_MAX: usize = 200;

/// A run, as printed. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShowOutput {
    /// Id of the run.
    id: String,
    /// Name given by the user.
    name: Option<String>,
    /// Outcome. `None` if the run is not finished.
    outcome: Option<OutcomeKind>,
    /// Proof that the work is done: `checks`, `review` if a reviewer was the only check, or `none` if no check was
    /// set or the work is not done.
    verified: Verified,
    /// Fault that caused the outcome.
    fault: Option<Fault>,
    /// Limit that finished the run.
    limit: Option<Limit>,
    /// When a retry makes sense (`retry_later`).
    retry_at: Option<Rfc3339>,
    /// Errors of a finished run that is not done: first the reason, then the end of a failed check and the agent's own
    /// messages.
    errors: Vec<String>,
    /// Start of the prompt, on one line.
    task: String,
    /// Working directory of the agent.
    cwd: String,
    /// Session that can be resumed.
    session_id: Option<String>,
    /// Run directory.
    dir: String,
    /// Cost reported by the agent plus cost estimated by Longhaul.
    total_cost_usd: Dollars,
    /// Attempts, oldest first.
    attempts: Vec<Attempt>,
    /// The agent.
    agent: AgentInfo,
    started_at: Option<Rfc3339>,
    ended_at: Option<Rfc3339>,
    #[serde(flatten)]
    figures: RunUsage,
    /// Number of takeovers from a dead supervisor.
    recoveries: usize,
    /// Upper bound of the total time without a supervisor.
    unsupervised_ms: Span,
    /// Checks and their results.
    checks: Vec<Check>,
    /// Changes in the workspace. `None` if the run is not finished or the changes were not recorded.
    changed: Option<DiffStat>,
    /// Sizes of the run's files.
    files: RunFiles,
    /// Whether a supervisor is attached.
    supervised: bool,
    /// What happens next.
    next: NextStep,
}

/// A run to show, with its history for local times.
pub struct Loaded {
    pub show_output: ShowOutput,
    history: RunHistory,
}

pub fn show(global: &GlobalArgs, args: &ShowArgs) -> Result<u8, Failure> {
    let (home, clock) = (open_home::locate()?, TimeFormat::here());
    let dir = match open_home::find_target(&home, &args.run)? {
        RunOrWorkflow::Run(dir) => dir,
        RunOrWorkflow::Workflow(dir) => return workflow::show(global, &home, dir, &clock),
    };
    let loaded = load(&dir, &clock)?;
    page_output(global, &loaded.show_output, || text::text(&loaded, &clock));
    Ok(0)
}

/// Prints how a run finished on stdout: the envelope or, in a stream, the result event for programs, the answer
/// and a summary for people.
pub fn print_end(global: &GlobalArgs, report: &RunReport) {
    if global.is_openclawpack {
        return output::print_envelope(global, &Envelope::new(report), String::new);
    }
    match output::format(global) {
        OutputFormat::Text => match summary(report) {
            Ok(text) => output::print_text(&text),
            Err(failure) => output::print_error(&failure.error, failure.hint.as_deref()),
        },
        format @ OutputFormat::Json => output::print_json(format, &Envelope::new(report)),
        OutputFormat::StreamJson => output::print_text(&output::line(&ResultEvent::from_report(report))),
    }
}

/// Returns the answer of a finished run, followed by the figures of `longhaul show`.
fn summary(report: &RunReport) -> Result<String, Failure> {
    let missing = || Failure::unexpected(format!("cannot show run {}: it has no directory", report.run));
    let dir = RunDir::from_path(report.dir.clone()).ok_or_else(missing)?;
    let loaded = load(&dir, &TimeFormat::here())?;
    Ok(text::summary(&loaded.show_output, report, Colors::stdout()))
}

pub fn load(dir: &RunDir, clock: &TimeFormat) -> Result<Loaded, Failure> {
    let plan = dir.plan()?;
    let journal = Journal::load(&dir.journal_path())?;
    let history = journal.history();
    let state = &State { usage: dir.usage(history.state()), ..history.state().clone() };
    let (outcome, status) = (state.outcome(), run_status(dir)?);
    // An orphaned run is shown as of its last decision.
    let as_of = match (outcome, status.is_supervised) {
        (Some(_), _) => state.finished_at,
        (None, true) => status.now,
        (None, false) => journal.last_step_at().unwrap_or(status.now),
    };
    let files = read_attempt_files(dir, history.attempts());
    let unsupervised: Vec<Span> = history.events().iter().filter_map(unsupervised).collect();
    let show_output = ShowOutput {
        id: dir.id().to_string(),
        name: plan.spec.name.clone(),
        outcome: outcome.map(|outcome| outcome.kind),
        verified: state.verified(),
        fault: outcome.and_then(|outcome| outcome.fault),
        limit: outcome.and_then(|outcome| outcome.limit),
        retry_at: outcome.and_then(|outcome| outcome.retry_at).map(Rfc3339),
        errors: errors_of(dir, state),
        task: cut(&one_line(&plan.spec.prompt), TASK_CHARS_MAX),
        cwd: plan.spec.cwd.display().to_string(),
        session_id: state.session.as_ref().map(ToString::to_string),
        dir: dir.path().display().to_string(),
        total_cost_usd: state.usage.total_cost().into(),
        attempts: history.attempts().iter().map(|attempt| Attempt::new(attempt, &files, dir)).collect(),
        agent: agent_info(dir, &plan, &history),
        started_at: history.started_at().map(Rfc3339),
        ended_at: outcome.map(|_| state.finished_at.into()),
        figures: figures(state, plan.spec.policy.limits, as_of),
        recoveries: unsupervised.len(),
        unsupervised_ms: unsupervised.into_iter().fold(Span::ZERO, |sum, span| sum + span),
        checks: checks_of(&history, dir),
        changed: outcome.and_then(|_| dir.changes().ok()??.end(state.reopen_count)?.changed),
        files: files_of(dir),
        supervised: status.is_supervised,
        next: next_of_run(&open_home::locate()?, dir, history.run(), &plan, status, clock),
    };
    Ok(Loaded { show_output, history })
}

/// Returns the longest possible time without a supervisor before a takeover, or `None` for another event.
fn unsupervised(event: &HistoryEvent) -> Option<Span> {
    let HistoryEventKind::Recovered { unsupervised, .. } = event.kind else { return None };
    Some(unsupervised.unwrap_or_default())
}

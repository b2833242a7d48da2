//! `longhaul why`: explains what happened in a run or a workflow, the remedies, and what happens next. It reads only
//! their files.

mod workflow;

use super::runs::table::outcome_style;
use crate::args::{GlobalArgs, ShowArgs};
use crate::failure::Failure;
use crate::frozen_supervisor::{describe, frozen_supervisor};
use crate::next_commands::target;
use crate::open_home::{self, RunOrWorkflow, find_workflow};
use crate::output;
use crate::output::color::Colors;
use crate::output::envelope_text::one_line;
use crate::output::pager::page_output;
use crate::output::time::TimeFormat;
use crate::output::wrap::wrap;
use crate::run_history::timeline_text::{DISK_FULL, describe_finish, next_text, sentence, text};
use crate::run_history::{
    NextStep, RunStatus, TimelineEntry, errors_of, next_step, read_attempt_files, timeline, tool_calls_of,
};
use longhaul_core::{Fault, Outcome, OutcomeKind, Run, RunHistory};
use longhaul_store::{Home, Journal, Plan, RunDir, SessionLock};
use serde::Serialize;
#[cfg(test)]
pub use workflow::WhyWorkflowOutput;

const ERROR: &str = "error: ";

/// Timeline of a run. Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhyOutput<'a> {
    /// Id of the run.
    id: String,
    /// Outcome. `None` if the run is not finished.
    outcome: Option<OutcomeKind>,
    /// Fault that caused the outcome.
    fault: Option<Fault>,
    /// Errors of a finished run that is not done: first the reason, then the end of a failed check and the agent's own
    /// messages.
    errors: Vec<String>,
    /// Noteworthy events, oldest first.
    entries: Vec<EntryWithText<'a>>,
    /// What happens next.
    next: NextStep,
}

/// An entry with its text.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EntryWithText<'a> {
    #[serde(flatten)]
    entry: &'a TimelineEntry,
    /// Sentence for people.
    text: String,
}

pub fn why(global: &GlobalArgs, args: &ShowArgs) -> Result<u8, Failure> {
    let home = open_home::locate()?;
    let dir = match open_home::find_target(&home, &args.run)? {
        RunOrWorkflow::Run(dir) => dir,
        RunOrWorkflow::Workflow(dir) => return workflow::why(global, &home, dir),
    };
    let journal = Journal::load(&dir.journal_path())?;
    let history = journal.history();
    let entries = entries_of(&dir, &history);
    let clock = TimeFormat::here();
    let plan = dir.plan()?;
    let status = run_status(&dir)?;
    let is_supervised = status.is_supervised;
    let mut next = next_of_run(&home, &dir, history.run(), &plan, status, &clock);
    let outcome = history.state().outcome();
    let background = dir.status().map(|status| status.background).unwrap_or_default();
    if outcome.is_none() && dir.attempt(history.state().attempts()).disk_was_full() && !is_supervised {
        next.text = format!("{DISK_FULL}; {}", next.text);
    }
    if outcome.is_none() && !background.is_empty() {
        next.text.push_str(&format!("; in the background: {}", background.join("; ")));
    }
    let why_output = WhyOutput {
        id: dir.id().to_string(),
        outcome: outcome.map(|outcome| outcome.kind),
        fault: outcome.and_then(|outcome| outcome.fault),
        errors: errors_of(&dir, history.state()),
        entries: entries.iter().map(|entry| EntryWithText { entry, text: sentence(entry, &clock) }).collect(),
        next,
    };
    page_output(global, &why_output, || {
        let finish = outcome.map(|outcome| describe_finish(outcome, &why_output.errors));
        let status_text = finish.unwrap_or_else(|| "unfinished".to_owned());
        let style = outcome.and_then(|outcome| outcome_style(outcome.kind));
        let status_text = Colors::stdout().styled(&status_text, style);
        let next = next_text(&why_output.next);
        let errors = error_lines(&why_output.errors);
        format!("run {}: {status_text}\n{errors}\n{}\n{next}", dir.id(), text(&entries, &clock))
    });
    Ok(0)
}

/// Renders the errors after the first one, which the line of the outcome states as its reason.
fn error_lines(errors: &[String]) -> String {
    let mut out = String::new();
    for error in errors.iter().skip(1) {
        let mut start = ERROR;
        for line in one_line(error).trim_end().lines() {
            out += &format!("{start:<0$}", ERROR.len());
            wrap(&mut out, line, ERROR.len());
            start = "";
        }
    }
    out
}

/// Returns the next step of a run, which its workflow or another run of its session may decide.
pub fn next_of_run(
    home: &Home,
    dir: &RunDir,
    run: &Run,
    plan: &Plan,
    status: RunStatus,
    clock: &TimeFormat,
) -> NextStep {
    if status.is_supervised
        && let Some(pid) = frozen_supervisor(dir.path())
    {
        return NextStep { text: describe(pid), commands: vec![format!("kill -CONT {pid}")] };
    }
    let next = next_step(&target(dir), run, &plan.spec, status, clock);
    let Some(outcome) = run.state().outcome().filter(|_| !status.is_supervised) else { return next };
    if let Some(next) = next_in_workflow(home, dir, outcome, plan, clock) {
        return next;
    }
    let cwd = &plan.spec.cwd;
    if outcome.kind != OutcomeKind::Done && !cwd.is_dir() {
        let text =
            format!("{} does not exist: move it back, or pass its new path with `--cwd`", cwd.display());
        return NextStep { text, ..next };
    }
    let session = run.state().plan.as_ref().filter(|_| outcome.fault == Some(Fault::SessionBusy));
    let orphan = session
        .and_then(|attempt| SessionLock::orphan(home, &plan.spec.agent.name, attempt.session.id(), dir.id()));
    match orphan {
        Some(orphan) => NextStep {
            text: format!("its session belongs to unfinished run {orphan}, which has no supervisor"),
            commands: [format!("longhaul recover {orphan}")].into_iter().chain(next.commands).collect(),
        },
        None => next,
    }
}

/// Returns what follows a finished run that its workflow resumes by itself, or that is done but not for its workflow, for
/// example because its result does not match the schema of the phase.
fn next_in_workflow(
    home: &Home,
    dir: &RunDir,
    outcome: Outcome,
    plan: &Plan,
    clock: &TimeFormat,
) -> Option<NextStep> {
    let workflow = find_workflow(home, plan.workflow.as_ref()?.id.as_str()).ok().flatten()?;
    let status = workflow.status().ok()?;
    let mut items = status.phases.iter().flat_map(|phase| &phase.items);
    let item = items.find(|item| item.run.as_ref() == Some(dir.id()))?;
    if outcome.kind == OutcomeKind::Done {
        let problem = item.problem.as_ref().filter(|_| item.status == OutcomeKind::CheckFailed.as_str())?;
        let resume = status.returncode.map(|_| format!("longhaul resume {}", workflow.id()));
        return Some(NextStep {
            text: format!("the workflow counts the run as {}: {problem}", item.status),
            commands: [format!("longhaul logs {}", dir.id())].into_iter().chain(resume).collect(),
        });
    }
    let resumes = status.returncode.is_none() && ["parked", "limited"].contains(&item.status.as_str());
    if !resumes || !Journal::is_locked(&workflow.journal_path()).unwrap_or(false) {
        return None;
    }
    let when = item.until.map_or_else(
        || " when its share of the limits grows".to_owned(),
        |until| format!(" at {}", clock.near(until.0, output::now())),
    );
    let (id, commands) = (workflow.id(), vec![format!("longhaul attach {}", workflow.id())]);
    Some(NextStep { text: format!("workflow {id} resumes the run{when}"), commands })
}

fn entries_of(dir: &RunDir, history: &RunHistory) -> Vec<TimelineEntry> {
    let mut files = read_attempt_files(dir, history.attempts());
    for (attempt, calls) in tool_calls_of(dir) {
        files.entry(attempt).or_default().tool_calls = Some(calls);
    }
    timeline(history, &files)
}

pub fn run_status(dir: &RunDir) -> Result<RunStatus, Failure> {
    let is_supervised = Journal::is_locked(&dir.journal_path())?;
    let is_outcome_published = dir.is_outcome_published();
    Ok(RunStatus { is_supervised, is_outcome_published, now: output::now() })
}

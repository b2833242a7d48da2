//! `longhaul status`: lists the unfinished workflows and runs, and recent unreadable runs.

mod watch;

use super::runs::{Row, RowState, activity, table};
use super::workflow_lines::{self, phases_lines};
use super::{loop_workflow, recover};
use crate::args::{GlobalArgs, StatusArgs};
use crate::failure::Failure;
use crate::output::color::Colors;
use crate::output::pager::page_output;
use crate::output::time::TimeFormat;
use crate::workflow_history::{WorkflowHistory, add_live_wait, add_newer_cost};
use crate::{open_home, open_ledger, output, prompt_arg};
use longhaul_core::{OutcomeKind, Span, Usd};
use longhaul_store::{Home, Journal, RunFilter, RunState, WorkflowDir, WorkflowStatus};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

// `recover` names unreadable runs for as long.
const UNREADABLE_SHOWN: Span = Span::from_hours(168);

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusOutput {
    /// Number of running runs.
    running: usize,
    /// Number of waiting runs.
    waiting: usize,
    /// Number of suspended runs.
    suspended: usize,
    /// Number of orphaned runs.
    orphaned: usize,
    /// The unfinished runs and the unreadable runs of the last week, newest first.
    runs: Vec<ActiveRun>,
    /// The unfinished workflows, newest first; with an argument, that workflow. Costs include live runs so far. Without
    /// a supervisor, the status of a running one is `orphaned`.
    workflows: Vec<WorkflowStatus>,
}

/// An unfinished or unreadable run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ActiveRun {
    #[serde(flatten)]
    row: Row,
    /// Description of the current activity.
    activity: String,
    /// Commands that the agent runs in the background.
    background: Vec<String>,
}

impl ActiveRun {
    fn new(row: Row) -> ActiveRun {
        let background = background_of(&row);
        let suffix =
            (!background.is_empty()).then(|| format!("; in the background: {}", background.join("; ")));
        let activity_text = activity(&row, output::now()).or_else(|| row.entry.error.clone());
        let activity_text = activity_text.unwrap_or_default() + &suffix.unwrap_or_default();
        ActiveRun { row, activity: activity_text, background }
    }
}

fn background_of(row: &Row) -> Vec<String> {
    let dir = (row.state == RowState::Running).then(|| row.entry.run_dir());
    // An unreadable status only hides the background commands.
    dir.and_then(|dir| dir.status().ok()).map(|status| status.background).unwrap_or_default()
}

pub fn status(global: &GlobalArgs, args: &StatusArgs) -> Result<u8, Failure> {
    if args.watch {
        return watch::watch();
    }
    let status = read(args)?;
    for failure in recover::unreadable_workflows(&open_home::locate()?, Some(UNREADABLE_SHOWN))? {
        output::print_warning(&failure.error, failure.hint.as_deref());
    }
    page_output(global, &status, || text(&status));
    Ok(0)
}

fn text(status: &StatusOutput) -> String {
    if status.runs.is_empty() && status.workflows.is_empty() {
        return "no unfinished runs; `longhaul runs` lists all runs\n".to_owned();
    }
    let colors = Colors::stdout();
    let activities = status.runs.iter().map(|run| (run.row.entry.id.to_string(), run.activity.clone()));
    let activities = activities.collect();
    let mut text: String =
        status.workflows.iter().map(|workflow| tree(workflow, Some(&activities), colors)).collect();
    let others = status.runs.iter().filter(|run| !is_live_in_workflow(&run.row, &status.workflows));
    let rows: Vec<_> = others.map(|run| (&run.row, Some(run.activity.clone()))).collect();
    if !rows.is_empty() {
        text += &table::runs(&rows, output::now(), output::width(), colors);
    }
    text
}

fn is_of_workflow(row: &Row, workflows: &[WorkflowStatus]) -> bool {
    let position = row.entry.workflow.as_ref();
    position.is_some_and(|position| workflows.iter().any(|workflow| workflow.workflow_id == position.id))
}

/// Returns whether a workflow shows the run as one that it waits for. The user may have resumed another one.
fn is_live_in_workflow(row: &Row, workflows: &[WorkflowStatus]) -> bool {
    let live = [RowState::Running.as_str(), RowState::Suspended.as_str()];
    let mut items = workflows.iter().flat_map(|workflow| &workflow.phases).flat_map(|phase| &phase.items);
    items.any(|item| item.run.as_ref() == Some(&row.entry.id) && live.contains(&item.status.as_str()))
}

pub fn read(args: &StatusArgs) -> Result<StatusOutput, Failure> {
    let home = open_home::locate()?;
    let dirs = match &args.workflow {
        Some(request) => vec![loop_workflow::find(&home, request)?],
        None => home.workflows_newest_first()?,
    };
    let projects: Vec<PathBuf> =
        args.project.iter().map(|dir| prompt_arg::directory(dir)).collect::<Result<_, _>>()?;
    let is_in_project =
        |dir: &Path| projects.is_empty() || projects.iter().any(|project| dir.starts_with(project));
    let workflows: Vec<WorkflowStatus> = dirs
        .iter()
        .filter(|dir| dir.plan().is_ok_and(|plan| is_in_project(plan.project_dir.as_path())))
        .filter_map(|dir| Some((dir, workflow_status(&home, dir)?)))
        .filter(|(_, status)| args.workflow.is_some() || status.returncode.is_none())
        .map(|(dir, status)| with_all_costs(&home, dir, status))
        .collect();
    let is_shown = |row: &Row| {
        is_of_workflow(row, &workflows)
            || args.workflow.is_none() && is_in_project(Path::new(&row.entry.project))
    };
    let runs: Vec<ActiveRun> = unfinished(&home)?.into_iter().filter(is_shown).map(ActiveRun::new).collect();
    let count = |state| runs.iter().filter(|run| run.row.state == state).count();
    Ok(StatusOutput {
        running: count(RowState::Running),
        waiting: count(RowState::Waiting),
        suspended: count(RowState::Suspended),
        orphaned: count(RowState::Orphaned),
        runs,
        workflows,
    })
}

/// Returns the state of a workflow, with the cost of its live runs so far. `None` if it cannot be read.
pub fn workflow_status(home: &Home, dir: &WorkflowDir) -> Option<WorkflowStatus> {
    let mut status = dir.status().ok()?;
    for phase in &mut status.phases {
        let live = phase.items.iter_mut().filter(|item| item.status == "running");
        let added: Usd = live.map(|item| add_newer_cost(home, item)).sum();
        phase.total_cost_usd.0 += added;
        status.total_cost_usd.0 += added;
    }
    let is_supervised = Journal::is_locked(&dir.journal_path()).unwrap_or(false);
    if status.returncode.is_none() && !is_supervised && status.status != OutcomeKind::Suspended.as_str() {
        RowState::Orphaned.as_str().clone_into(&mut status.status);
    }
    add_live_wait(home, &mut status);
    Some(status)
}

/// Adds the cost of runs that a user resumed on their own, also of those that a newer run replaced.
fn with_all_costs(home: &Home, dir: &WorkflowDir, status: WorkflowStatus) -> WorkflowStatus {
    let Ok(history) = WorkflowHistory::read(home, dir.clone(), &TimeFormat::here()) else { return status };
    let WorkflowStatus { iteration, phases, total_cost_usd, .. } = history.status;
    WorkflowStatus { iteration, phases, total_cost_usd, ..status }
}

/// Renders a workflow with its phases and, with the activities of live runs, its runs.
fn tree(status: &WorkflowStatus, activities: Option<&BTreeMap<String, String>>, colors: Colors) -> String {
    let id = &status.workflow_id;
    let next = match status.status.as_str() {
        "orphaned" => format!("  no supervisor: longhaul recover {id}\n"),
        "suspended" => format!("  suspended: longhaul recover {id}\n"),
        _ => String::new(),
    };
    format!("{}\n{next}{}", headline(status), phases_lines(status, activities, colors))
}

fn headline(status: &WorkflowStatus) -> String {
    workflow_lines::headline(&format!("workflow {}", status.workflow_id), status)
}

/// Returns the unfinished runs, and those of the last week that may be unfinished, because they are unreadable.
fn unfinished(home: &Home) -> Result<Vec<Row>, Failure> {
    let mut ledger = open_ledger::open(home)?;
    let states = vec![RunState::Running, RunState::Waiting, RunState::Suspended, RunState::Unreadable];
    let found = ledger.runs(&RunFilter { states, ..RunFilter::default() });
    let rows = found?.into_iter().map(Row::new);
    let now = output::now();
    let is_shown = |row: &Row| match row.state {
        // A run may have finished since the ledger was read.
        RowState::Finished => false,
        RowState::Unreadable => now.since(row.entry.started_at.0) <= UNREADABLE_SHOWN,
        // `recover` cancels those of the playbook's judge.
        RowState::Suspended | RowState::Orphaned => !row.entry.is_judge_run(),
        RowState::Running | RowState::Waiting => true,
    };
    Ok(rows.filter(is_shown).collect())
}

//! The workflows of a report, with their outcomes and what they need. It reads only their own files.

use super::run_health::RunHealth;
use crate::failure::Failure;
use crate::output;
use crate::output::envelope_text::cut;
use crate::output::phrases::titled;
use crate::output::time::TimeFormat;
use crate::workflow_history::WorkflowHistory;
use longhaul_core::{Dollars, Moment, OutcomeKind, Rfc3339, RunId};
use longhaul_store::{Home, WorkflowDir};
use serde::Serialize;
use std::collections::BTreeSet;

const FILE_CHARS_MAX: usize = 100;
// As many as a screen shows; `longhaul show` lists all of them.
const ERRORS_MAX: usize = 10;

/// A workflow in a report. Its runs are among the runs of the report.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportWorkflow {
    /// Id of the workflow.
    pub id: String,
    /// Name given by the user.
    pub name: Option<String>,
    /// Path of the workflow file, or the name of a built-in workflow.
    pub file: String,
    /// Working directory.
    #[serde(rename = "cwd")]
    pub project: String,
    /// Outcome, if the workflow is finished.
    pub outcome: Option<OutcomeKind>,
    /// `running`, `waiting`, `suspended`, `orphaned` or the outcome's word.
    pub status: String,
    /// State of the workflow as a person sees it.
    pub health: RunHealth,
    /// Errors of a finished workflow, first the reason for the outcome, or its state, as texts for people. They may end
    /// with the number of further errors.
    pub problems: Vec<String>,
    /// When a retry makes sense (`retry_later`).
    pub retry_at: Option<Rfc3339>,
    /// Last iteration.
    pub iteration: u32,
    /// Maximum number of iterations.
    pub iterations_max: u32,
    /// Cost of all its runs, in all iterations.
    #[serde(rename = "total_cost_usd")]
    pub cost: Dollars,
    pub started_at: Rfc3339,
    /// When the workflow finished.
    pub ended_at: Option<Rfc3339>,
    /// Command to type next.
    pub next: Option<String>,
    /// Ended runs that the workflow resumes.
    #[serde(skip)]
    pub resumed_runs: Vec<RunId>,
}

/// Returns the workflows that were active since this time, and those of `named`, newest first. Without a time only those
/// of `named`. Those whose files cannot be read are omitted, with a warning.
pub fn active(
    home: &Home,
    since: Option<Moment>,
    named: &BTreeSet<RunId>,
    clock: &TimeFormat,
) -> Result<Vec<ReportWorkflow>, Failure> {
    let all = home.workflows_newest_first()?.into_iter();
    let candidates = all.filter(|dir| since.is_some() || named.contains(dir.id()));
    let workflows = candidates.filter_map(|dir| {
        let (is_named, is_finished) = (named.contains(dir.id()), dir.is_outcome_published());
        let name = format!("workflow {}", dir.id());
        let workflow = one(home, dir, clock)
            .map_err(|failure| {
                if is_named || !is_finished {
                    output::print_warning(&format!("{name}: {}", failure.error), failure.hint.as_deref());
                }
            })
            .ok()?;
        let is_active = workflow.ended_at.is_none_or(|ended| Some(ended.0) >= since);
        (is_named || is_active).then_some(workflow)
    });
    Ok(workflows.collect())
}

pub fn one(home: &Home, dir: WorkflowDir, clock: &TimeFormat) -> Result<ReportWorkflow, Failure> {
    let history = WorkflowHistory::read(home, dir, clock)?;
    let next = history.next_step(clock);
    let outcome = history.outcome();
    let mut problems = match outcome {
        Some(_) => history.errors.clone(),
        None => vec![next.text],
    };
    let further = problems.len().saturating_sub(ERRORS_MAX);
    if further > 0 {
        problems.truncate(ERRORS_MAX);
        problems.push(format!("{further} more; `longhaul show {}` lists all", history.dir.id()));
    }
    let WorkflowHistory { dir, plan, status, is_supervised, as_of, .. } = history;
    let is_suspended = status.status == OutcomeKind::Suspended.as_str();
    let is_orphaned = outcome.is_none() && !is_supervised && !is_suspended;
    let health = match outcome {
        Some(kind) => RunHealth::of_outcome(kind),
        None if is_supervised => RunHealth::Running,
        None => RunHealth::NeedsPerson,
    };
    let items = status.phases.iter().flat_map(|phase| &phase.items);
    let resumed =
        items.filter(|item| outcome.is_none() && ["parked", "limited"].contains(&item.status.as_str()));
    Ok(ReportWorkflow {
        health,
        resumed_runs: resumed.filter_map(|item| item.run.clone()).collect(),
        problems,
        retry_at: status.retry_at,
        id: dir.id().to_string(),
        name: plan.name,
        file: cut(&plan.file.path.as_path().display().to_string(), FILE_CHARS_MAX),
        project: plan.project_dir.as_path().display().to_string(),
        outcome,
        status: if is_orphaned { "orphaned".to_owned() } else { status.status },
        iteration: status.iteration,
        iterations_max: status.iterations_max,
        cost: status.total_cost_usd,
        started_at: plan.started_at,
        ended_at: outcome.map(|_| as_of.into()),
        // Commands of git only remove what is left of a workflow that is over.
        next: next.commands.into_iter().find(|command| command.starts_with("longhaul ")),
    })
}

impl ReportWorkflow {
    /// Returns whether the workflow itself deals with one of its runs: it continues the run, has replaced it, or reports
    /// it. A finished workflow has nothing to do with a run that a person has resumed since.
    pub fn deals_with(&self, run_ended_at: Option<Rfc3339>) -> bool {
        let has_run_ended_before =
            || run_ended_at.zip(self.ended_at).is_some_and(|(run, own)| run.0 <= own.0);
        self.outcome.is_none() || has_run_ended_before()
    }

    pub fn resumes(&self, run: &RunId) -> bool {
        self.health == RunHealth::Running && self.resumed_runs.contains(run)
    }

    pub fn title(&self) -> String {
        titled(self.name.as_deref(), &self.file)
    }
}

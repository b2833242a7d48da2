//! The workflows of a report, with their outcomes. It reads only their own files.

use crate::failure::Failure;
use crate::output::envelope_text::cut;
use crate::output::phrases::titled;
use crate::output::time::TimeFormat;
use crate::workflow_history::WorkflowHistory;
use longhaul_core::{Dollars, Moment, OutcomeKind, Rfc3339};
use longhaul_store::{Home, WorkflowDir};
use serde::Serialize;

const FILE_CHARS_MAX: usize = 100;

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
}

/// Returns the workflows that were active since this time, newest first. Those whose files cannot be read are
/// omitted.
pub fn since(home: &Home, since: Moment, clock: &TimeFormat) -> Result<Vec<ReportWorkflow>, Failure> {
    let all = home.workflows_newest_first()?;
    let workflows = all.into_iter().filter_map(|dir| one(home, dir, clock).ok());
    Ok(workflows.filter(|workflow| workflow.ended_at.is_none_or(|ended| ended.0 >= since)).collect())
}

pub fn one(home: &Home, dir: WorkflowDir, clock: &TimeFormat) -> Result<ReportWorkflow, Failure> {
    let history = WorkflowHistory::read(home, dir, clock)?;
    let next = history.next_step(clock).commands.into_iter().next();
    let outcome = history.outcome();
    let WorkflowHistory { dir, plan, status, is_supervised, as_of, .. } = history;
    let is_suspended = status.status == OutcomeKind::Suspended.as_str();
    let is_orphaned = outcome.is_none() && !is_supervised && !is_suspended;
    Ok(ReportWorkflow {
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
        next,
    })
}

impl ReportWorkflow {
    /// Returns the name, if it has one, and the file.
    pub fn title(&self) -> String {
        titled(self.name.as_deref(), &self.file)
    }
}

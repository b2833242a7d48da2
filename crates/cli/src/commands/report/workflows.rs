//! The workflows of a report, with their outcomes. It reads only their own files.

use crate::output::envelope_text::cut;
use crate::workflow_next_commands::next_commands;
use longhaul_core::{
    Dollars, Moment, Outcome, OutcomeKind, Rfc3339, Workflow, WorkflowRecord, WorkflowStage,
};
use longhaul_store::{Home, Journal, StoreError, WorkflowDir};
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
    /// Cost of all its runs that ended, in all iterations.
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
///
/// # Errors
/// Returns an error if the home cannot be read.
pub fn since(home: &Home, since: Moment) -> Result<Vec<ReportWorkflow>, StoreError> {
    let all = home.workflows_newest_first()?;
    let workflows = all.iter().filter_map(|dir| one(dir).ok());
    Ok(workflows.filter(|workflow| workflow.ended_at.is_none_or(|ended| ended.0 >= since)).collect())
}

/// Returns one workflow.
///
/// # Errors
/// Returns an error if its files cannot be read.
pub fn one(dir: &WorkflowDir) -> Result<ReportWorkflow, StoreError> {
    let plan = dir.plan()?;
    let is_supervised = Journal::is_locked(&dir.journal_path())?;
    let journal = Journal::<WorkflowRecord>::load(&dir.journal_path())?;
    let workflow = Workflow::replay(journal.records());
    let state = workflow.state();
    let status = longhaul::workflow::workflow_status(dir, &plan, &workflow, plan.started_at.0);
    let (outcome, ended_at) = match state.stage {
        WorkflowStage::Finished { at, outcome } => (Some(outcome), Some(at)),
        WorkflowStage::New | WorkflowStage::Running | WorkflowStage::Suspended { .. } => (None, None),
    };
    let is_suspended = matches!(state.stage, WorkflowStage::Suspended { .. });
    let word = match outcome {
        None if !is_supervised && !is_suspended => "orphaned",
        None | Some(_) => &status.status,
    };
    let next = match outcome {
        Some(outcome) => next_commands(&status, outcome).into_iter().next(),
        None if is_supervised => Some(format!("longhaul attach {}", dir.id())),
        None => Some(format!("longhaul recover {}", dir.id())),
    };
    Ok(ReportWorkflow {
        id: dir.id().to_string(),
        name: plan.name.clone(),
        file: cut(&plan.file.path.as_path().display().to_string(), FILE_CHARS_MAX),
        project: plan.project_dir.as_path().display().to_string(),
        outcome: outcome.map(|outcome: Outcome| outcome.kind),
        status: word.to_owned(),
        iteration: status.iteration,
        iterations_max: status.iterations_max,
        cost: status.total_cost_usd,
        started_at: plan.started_at,
        ended_at: ended_at.map(Rfc3339),
        next,
    })
}

impl ReportWorkflow {
    /// Returns the name, if it has one, and the file.
    pub fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("{name}: {}", self.file),
            None => self.file.clone(),
        }
    }
}

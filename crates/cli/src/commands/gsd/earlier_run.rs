//! Finds the last run of a command on a project, so that the same command continues it, and unfinished runs of other
//! commands. Changes nothing.

use super::command_line;
use crate::commands::recover::unfinished_workflow_of;
use crate::commands::run::{KeyState, key_state};
use crate::failure::Failure;
use crate::next_commands::{attach_or_cancel, recover_or_cancel};
use longhaul::workflow::recoverable_workflows;
use longhaul_core::{OutcomeKind, RunId, SessionId};
use longhaul_store::{Home, Journal, JournalDir, RunDir, WorkflowDir};
use std::path::Path;

/// Workflows of `gsd phases` have names that start with this.
pub const WORKFLOW_NAME: &str = "gsd-phases";
// Reading the plans of this many runs takes less than a second.
const RUNS_MAX: usize = 2_000;

/// The last run of a command on a project.
pub enum EarlierRun {
    /// There is none, or it finished as `done`, or it left no session.
    None,
    /// It has a supervisor.
    Running(RunDir),
    /// It is suspended, or its supervisor died.
    Unfinished(RunDir),
    /// The same, but only the supervisor of this workflow continues it.
    OfWorkflow(RunId),
    /// It finished without completing the work. Its session can be continued.
    Incomplete(SessionId),
}

/// Finds the newest run with this name and this working directory.
pub fn find(home: &Home, name: &str, project_dir: &Path) -> Result<EarlierRun, Failure> {
    let is_of_command = |dir: &RunDir| {
        dir.plan().is_ok_and(|plan| plan.spec.name.as_deref() == Some(name) && plan.spec.cwd == project_dir)
    };
    let Some(dir) = home.runs_newest_first()?.take(RUNS_MAX).find(is_of_command) else {
        return Ok(EarlierRun::None);
    };
    Ok(match key_state(&dir)? {
        KeyState::Running => EarlierRun::Running(dir),
        KeyState::Unfinished => match dir.plan()?.workflow {
            Some(position) if unfinished_workflow_of(home, &dir).is_some() => {
                EarlierRun::OfWorkflow(position.id)
            }
            Some(_) | None => EarlierRun::Unfinished(dir),
        },
        KeyState::Finished(OutcomeKind::Done) => EarlierRun::None,
        KeyState::Finished(_) => {
            let session = dir.status().ok().and_then(|status| status.session_id);
            session.map_or(EarlierRun::None, EarlierRun::Incomplete)
        }
    })
}

/// Returns an error if a run of another command on the project, or a workflow of it, is unfinished. Two agents would
/// change the same files: an agent survives its supervisor.
pub fn require_no_other(home: &Home, name: &str, project_dir: &Path) -> Result<(), Failure> {
    if let Some(workflow) = unfinished_workflow(home, project_dir)? {
        let error = format!("workflow {} of this project is unfinished", workflow.id());
        return Err(Failure::not_started(error, continue_or_cancel(&workflow)?));
    }
    let is_other = |(_, other): &(RunDir, String)| other != name;
    match unfinished_runs(home, project_dir)?.find(is_other) {
        Some((run, name)) => {
            let error = format!("run {} of this project, {name}, is unfinished", run.id());
            Err(Failure::not_started(error, continue_or_cancel(&run)?))
        }
        None => Ok(()),
    }
}

/// Returns the unfinished runs of commands on the project, newest first, each with its name.
pub fn unfinished_runs(
    home: &Home,
    project_dir: &Path,
) -> Result<impl Iterator<Item = (RunDir, String)>, Failure> {
    let unfinished = home.runs_newest_first()?.take(RUNS_MAX).filter(|dir| !dir.is_outcome_published());
    Ok(unfinished.filter_map(move |dir| {
        let spec = dir.plan().ok()?.spec;
        let name = spec.name.filter(|name| name.starts_with("gsd-") && spec.cwd == project_dir)?;
        Some((dir, name))
    }))
}

/// Returns the newest workflow of `gsd phases` on the project.
fn newest_workflow(home: &Home, project_dir: &Path) -> Result<Option<WorkflowDir>, Failure> {
    let is_here = |dir: &WorkflowDir| {
        dir.plan().is_ok_and(|plan| {
            let is_of_command = plan.name.is_some_and(|name| name.starts_with(WORKFLOW_NAME));
            is_of_command && plan.project_dir.as_path() == project_dir
        })
    };
    Ok(home.workflows_newest_first()?.into_iter().find(is_here))
}

/// Rejects a resume of a workflow of `gsd phases` after a later one on the project: it would repeat the phases that this
/// one has completed.
pub fn require_newest(home: &Home, dir: &WorkflowDir) -> Result<(), Failure> {
    let plan = dir.plan()?;
    let project_dir = plan.project_dir.as_path();
    let range = plan.name.as_ref().and_then(|name| name.strip_prefix(WORKFLOW_NAME)?.strip_prefix('-'));
    let (Some(range), Some(newest)) = (range, newest_workflow(home, project_dir)?) else { return Ok(()) };
    if newest.id() == dir.id() {
        return Ok(());
    }
    let command = command_line(project_dir, &format!("phases {}", range.replacen('-', "..", 1)));
    Err(Failure::not_started(
        format!(
            "cannot resume workflow {}: workflow {} has worked on its project since",
            dir.id(),
            newest.id()
        ),
        format!("`{command}` does what is left"),
    ))
}

/// Returns the newest workflow of `gsd phases` on the project if it is unfinished.
pub fn unfinished_workflow(home: &Home, project_dir: &Path) -> Result<Option<WorkflowDir>, Failure> {
    let Some(dir) = newest_workflow(home, project_dir)? else { return Ok(None) };
    let is_open = Journal::is_locked(&dir.journal_path())?
        || recoverable_workflows(home)?.iter().any(|other| other.id() == dir.id());
    Ok(Some(dir).filter(|_| is_open))
}

/// Returns the hint about an unfinished run or workflow, which may have a supervisor.
pub fn continue_or_cancel(dir: &JournalDir) -> Result<String, Failure> {
    let id = dir.id();
    Ok(match Journal::is_locked(&dir.journal_path())? {
        true => attach_or_cancel(id),
        false => recover_or_cancel(id),
    })
}

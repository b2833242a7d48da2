//! Finds the last run of a command on a project, so that the same command continues it. Changes nothing.

use crate::commands::recover::unfinished_workflow_of;
use crate::commands::run::{KeyState, key_state};
use crate::failure::Failure;
use longhaul_core::{OutcomeKind, RunId, SessionId};
use longhaul_store::{Home, RunDir};
use std::path::Path;

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

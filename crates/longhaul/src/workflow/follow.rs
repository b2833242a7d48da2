//! Follows a workflow that another process supervises. It only reads the workflow's files, except to forward a
//! cancel or a suspension.

use super::{WorkflowError, WorkflowObserver, WorkflowReport, WorkflowView};
use crate::live::forward_stops;
use longhaul_core::{CancelSource, Outcome, Workflow, WorkflowStage};
use longhaul_store::{Journal, JournalFollower, WorkflowDir};
use std::time::Duration;
use tokio::sync::mpsc;

// Short for a person, and long for the machine.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Follows a workflow until it finishes or is suspended, and forwards each cancel or suspension to its supervisor.
pub(super) async fn attach(
    dir: &WorkflowDir,
    observer: &mut dyn WorkflowObserver,
    cancels: mpsc::Receiver<CancelSource>,
) -> Result<WorkflowReport, WorkflowError> {
    let followed = follow(dir, observer);
    forward_stops(followed, cancels, &dir.requests()).await
}

async fn follow(
    dir: &WorkflowDir,
    observer: &mut dyn WorkflowObserver,
) -> Result<WorkflowReport, WorkflowError> {
    let plan = dir.plan()?;
    let journal_path = dir.journal_path();
    let mut journal = JournalFollower::open(&journal_path)?;
    let mut workflow = Workflow::new();
    let mut last_at = plan.started_at.0;
    observer.on_start(dir, &plan);
    loop {
        // The lock is checked first, so that the last writes of a dead supervisor are still read.
        let is_locked = Journal::is_locked(&journal_path)?;
        for entry in journal.read()? {
            entry.records.iter().for_each(|record| workflow.apply(entry.at, record));
            last_at = entry.at;
            let view = WorkflowView { workflow: &workflow, policy: &plan.policy, at: entry.at };
            observer.on_step(view, &entry.records);
        }
        let is_published = dir.is_outcome_published();
        let outcome = match workflow.state().stage {
            WorkflowStage::Finished { outcome, .. } if is_published => Some(outcome),
            WorkflowStage::Suspended { source, .. } if !is_locked => Some(Outcome::suspended(source)),
            WorkflowStage::New
            | WorkflowStage::Running
            | WorkflowStage::Suspended { .. }
            | WorkflowStage::Finished { .. } => None,
        };
        if let Some(outcome) = outcome {
            return Ok(WorkflowReport::new(dir, &plan, &workflow, outcome, last_at));
        }
        if !is_locked {
            return Err(WorkflowError::Orphaned(dir.id().clone()));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

//! The ways in which a supervisor starts with a workflow.

use super::follow::attach;
use super::open::open;
use super::{WorkflowError, WorkflowObserver, WorkflowReport};
use crate::{Environment, Observed};
use longhaul_core::{CancelSource, WorkflowLimits};
use longhaul_store::{Home, WorkflowDir, WorkflowPlan};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

/// How to resume a finished workflow. By default it continues under its old limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkflowResume {
    /// New limits. `None` keeps the old ones.
    pub limits: Option<WorkflowLimits>,
    /// New maximum of iterations. `None` keeps the old one.
    pub iterations_max: Option<u32>,
}

/// How a supervisor starts with a workflow.
#[derive(Clone, Debug)]
pub enum WorkflowStart {
    /// Starts a new workflow, with everything resolved. Its time and its marker are set now.
    New(Box<WorkflowPlan>),
    /// Takes over a workflow whose supervisor died, or that a signal suspended.
    Recover(WorkflowDir),
    /// Follows a workflow that another process supervises. A cancel or a suspension is forwarded to that process.
    Attach(WorkflowDir),
    /// Resumes a finished workflow.
    Resume {
        /// Directory of the workflow.
        dir: WorkflowDir,
        /// How it continues.
        resume: WorkflowResume,
    },
}

/// A workflow that its caller drives; see [`ObservedRun`](crate::ObservedRun).
pub type ObservedWorkflow<'a> = Observed<'a, Result<WorkflowReport, WorkflowError>>;

impl WorkflowStart {
    pub(crate) async fn drive(
        self,
        home: Home,
        environment: Environment,
        observer: &mut dyn WorkflowObserver,
        cancels: mpsc::Receiver<CancelSource>,
    ) -> Result<WorkflowReport, WorkflowError> {
        if let WorkflowStart::Attach(dir) = self {
            return attach(&dir, observer, cancels).await;
        }
        // The runs of the workflow are tasks of this thread.
        let drive = async move {
            let (driver, first) = open(home, environment, self, observer, cancels).await?;
            driver.drive(first).await
        };
        LocalSet::new().run_until(drive).await
    }
}

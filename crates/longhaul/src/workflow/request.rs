//! The ways in which a supervisor starts with a workflow, and the future that drives it to its outcome.

use super::follow::attach;
use super::open::open;
use super::{WorkflowError, WorkflowObserver, WorkflowReport};
use crate::{Canceller, Environment};
use longhaul_core::{CancelSource, RunSpec, WorkflowLimits, WorkflowPolicy};
use longhaul_store::{Home, WorkflowDir, WorkflowSource};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

/// The request for a new workflow, with everything resolved.
#[derive(Clone, Debug)]
pub struct WorkflowRequest {
    /// Name given by the user.
    pub name: Option<String>,
    /// Directory that the workflow works on, absolute, with links resolved.
    pub project_dir: PathBuf,
    /// The workflow file.
    pub file: WorkflowSource,
    /// Parameters of the command line.
    pub parameters: Vec<(String, String)>,
    /// Text that prompts can quote as `focus`.
    pub focus: Option<String>,
    /// Graph, limits and reactions.
    pub policy: WorkflowPolicy,
    /// Description of the runs of each phase. Its prompt is ignored.
    pub runs: Vec<RunSpec>,
    /// Origins of the values in `runs`, for the plans.
    pub origins: Vec<BTreeMap<String, String>>,
    /// Memory that must be available before a run starts, in bytes.
    pub memory_reserve: u64,
    /// Notification channels of the workflow.
    pub notify: Vec<String>,
}

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
    /// Starts a new workflow.
    New(Box<WorkflowRequest>),
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

/// A workflow that its caller drives: the future of its report. Dropping it abandons the workflow and its runs,
/// which can then be recovered.
///
/// The future needs a tokio runtime with time and I/O, and stays on its thread.
pub struct ObservedWorkflow<'a> {
    canceller: Canceller,
    report: Pin<Box<dyn Future<Output = Result<WorkflowReport, WorkflowError>> + 'a>>,
}

impl<'a> ObservedWorkflow<'a> {
    pub(crate) fn new(
        start: WorkflowStart,
        home: Home,
        environment: Environment,
        observer: &'a mut dyn WorkflowObserver,
        (canceller, cancels): (Canceller, mpsc::Receiver<CancelSource>),
    ) -> ObservedWorkflow<'a> {
        let report = Box::pin(async move {
            if let WorkflowStart::Attach(dir) = start {
                return attach(&dir, observer, cancels).await;
            }
            // The runs of the workflow are tasks of this thread.
            let tasks = LocalSet::new();
            tasks
                .run_until(async move {
                    let (driver, first) = open(home, environment, start, observer, cancels).await?;
                    driver.drive(first).await
                })
                .await
        });
        ObservedWorkflow { canceller, report }
    }

    /// Returns what cancels or suspends the workflow, even before the first poll.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }
}

impl Future for ObservedWorkflow<'_> {
    type Output = Result<WorkflowReport, WorkflowError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.report.as_mut().poll(context)
    }
}

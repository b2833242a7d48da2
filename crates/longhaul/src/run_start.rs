//! The ways in which a supervisor starts with a run, and the future that drives the run to its outcome.

use crate::follow::attach;
use crate::recover::{OpenMode, continue_run};
use crate::supervise::supervise;
use crate::{Canceller, Environment, Observer, ResumeOptions, RunError, RunReport, RunRequest};
use longhaul_core::CancelSource;
use longhaul_store::{Home, RunDir};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// How a supervisor starts with a run.
#[derive(Clone, Debug)]
pub enum RunStart {
    /// Starts a new run.
    New(Box<RunRequest>),
    /// Takes over a run whose supervisor died. If its agent is still running, it is followed.
    Recover {
        /// Directory of the run.
        dir: RunDir,
        /// Commands that replace the run's notification commands, or `None` to keep them.
        notify: Option<Vec<String>>,
    },
    /// Resumes a finished run in its session, with its clocks and costs. A run without an outcome is
    /// recovered; it cannot get a new prompt or task.
    Resume {
        /// Directory of the run.
        dir: RunDir,
        /// How the run continues.
        options: Box<ResumeOptions>,
    },
    /// Follows a run that another process supervises. A cancel or a suspension is forwarded to that
    /// process.
    Attach(RunDir),
}

impl<R: Into<RunRequest>> From<R> for RunStart {
    fn from(request: R) -> RunStart {
        RunStart::New(Box::new(request.into()))
    }
}

impl RunStart {
    pub(crate) async fn drive(
        self,
        home: Home,
        environment: Environment,
        observer: &mut dyn Observer,
        cancels: mpsc::Receiver<CancelSource>,
    ) -> Result<RunReport, RunError> {
        let (dir, mode) = match self {
            RunStart::New(request) => {
                return supervise(&home, environment, *request, observer, cancels).await;
            }
            RunStart::Attach(dir) => {
                return attach(&dir, observer, cancels).await.map_err(RunError::NotStarted);
            }
            RunStart::Recover { dir, notify } => (dir, OpenMode::Recover { notify }),
            RunStart::Resume { dir, options } => (dir, OpenMode::Resume(*options)),
        };
        continue_run(&home, environment, dir, mode, observer, cancels).await
    }
}

/// The future of a report, which its caller drives. Dropping it abandons the run or workflow, which can then be
/// recovered.
///
/// The future needs a tokio runtime with time and I/O, and stays on its thread.
pub struct Observed<'a, T> {
    canceller: Canceller,
    report: Pin<Box<dyn Future<Output = T> + 'a>>,
}

/// A run that its caller drives.
pub type ObservedRun<'a> = Observed<'a, Result<RunReport, RunError>>;

impl<'a, T> Observed<'a, T> {
    pub(crate) fn new(canceller: Canceller, report: impl Future<Output = T> + 'a) -> Observed<'a, T> {
        Observed { canceller, report: Box::pin(report) }
    }

    /// Returns what cancels or suspends it, even before the first poll.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }
}

impl<T> Future for Observed<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.report.as_mut().poll(context)
    }
}

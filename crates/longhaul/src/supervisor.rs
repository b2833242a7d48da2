//! The library's entry point: supervises the runs of one home. It never decides how a run continues.

use crate::workflow::{ObservedWorkflow, WorkflowObserver, WorkflowStart};
use crate::{
    Canceller, Environment, Observed, ObservedRun, Observer, ResumeOptions, RunHandle, RunRequest, RunStart,
    SuperviseError,
};
use longhaul_store::{Home, StoreError};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::{env, io, thread};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};

/// Supervises runs of one home.
///
/// All runs of a supervisor share one thread, which starts with the first run and ends with the last one.
/// Dropping the supervisor neither waits for its runs nor stops them. If the process exits, its runs are
/// orphaned, and [`recover`](Supervisor::recover) continues them.
#[derive(Debug)]
pub struct Supervisor {
    home: Home,
    environment: Environment,
    runs: Mutex<Option<mpsc::UnboundedSender<StartRun>>>,
}

type StartRun = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()>>> + Send>;

impl Supervisor {
    /// Opens the home of runs in this directory, and creates it if it is missing. `None` opens the home that
    /// the `longhaul` program uses.
    ///
    /// # Errors
    /// Returns an error if the home cannot be created, or if `home` is `None` and the environment names none.
    pub fn open(home: Option<PathBuf>) -> Result<Supervisor, StoreError> {
        Home::open(home, |name| env::var_os(name)).map(Supervisor::from)
    }

    /// Sets the environment of all agents. By default they inherit that of this process, and no watchdog is
    /// started.
    #[must_use]
    pub fn with_environment(self, environment: Environment) -> Supervisor {
        Supervisor { environment, ..self }
    }

    /// Returns the home of the runs.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Starts a new run. A [`RunSpec`](longhaul_core::RunSpec) is a complete request.
    ///
    /// # Errors
    /// Returns an error if the system refuses the supervisor's thread. Every other error is that of
    /// [`RunHandle::outcome`].
    pub fn run(&self, request: impl Into<RunRequest>) -> Result<RunHandle, SuperviseError> {
        self.start(RunStart::from(request))
    }

    /// Takes over a run whose supervisor died. `run` is its id, or another selector of
    /// [`Home::find`].
    ///
    /// # Errors
    /// Returns an error if `run` names no run, and the error of [`run`](Supervisor::run).
    pub fn recover(&self, run: &str) -> Result<RunHandle, SuperviseError> {
        self.start(RunStart::Recover { dir: self.home.find(run)?, notify: None })
    }

    /// Resumes a finished run in its session. `run` is its id, or another selector of [`Home::find`].
    ///
    /// # Errors
    /// Returns an error if `run` names no run, and the error of [`run`](Supervisor::run).
    pub fn resume(&self, run: &str, options: ResumeOptions) -> Result<RunHandle, SuperviseError> {
        self.start(RunStart::Resume { dir: self.home.find(run)?, options: Box::new(options) })
    }

    /// Follows a run that another process supervises. `run` is its id, or another selector of [`Home::find`].
    /// Cancelling the handle asks that process to cancel the run.
    ///
    /// # Errors
    /// Returns an error if `run` names no run, and the error of [`run`](Supervisor::run).
    pub fn attach(&self, run: &str) -> Result<RunHandle, SuperviseError> {
        self.start(RunStart::Attach(self.home.find(run)?))
    }

    /// Starts a run on the supervisor's thread.
    ///
    /// # Errors
    /// Returns an error if the system refuses the thread.
    pub fn start(&self, start: RunStart) -> Result<RunHandle, SuperviseError> {
        let (canceller, cancels) = Canceller::new();
        let (handle, mut events, outcome) = RunHandle::new(canceller.clone());
        let (home, environment) = (self.home.clone(), self.environment.clone());
        let run: StartRun = Box::new(move || {
            Box::pin(async move {
                let run = Observed::new(canceller, start.drive(home, environment, &mut events, cancels));
                // The caller may have dropped the handle.
                let _ = outcome.send(run.await);
            })
        });
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*runs {
            Some(sender) if !sender.is_closed() => sender,
            Some(_) | None => runs.insert(start_thread()?),
        };
        // If the thread ends, the handle reports it.
        let _ = sender.send(run);
        Ok(handle)
    }

    /// Drives a workflow on the caller's thread, with an observer of its decisions.
    pub fn observe_workflow<'a>(
        &self,
        start: WorkflowStart,
        observer: &'a mut dyn WorkflowObserver,
    ) -> ObservedWorkflow<'a> {
        let (home, environment) = (self.home.clone(), self.environment.clone());
        let (canceller, cancels) = Canceller::new();
        Observed::new(canceller, start.drive(home, environment, observer, cancels))
    }

    /// Drives a run on the caller's thread, with an observer that borrows the run's state after each step.
    pub fn observe<'a>(&self, start: RunStart, observer: &'a mut dyn Observer) -> ObservedRun<'a> {
        let (canceller, cancels) = Canceller::new();
        Observed::new(canceller, start.drive(self.home.clone(), self.environment.clone(), observer, cancels))
    }
}

impl From<Home> for Supervisor {
    fn from(home: Home) -> Supervisor {
        Supervisor { home, environment: Environment::default(), runs: Mutex::default() }
    }
}

/// Starts the thread on which runs are driven. It ends with the last run after its sender is dropped.
fn start_thread() -> io::Result<mpsc::UnboundedSender<StartRun>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, mut starts) = mpsc::unbounded_channel::<StartRun>();
    thread::Builder::new().name("longhaul".to_owned()).spawn(move || {
        runtime.block_on(LocalSet::new().run_until(async move {
            let mut runs = JoinSet::new();
            while let Some(start) = starts.recv().await {
                runs.spawn_local(start());
                // Forgets the finished runs.
                while runs.try_join_next().is_some() {}
            }
            while runs.join_next().await.is_some() {}
        }));
    })?;
    Ok(sender)
}

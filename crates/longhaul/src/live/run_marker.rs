//! The run marker: two environment variables that identify a run's processes and that their children inherit.
//!
//! `LONGHAUL_RUN` contains the run's id. The id does not identify the run, because two homes may each have a
//! run with this id. `LONGHAUL_RUN_MARKER` is `ID/TOKEN` with a random token. The token is unique to the run
//! and is stored in its plan, so that it moves with the run's directory.
//!
//! In both variables, the run is listed after its enclosing runs, separated by colons. The sweeps of the
//! enclosing runs therefore also find its processes.

use crate::clock::random_seed;
use longhaul_core::{RunId, draw_uuid};
use longhaul_store::{JournalDir, RunDir, StoreError};
use std::env;
use std::path::PathBuf;

/// Environment variable with the run's id.
pub const RUN_VARIABLE: &str = "LONGHAUL_RUN";
/// Environment variable that identifies the processes of a run.
pub const MARKER_VARIABLE: &str = "LONGHAUL_RUN_MARKER";

/// The marker of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMarker {
    run: RunId,
    token: String,
    /// The directory of the run or workflow. `None` for processes that belong to neither. Only systems that hide the
    /// environment of processes need it.
    dir: Option<PathBuf>,
}

impl RunMarker {
    /// Loads the marker of the run in this directory.
    ///
    /// # Errors
    /// Returns an error if the run's plan cannot be read.
    pub fn load(dir: &RunDir) -> Result<RunMarker, StoreError> {
        Ok(RunMarker::new(dir, &dir.plan()?.marker))
    }

    /// Creates the marker of a run, or of a workflow's own commands.
    pub(crate) fn new(dir: &JournalDir, token: &str) -> RunMarker {
        RunMarker { run: dir.id().clone(), token: token.to_owned(), dir: Some(dir.path().to_owned()) }
    }

    /// Creates a marker for a process that belongs to no run.
    pub(crate) fn unowned() -> RunMarker {
        let token = RunMarker::random();
        RunMarker { run: RunId::from(token.as_str()), token, dir: None }
    }

    pub(crate) fn random() -> String {
        draw_uuid(random_seed(), 0).to_string()
    }

    /// Creates the marker of processes that belong to no run, but are remembered in this directory.
    #[cfg(test)]
    pub(crate) fn in_dir(dir: &std::path::Path) -> RunMarker {
        RunMarker { dir: Some(dir.to_owned()), ..RunMarker::unowned() }
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    #[cfg(any(not(target_os = "linux"), feature = "portable-processes"))]
    pub(crate) fn dir(&self) -> Option<&std::path::Path> {
        self.dir.as_deref()
    }

    /// Returns the run's id.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the marker's variables for a process of the run. They extend the values of the runs that this
    /// process belongs to.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let marker = format!("{}/{}", self.run, self.token);
        [
            (RUN_VARIABLE, append_to_variable(RUN_VARIABLE, self.run.as_str())),
            (MARKER_VARIABLE, append_to_variable(MARKER_VARIABLE, &marker)),
        ]
    }
}

/// Returns the id of the run or workflow inside which this process was started. A sweep of it stops this process.
pub fn enclosing_run() -> Option<String> {
    let runs = env::var(RUN_VARIABLE).ok().filter(|runs| !runs.is_empty())?;
    runs.rsplit(':').next().map(str::to_owned)
}

fn append_to_variable(name: &str, last: &str) -> String {
    match env::var(name) {
        Ok(outer) if !outer.is_empty() => format!("{outer}:{last}"),
        Ok(_) | Err(_) => last.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::RunMarker;

    #[test]
    fn tokens_are_random() {
        assert_ne!(RunMarker::random(), RunMarker::random());
    }
}

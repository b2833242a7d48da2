//! The run marker: two environment variables that identify a run's processes and that their children inherit.
//!
//! `LONGHAUL_RUN` contains the run's id. The id does not identify the run, because two homes may each have a
//! run with this id. `LONGHAUL_RUN_MARKER` is `ID/TOKEN` with a random token. The token is unique to the run
//! and is stored in its plan, so that it moves with the run's directory.
//!
//! In both variables, the run is listed after its enclosing runs, separated by colons. The sweeps of the
//! enclosing runs therefore also find its processes.

use super::clock::random_seed;
use longhaul_core::{RunId, draw_uuid};
use longhaul_store::{Plan, RunDir, StoreError};
use std::env;

/// Environment variable with the run's id.
pub const RUN_VARIABLE: &str = "LONGHAUL_RUN";
/// Environment variable that identifies the processes of a run.
pub const MARKER_VARIABLE: &str = "LONGHAUL_RUN_MARKER";

/// The marker of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMarker {
    run: RunId,
    /// `None` for a run of an older version, whose processes carry only the id.
    token: Option<String>,
}

impl RunMarker {
    /// Loads the marker of the run in this directory.
    ///
    /// # Errors
    /// Returns an error if the run's plan cannot be read.
    pub fn load(dir: &RunDir) -> Result<RunMarker, StoreError> {
        Ok(RunMarker::new(dir.id(), &dir.plan()?))
    }

    pub(crate) fn new(run: &RunId, plan: &Plan) -> RunMarker {
        RunMarker { run: run.clone(), token: plan.marker.clone() }
    }

    /// Creates the marker of a workflow's own commands.
    pub(crate) fn for_workflow(workflow: &RunId, token: &str) -> RunMarker {
        RunMarker { run: workflow.clone(), token: Some(token.to_owned()) }
    }

    /// Creates a marker for a process that belongs to no run.
    pub(crate) fn unowned() -> RunMarker {
        RunMarker { run: RunId::from(RunMarker::random().as_str()), token: None }
    }

    pub(crate) fn random() -> String {
        draw_uuid(random_seed(), 0).to_string()
    }

    /// Returns the run's id.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the marker's variables for a process of the run. They extend the values of the runs that this
    /// process belongs to.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let run = (RUN_VARIABLE, append_to_variable(RUN_VARIABLE, self.run.as_str()));
        let marker =
            |token| (MARKER_VARIABLE, append_to_variable(MARKER_VARIABLE, &format!("{}/{token}", self.run)));
        [run].into_iter().chain(self.token.as_ref().map(marker)).collect()
    }
}

fn append_to_variable(name: &str, last: &str) -> String {
    match env::var(name) {
        Ok(outer) if !outer.is_empty() => format!("{outer}:{last}"),
        Ok(_) | Err(_) => last.to_owned(),
    }
}

/// The values of both variables in the environment of a process.
#[derive(Default)]
pub(crate) struct MarkerVariables {
    runs: String,
    markers: String,
}

impl MarkerVariables {
    /// Reads the variables with `value`. Returns `None` if the process belongs to no run.
    pub(crate) fn new<'a>(value: impl Fn(&str) -> Option<&'a [u8]>) -> Option<MarkerVariables> {
        let text = |name| value(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Some(MarkerVariables {
            runs: text(RUN_VARIABLE)?,
            // Older versions do not set it.
            markers: text(MARKER_VARIABLE).unwrap_or_default(),
        })
    }

    /// Returns whether the process belongs to the run.
    pub(crate) fn has(&self, marker: &RunMarker) -> bool {
        match &marker.token {
            Some(token) => self.markers().any(|(_, other)| other == token),
            // Each run with this id and a token is a different run.
            None => {
                let of_id = |run: &str| run == marker.run.as_str();
                let others = self.markers().filter(|(run, _)| of_id(run)).count();
                self.runs.split(':').filter(|run| of_id(run)).count() > others
            }
        }
    }

    /// Returns `true` if the process belongs to the run and not to a nested one.
    pub(crate) fn ends_with(&self, marker: &RunMarker) -> bool {
        let last = self.runs.rsplit(':').next().unwrap_or_default();
        self.has(marker)
            && match &marker.token {
                // In `LONGHAUL_RUN_MARKER` this run may come last although it encloses a run of an older
                // version.
                Some(token) => self.markers().last() == Some((last, token)),
                None => last == marker.run.as_str(),
            }
    }

    /// Returns each run that has a token, with the token.
    fn markers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.markers.split(':').filter_map(|entry| entry.split_once('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::{MarkerVariables, RunMarker};
    use longhaul_core::RunId;

    fn marker(run: &str, token: Option<&str>) -> RunMarker {
        RunMarker { run: RunId::from(run), token: token.map(str::to_owned) }
    }

    #[test]
    fn a_process_belongs_to_its_run_and_to_enclosing_runs() {
        // The two variables, the marker, whether the process carries it, and whether it comes last.
        let check = |runs: &str, markers: &str, marker: &RunMarker, expected: (bool, bool)| {
            let variables = MarkerVariables { runs: runs.to_owned(), markers: markers.to_owned() };
            assert_eq!(
                (variables.has(marker), variables.ends_with(marker)),
                expected,
                "{runs} {markers} {marker:?}"
            );
        };
        let (current, old) = (marker("a", Some("1")), marker("a", None));
        check("a", "a/1", &current, (true, true));
        check("outer:a", "outer/9:a/1", &current, (true, true));
        check("a:inner", "a/1:inner/2", &current, (true, false));
        // Another home's run with this id; the same run under a different directory name.
        check("a", "a/2", &current, (false, false));
        check("before", "before/1", &current, (true, true));
        // An older version's run with this id, and an older version's run nested in this one.
        check("a", "", &current, (false, false));
        check("a:inner", "a/1", &current, (true, false));

        check("a", "", &old, (true, true));
        check("a:inner", "inner/2", &old, (true, false));
        check("outer:a", "outer/9", &old, (true, true));
        check("a", "a/1", &old, (false, false));
        check("a:a", "a/1", &old, (true, true));
        check("ab", "", &old, (false, false));
    }

    #[test]
    fn tokens_are_random() {
        assert_ne!(RunMarker::random(), RunMarker::random());
    }
}

//! The values of the run marker's variables in the environment of a process.

use crate::live::run_marker::{MARKER_VARIABLE, RUN_VARIABLE, RunMarker};

/// The values of both variables in the environment of a process.
#[derive(Default)]
pub(super) struct MarkerVariables {
    runs: String,
    markers: String,
}

impl MarkerVariables {
    /// Reads the variables with `value`. Returns `None` if the process belongs to no run.
    pub(super) fn new<'a>(value: impl Fn(&str) -> Option<&'a [u8]>) -> Option<MarkerVariables> {
        let text = |name| value(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Some(MarkerVariables {
            runs: text(RUN_VARIABLE)?,
            // Older versions do not set it.
            markers: text(MARKER_VARIABLE).unwrap_or_default(),
        })
    }

    /// Returns whether the process belongs to the run.
    pub(super) fn has(&self, marker: &RunMarker) -> bool {
        match marker.token() {
            Some(token) => self.markers().any(|(_, other)| other == token),
            // Each run with this id and a token is a different run.
            None => {
                let of_id = |run: &str| run == marker.run().as_str();
                let others = self.markers().filter(|(run, _)| of_id(run)).count();
                self.runs.split(':').filter(|run| of_id(run)).count() > others
            }
        }
    }

    /// Returns `true` if the process belongs to the run and not to a nested one.
    pub(super) fn ends_with(&self, marker: &RunMarker) -> bool {
        let last = self.runs.rsplit(':').next().unwrap_or_default();
        self.has(marker)
            && match marker.token() {
                // In `LONGHAUL_RUN_MARKER` this run may come last although it encloses a run of an older
                // version.
                Some(token) => self.markers().last() == Some((last, token)),
                None => last == marker.run().as_str(),
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
        let (current, old) = (RunMarker::with_token("a", Some("1")), RunMarker::with_token("a", None));
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
}

//! What tells a run's processes from all others: two variables of their environment, which whatever they start inherits.
//!
//! `LONGHAUL_RUN` names the run, for whoever wants to know it. It proves nothing: two homes may each have a run of one id.
//! `LONGHAUL_MARK` is `ID/DRAWN`, and what was drawn is no other run's: it is in the run's plan, so that it goes wherever its
//! directory goes. In each the run stands behind those around it, separated by colons: their sweeps find our agents too.

use super::clock::random_seed;
use longhaul_core::{RunId, draw_uuid};
use longhaul_store::{Plan, RunDir, StoreError};
use rustix::process::Pid;
use std::{env, fs};

/// The environment variable that names the run.
pub const RUN_VARIABLE: &str = "LONGHAUL_RUN";
/// The environment variable that tells its processes from those of any other run.
pub const MARK_VARIABLE: &str = "LONGHAUL_MARK";

/// A run's mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunMarker {
    run: RunId,
    /// Nothing for a run that an older version began: its processes carry the id alone.
    drawn: Option<String>,
}

impl RunMarker {
    /// That of the run of this directory.
    ///
    /// # Errors
    ///
    /// If its plan cannot be read.
    pub fn load(dir: &RunDir) -> Result<RunMarker, StoreError> {
        Ok(RunMarker::new(dir.id(), &dir.plan()?))
    }

    /// That of a run of this id and plan.
    pub(crate) fn new(run: &RunId, plan: &Plan) -> RunMarker {
        RunMarker { run: run.clone(), drawn: plan.marker.clone() }
    }

    /// One of nobody's, for a process that belongs to no run.
    pub(crate) fn unowned() -> RunMarker {
        RunMarker { run: RunId::from(RunMarker::random().as_str()), drawn: None }
    }

    /// What a new run's mark has besides its id.
    pub(crate) fn random() -> String {
        draw_uuid(random_seed(), 0).to_string()
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The variables of a process that this one starts for the run, behind those of the runs that this one belongs to.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let named = (RUN_VARIABLE, behind(RUN_VARIABLE, self.run.as_str()));
        let marker = |drawn| (MARK_VARIABLE, behind(MARK_VARIABLE, &format!("{}/{drawn}", self.run)));
        [named].into_iter().chain(self.drawn.as_ref().map(marker)).collect()
    }

    /// Whether a process carries it.
    pub(crate) fn is_on(&self, pid: Pid) -> bool {
        MarkerVariables::by(pid).is_some_and(|carried| carried.has(self))
    }

    /// Whether a process carries it, and is not of a run inside of the run.
    pub(crate) fn is_last_on(&self, pid: Pid) -> bool {
        MarkerVariables::by(pid).is_some_and(|carried| carried.ends_with(self))
    }
}

/// A variable's value for a process of ours: `own` behind what we have there.
fn behind(name: &str, own: &str) -> String {
    match env::var(name) {
        Ok(outer) if !outer.is_empty() => format!("{outer}:{own}"),
        Ok(_) | Err(_) => own.to_owned(),
    }
}

/// What a process has in the two variables.
#[derive(Default)]
struct MarkerVariables {
    runs: String,
    marks: String,
}

impl MarkerVariables {
    fn by(pid: Pid) -> Option<MarkerVariables> {
        let environment = environment(pid)?;
        let value = |name| value(&environment, name).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Some(MarkerVariables {
            runs: value(RUN_VARIABLE)?,
            // An older version sets none.
            marks: value(MARK_VARIABLE).unwrap_or_default(),
        })
    }

    fn has(&self, marker: &RunMarker) -> bool {
        match &marker.drawn {
            Some(drawn) => self.marks().any(|(_, one)| one == drawn),
            // Each run of this id that has drawn something is another one.
            None => {
                let of_id = |run: &str| run == marker.run.as_str();
                let others = self.marks().filter(|(run, _)| of_id(run)).count();
                self.runs.split(':').filter(|run| of_id(run)).count() > others
            }
        }
    }

    fn ends_with(&self, marker: &RunMarker) -> bool {
        let last = self.runs.rsplit(':').next().unwrap_or_default();
        self.has(marker)
            && match &marker.drawn {
                // The one that drew it last may be around one of an older version.
                Some(drawn) => self.marks().last() == Some((last, drawn)),
                None => last == marker.run.as_str(),
            }
    }

    /// Each run that has drawn something, and what.
    fn marks(&self) -> impl Iterator<Item = (&str, &str)> {
        self.marks.split(':').filter_map(|one| one.split_once('/'))
    }
}

/// A variable of a process's environment as it was when its program began.
pub(crate) fn variable(pid: Pid, name: &str) -> Option<Vec<u8>> {
    Some(value(&environment(pid)?, name)?.to_owned())
}

/// A zombie has no environment left, and nothing to end.
fn environment(pid: Pid) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()
}

fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::{MarkerVariables, RunMarker};
    use longhaul_core::RunId;

    fn mark(run: &str, drawn: Option<&str>) -> RunMarker {
        RunMarker { run: RunId::from(run), drawn: drawn.map(str::to_owned) }
    }

    #[test]
    fn a_process_belongs_to_its_run_and_to_those_around_it() {
        // The two variables; the mark that is looked for; whether it is there, and whether it is the last one.
        let check = |runs: &str, marks: &str, mark: &RunMarker, expected: (bool, bool)| {
            let carried = MarkerVariables { runs: runs.to_owned(), marks: marks.to_owned() };
            assert_eq!((carried.has(mark), carried.ends_with(mark)), expected, "{runs} {marks} {mark:?}");
        };
        let (ours, old) = (mark("a", Some("1")), mark("a", None));
        check("a", "a/1", &ours, (true, true));
        check("outer:a", "outer/9:a/1", &ours, (true, true));
        check("a:inner", "a/1:inner/2", &ours, (true, false));
        // Another home's run of this id; the same one, before its directory got another name.
        check("a", "a/2", &ours, (false, false));
        check("before", "before/1", &ours, (true, true));
        // An older version's run of this id, and one that an older version began inside of ours.
        check("a", "", &ours, (false, false));
        check("a:inner", "a/1", &ours, (true, false));

        check("a", "", &old, (true, true));
        check("a:inner", "inner/2", &old, (true, false));
        check("outer:a", "outer/9", &old, (true, true));
        check("a", "a/1", &old, (false, false));
        check("a:a", "a/1", &old, (true, true));
        check("ab", "", &old, (false, false));
    }

    #[test]
    fn what_is_drawn_is_new_each_time() {
        assert_ne!(RunMarker::random(), RunMarker::random());
    }
}

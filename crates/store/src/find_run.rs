//! Lists and finds runs and workflows. It reads directory entries, for `@` the status and the plan of the last runs, and
//! for the name of a workflow the plans. It reads a journal only to check whether a run is unfinished.

use crate::files::if_exists;
use crate::{Day, Home, Journal, JournalDir, RunDir, StoreError, WorkflowDir};
use longhaul_core::{Outcome, OutcomeKind, Run, RunId};
use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Name of the runs in which Claude Code judges sessions for the playbook.
pub const JUDGE_RUN: &str = "playbook-judge";
/// Working directory of these runs, in the home.
const JUDGE_DIR: &str = "playbook/judge";

impl Home {
    /// Finds a run by the first letters of its id, by `@` (the last run that started) or by `@-N` (the one N
    /// before that; `@-` is `@-1`). `@` skips the playbook's judge runs, because the user did not start them. A
    /// complete id wins over a longer one that starts with it.
    ///
    /// # Errors
    /// Returns [`StoreError::NoSuchRun`], [`StoreError::AmbiguousRun`] or [`StoreError::MalformedRun`] if
    /// `request` does not name one run, and [`StoreError::Io`] if the home cannot be read.
    pub fn find(&self, request: &str) -> Result<RunDir, StoreError> {
        let none = || StoreError::NoSuchRun { request: request.to_owned(), runs: self.runs_path() };
        if request.starts_with('@') {
            return self.find_recent(request, |_| true);
        }
        if request.is_empty() {
            return Err(StoreError::MalformedRun(request.to_owned()));
        }
        let mut matches = Vec::new();
        for run in self.runs_newest_first()? {
            if run.id().as_str() == request {
                return Ok(run);
            }
            if run.id().as_str().starts_with(request) {
                matches.push(run);
            }
        }
        only_match(request, matches)?.ok_or_else(none)
    }

    /// Finds the run that `@` or `@-N` selects among the runs that `is_included` accepts.
    ///
    /// # Errors
    /// As [`Home::find`].
    pub fn find_recent(
        &self,
        request: &str,
        is_included: impl Fn(&RunDir) -> bool,
    ) -> Result<RunDir, StoreError> {
        let index = request.strip_prefix('@').and_then(steps_back);
        let index = index.ok_or_else(|| StoreError::MalformedRun(request.to_owned()))?;
        let mut runs = self
            .runs_newest_first()?
            .filter(|run| is_included(run) && has_started(run) && !is_judge_run(run));
        let none = || StoreError::NoSuchRun { request: request.to_owned(), runs: self.runs_path() };
        runs.nth(index).ok_or_else(none)
    }

    /// Returns every run, newest first. The directory of a day is read only when the iterator reaches it.
    /// Directories that are still being created are not included.
    ///
    /// A home that does not exist has no runs.
    pub fn runs_newest_first(&self) -> Result<impl Iterator<Item = RunDir> + use<>, StoreError> {
        let days = days_newest_first(&self.runs_path())?.into_iter();
        Ok(days.flat_map(|day| newest_first(unsorted_runs_of_day(&day))))
    }

    /// Returns whether a run with this id has an outcome. `None` if its journal cannot be read, for example because
    /// it is on a disk that is not mounted.
    ///
    /// A run that does not exist counts as finished.
    pub(crate) fn is_finished(&self, id: &RunId) -> Option<bool> {
        let mut paths =
            days_newest_first(&self.runs_path()).ok()?.into_iter().map(|day| day.join(id.as_str()));
        let Some(path) = paths.find(|path| path.symlink_metadata().is_ok()) else { return Some(true) };
        let history = Journal::load(&RunDir::new(path, id.clone()).journal_path()).ok()?;
        Some(Run::replay(history.records()).state().outcome().is_some())
    }

    /// Returns the run with this complete id. `None` if there is none.
    pub fn run_with_id(&self, id: &RunId) -> Result<Option<RunDir>, StoreError> {
        Ok(self.find_exact(id)?.map(|path| RunDir::new(path, id.clone())))
    }

    /// Returns the directory with this id, whatever it contains. A link to a missing directory does not
    /// count.
    pub(crate) fn find_exact(&self, id: &RunId) -> Result<Option<PathBuf>, StoreError> {
        dir_with_id(&self.runs_path(), id)
    }

    /// Returns the directory of all workflows, by date.
    pub fn workflows_path(&self) -> PathBuf {
        self.path().join("workflows")
    }

    /// Returns every workflow, newest first. Directories that are still being created are not included.
    pub fn workflows_newest_first(&self) -> Result<Vec<WorkflowDir>, StoreError> {
        let days = days_newest_first(&self.workflows_path())?;
        let workflows = days.iter().flat_map(|day| {
            let visible = names(day).unwrap_or_default().into_iter().filter(|name| !name.starts_with('.'));
            visible.map(move |name| WorkflowDir::new(day.join(&name), RunId::from(name)))
        });
        Ok(newest_first(workflows))
    }

    /// Finds the workflow with this id, the newest one with this name, or the only one whose id starts with
    /// `request`. Returns `None` if `request` names none.
    ///
    /// # Errors
    /// Returns [`StoreError::AmbiguousRun`] if several ids start with `request`.
    pub fn find_workflow(&self, request: &str) -> Result<Option<WorkflowDir>, StoreError> {
        let workflows = self.workflows_newest_first()?;
        let is_named =
            |dir: &&WorkflowDir| dir.plan().is_ok_and(|plan| plan.name.as_deref() == Some(request));
        let exact = workflows.iter().find(|dir| dir.id().as_str() == request);
        if let Some(found) = exact.or_else(|| workflows.iter().find(is_named)) {
            return Ok(Some(found.clone()));
        }
        let has_prefix = |dir: &WorkflowDir| !request.is_empty() && dir.id().as_str().starts_with(request);
        only_match(request, workflows.into_iter().filter(has_prefix).collect())
    }
}

pub(crate) fn dir_with_id(runs: &Path, id: &RunId) -> Result<Option<PathBuf>, StoreError> {
    let mut paths = days_newest_first(runs)?.into_iter().map(|day| day.join(id.as_str()));
    Ok(paths.find(|path| path.exists()).map(|path| fs::read_link(&path).unwrap_or(path)))
}

pub(crate) fn days_newest_first(runs: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let names = if_exists(names(runs)).map_err(StoreError::io("list runs", runs))?.unwrap_or_default();
    // Only names in the form that this version writes.
    let is_day = |name: &String| name.parse::<Day>().is_ok_and(|day| day.to_string() == *name);
    let mut days: Vec<String> = names.into_iter().filter(is_day).collect();
    days.sort_unstable_by(|one, other| other.cmp(one));
    Ok(days.iter().map(|day| runs.join(day)).collect())
}

/// Returns the only run or workflow that matches `request`, or `None` if there is none.
///
/// # Errors
/// Returns [`StoreError::AmbiguousRun`] if there are several.
pub fn only_match<D: Deref<Target = JournalDir>>(
    request: &str,
    mut matches: Vec<D>,
) -> Result<Option<D>, StoreError> {
    if matches.len() > 1 {
        let candidates = matches.iter().map(|dir| dir.id().clone()).collect();
        return Err(StoreError::AmbiguousRun { request: request.to_owned(), candidates });
    }
    Ok(matches.pop())
}

/// Parses the part after `@`: empty is 0, `-` is 1, `-12` is 12.
fn steps_back(rest: &str) -> Option<usize> {
    match rest.strip_prefix('-') {
        None => rest.is_empty().then_some(0),
        Some("") => Some(1),
        Some(number) => number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?,
    }
}

/// Returns whether the run has no outcome yet, or any outcome except `not_started`.
pub fn has_started(run: &RunDir) -> bool {
    let not_started = Outcome { kind: OutcomeKind::NotStarted, ..Outcome::DONE }.exit_code();
    run.status().map_or(true, |status| status.returncode != Some(not_started))
}

/// Returns whether the playbook's judge started the run.
pub fn is_judge_run(run: &RunDir) -> bool {
    run.plan().is_ok_and(|plan| is_judge(plan.spec.name.as_deref(), &plan.spec.cwd))
}

/// Returns whether a run with this name and working directory is one of the playbook's judge. The user may choose the
/// same name for a run, but not the directory.
pub(crate) fn is_judge(name: Option<&str>, cwd: &Path) -> bool {
    name == Some(JUDGE_RUN) && cwd.ends_with(JUDGE_DIR)
}

/// Returns the run with this name in the directory of a day, whether it exists or not.
pub(crate) fn run_named(day: &Path, name: &str) -> Option<RunDir> {
    let path = day.join(name);
    // A run outside the home is a link here.
    (!name.starts_with('.')).then(|| RunDir::new(fs::read_link(&path).unwrap_or(path), RunId::from(name)))
}

/// Returns the runs of one day in any order, without those that are still being created. A day that is
/// removed meanwhile has none.
pub(crate) fn unsorted_runs_of_day(day: &Path) -> impl Iterator<Item = RunDir> {
    fs::read_dir(day).into_iter().flatten().flatten().filter_map(move |entry| {
        let name = entry.file_name().into_string().ok()?;
        // A day has many runs, and hardly any is a link.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            return (!name.starts_with('.')).then(|| RunDir::new(entry.path(), RunId::from(name.as_str())));
        }
        run_named(day, &name)
    })
}

/// Sorts runs or workflows, newest first, and leaves out those without a plan.
fn newest_first<D: Deref<Target = JournalDir>>(dirs: impl Iterator<Item = D>) -> Vec<D> {
    let mut dirs: Vec<(SystemTime, D)> = dirs.filter_map(|dir| Some((dir.created_at().ok()?, dir))).collect();
    dirs.sort_by(|(one, one_dir), (other, other_dir)| {
        other.cmp(one).then_with(|| one_dir.id().cmp(other_dir.id()))
    });
    dirs.into_iter().map(|(_, dir)| dir).collect()
}

/// Returns the names in a directory that are UTF-8, as all names of runs and days are.
pub(crate) fn names(dir: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(dir)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests;

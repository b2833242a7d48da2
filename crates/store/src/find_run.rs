//! Finding a run by what a person types. Reads directory entries and, for `@`, the status of the last runs; never a journal.

use crate::{Day, Home, Journal, RunDir, StoreError};
use longhaul_core::{Outcome, OutcomeKind, Run, RunId};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

impl Home {
    /// The run named by the first letters of its id, by `@` (the last run that started) or by `@-N` (the one N
    /// before that; `@-` is `@-1`). A whole id wins over a longer one that begins with it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::AmbiguousRun`], [`StoreError::MalformedRun`], or
    /// [`StoreError::Io`] if the home cannot be read.
    pub fn find(&self, asked: &str) -> Result<RunDir, StoreError> {
        let none = || StoreError::NoSuchRun { request: asked.to_owned(), runs: self.runs_path() };
        let malformed = || StoreError::MalformedRun { request: asked.to_owned() };
        if let Some(rest) = asked.strip_prefix('@') {
            let back = steps_back(rest).ok_or_else(malformed)?;
            return self.runs_newest_first()?.filter(has_started).nth(back).ok_or_else(none);
        }
        if asked.is_empty() {
            return Err(malformed());
        }
        let mut found = Vec::new();
        for run in self.runs_newest_first()? {
            if run.id().as_str() == asked {
                return Ok(run);
            }
            if run.id().as_str().starts_with(asked) {
                found.push(run);
            }
        }
        match found.len() {
            0 => Err(none()),
            1 => Ok(found.remove(0)),
            _ => Err(StoreError::AmbiguousRun {
                request: asked.to_owned(),
                candidates: found.iter().map(|run| run.id().clone()).collect(),
            }),
        }
    }

    /// Every run, the newest first; days are read as they are reached. Directories in the making
    /// are not among them.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the home cannot be read. A home that does not exist has no runs.
    pub fn runs_newest_first(&self) -> Result<impl Iterator<Item = RunDir> + use<>, StoreError> {
        Ok(self.days_newest_first()?.into_iter().flat_map(|day| runs_of_day(&day)))
    }

    /// Whether the run of this id is there and has no outcome. One whose journal cannot be read cannot go
    /// on either.
    pub(crate) fn is_unfinished(&self, id: &RunId) -> bool {
        let Ok(mut runs) = self.runs_newest_first() else { return false };
        let Some(dir) = runs.find(|dir| dir.id() == id) else { return false };
        Journal::load(&dir.journal_path())
            .is_ok_and(|history| Run::replay(history.records()).state().outcome().is_none())
    }

    /// The directory that has this id, whatever is in it. A link to one that is gone has none.
    pub(crate) fn find_exact(&self, id: &RunId) -> Result<Option<PathBuf>, StoreError> {
        taken_in(&self.runs_path(), id)
    }

    fn days_newest_first(&self) -> Result<Vec<PathBuf>, StoreError> {
        days_newest_first(&self.runs_path())
    }
}

/// The directory below these runs that has this id.
pub(crate) fn taken_in(runs: &Path, id: &RunId) -> Result<Option<PathBuf>, StoreError> {
    let mut named = days_newest_first(runs)?.into_iter().map(|day| day.join(id.as_str()));
    Ok(named.find(|path| path.exists()).map(|path| fs::read_link(&path).unwrap_or(path)))
}

pub(crate) fn days_newest_first(runs: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let names = match names(runs) {
        Ok(names) => names,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(cause) => return Err(StoreError::io("list runs", runs)(cause)),
    };
    let mut days: Vec<Day> = names.iter().filter_map(|name| name.parse().ok()).collect();
    days.sort_unstable_by(|one, other| other.cmp(one));
    Ok(days.iter().map(|day| runs.join(day.as_str())).collect())
}

/// `` is 0, `-` is 1, `-12` is 12.
fn steps_back(rest: &str) -> Option<usize> {
    match rest.strip_prefix('-') {
        None => rest.is_empty().then_some(0),
        Some("") => Some(1),
        Some(number) => number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?,
    }
}

/// Whether the run did not finish as not started.
fn has_started(run: &RunDir) -> bool {
    let not_started = Outcome { kind: OutcomeKind::NotStarted, ..Outcome::DONE }.exit_code();
    run.status().map_or(true, |status| status.returncode != Some(not_started))
}

/// The run of this name in the directory of a day, whether it is there or not.
pub(crate) fn run_named(day: &Path, name: &str) -> Option<RunDir> {
    let path = day.join(name);
    // One that was put elsewhere is a link here.
    (!name.starts_with('.')).then(|| RunDir::new(fs::read_link(&path).unwrap_or(path), RunId::from(name)))
}

/// The runs of one day, in no order; those in the making are not among them. A day that vanishes meanwhile has none.
pub(crate) fn runs_named_in(day: &Path) -> impl Iterator<Item = RunDir> {
    names(day).unwrap_or_default().into_iter().filter_map(move |name| run_named(day, &name))
}

/// The runs of one day, newest first. A day that vanishes meanwhile has none.
fn runs_of_day(day: &Path) -> Vec<RunDir> {
    let mut runs: Vec<(SystemTime, RunDir)> = runs_named_in(day)
        .filter_map(|run| {
            // A plan is written once, when its run is created, so its time is the run's.
            let created = fs::metadata(run.plan_path()).and_then(|found| found.modified()).ok()?;
            Some((created, run))
        })
        .collect();
    runs.sort_by(|(one, one_run), (other, other_run)| {
        other.cmp(one).then_with(|| one_run.id().cmp(other_run.id()))
    });
    runs.into_iter().map(|(_, run)| run).collect()
}

/// The names in a directory that are UTF-8: ours all are.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(dir)?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests;

//! Bringing the ledger up to date with the run directories: what it does not know, what is gone, what was going on, and
//! what it could not be told. Costs a look at each day's directory, and one at each run that is not over.

use super::entry::{JournalPosition, LedgerEntry, LedgerRun, RunState};
use super::place::Place;
use super::query::{RunFilter, behind};
use super::{Ledger, LedgerError};
use crate::atomic::clear_beside;
use crate::find_run::{days_newest_first, run_named};
use crate::{Home, Journal, RunDir, StoreError};
use longhaul_core::RunId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::AddAssign;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

// A transaction of so many keeps others waiting for some ten milliseconds.
const CHUNK: usize = 200;
// What is changed within a tick of the file system's clock after we looked has the same time as what we saw. The coarsest
// clock that is in use ticks every two seconds.
const CLOCK_TICK: Duration = Duration::from_secs(2);

/// What bringing it up to date came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CatchUpStats {
    /// Runs that were derived anew.
    pub derived: u64,
    /// Runs that are gone.
    pub removed: u64,
}

impl AddAssign for CatchUpStats {
    fn add_assign(&mut self, other: CatchUpStats) {
        self.derived += other.derived;
        self.removed += other.removed;
    }
}

impl Ledger {
    /// Brings the ledger up to date.
    ///
    /// # Errors
    /// [`LedgerError`]. What was written by then stays.
    pub fn catch_up(&mut self) -> Result<CatchUpStats, LedgerError> {
        let home = self.home.clone();
        clear_beside(&Ledger::path_in(&home));
        let mut came_to = self.check_place()?;
        came_to += self.list_days(&home)?;
        let missed = home.stale_runs()?;
        let going_on = RunFilter {
            states: RunState::ALL.iter().copied().filter(|state| *state != RunState::Finished).collect(),
            ..RunFilter::default()
        };
        let going_on = self.select(&going_on)?;
        let behind = going_on
            .iter()
            .filter(|run| JournalPosition::of_run(&run.run_dir(), run.attempts) != run.journal);
        let mut dirs: BTreeMap<RunId, RunDir> = behind.map(|run| (run.id.clone(), run.run_dir())).collect();
        let mut looked_at = Vec::new();
        for id in &missed {
            let dir = self.entry(id)?.map(|entry| entry.run.run_dir());
            // Whoever has the run may be about to let it go on, and forgets this itself.
            let is_held = |dir: &RunDir| Journal::is_locked(&dir.journal_path()).unwrap_or(false);
            looked_at.extend((!dir.as_ref().is_some_and(is_held)).then_some(id));
            dirs.extend(dir.map(|dir| (id.clone(), dir)));
        }
        came_to.derived += dirs.len() as u64;
        self.derive(dirs.into_values().collect())?;
        looked_at.into_iter().for_each(|id| home.clear_stale(id));
        Ok(came_to)
    }

    /// Makes the ledger anew out of the run directories, whatever it says.
    ///
    /// # Errors
    /// [`LedgerError`]. What was written by then stays.
    pub fn rebuild(&mut self) -> Result<CatchUpStats, LedgerError> {
        let came_to = self.derive_if(|_| true)?;
        self.note_place(&Place::new(&self.home))?;
        Ok(came_to)
    }

    /// Compares every run with its directory if the ledger is not where it was last used: a home that was copied or
    /// restored from a backup can have runs that are older or newer than its ledger.
    fn check_place(&mut self) -> Result<CatchUpStats, LedgerError> {
        let (here, last) = (Place::new(&self.home), self.place()?);
        if last.as_ref() == Some(&here) {
            return Ok(CatchUpStats::default());
        }
        let old_home = last.map(|place| place.home).filter(|home| *home != here.home);
        let came_to = self.derive_if(|run| {
            // A workspace in the run's directory has moved with the home.
            let has_moved = |home: &PathBuf| Path::new(&run.project).starts_with(home);
            behind(run).is_some() || old_home.as_ref().is_some_and(has_moved)
        })?;
        self.note_place(&here)?;
        Ok(came_to)
    }

    /// Lists all days, and derives the runs again for which `is_stale` is true.
    fn derive_if(&mut self, is_stale: impl Fn(&LedgerRun) -> bool) -> Result<CatchUpStats, LedgerError> {
        let known = self.select(&RunFilter::default())?;
        let stale: Vec<RunId> = known.into_iter().filter(is_stale).map(|run| run.id).collect();
        self.transaction(|db| {
            db.execute("DELETE FROM days", [])?;
            let forget = "UPDATE runs SET journal_bytes = 0, journal_modified = 0 WHERE id = ?";
            let mut forget = db.prepare_cached(forget)?;
            stale.iter().try_for_each(|id| forget.execute([id.as_str()]).map(drop))
        })?;
        let home = self.home.clone();
        let mut came_to = self.list_days(&home)?;
        let known = self.select(&RunFilter::default())?;
        let stale = known.iter().filter(|run| run.journal == JournalPosition::default());
        let dirs: Vec<RunDir> = stale.map(|run| current_dir(&home, run)).collect();
        came_to.derived += dirs.len() as u64;
        self.derive(dirs)?;
        Ok(came_to)
    }

    /// Lists each day whose directory has changed since it was listed last: takes in what is new, forgets what is gone.
    fn list_days(&mut self, home: &Home) -> Result<CatchUpStats, LedgerError> {
        let listed = self.days()?;
        let there = days_newest_first(&home.runs_path())?;
        let mut came_to = CatchUpStats::default();
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names: BTreeSet<String> = there.iter().map(|path| name(path)).collect();
        for day in listed.keys().filter(|day| !names.contains(*day)) {
            let gone = self.of_day(day)?;
            came_to.removed += gone.len() as u64;
            self.remove(&gone)?;
            self.note_day(day, None)?;
        }
        for path in there {
            let day = name(&path);
            let (modified, now) = (modified(&path), SystemTime::now());
            if modified.is_some() && listed.get(&day).copied() == modified {
                continue;
            }
            let changed = self.list_day(&path, &day)?;
            came_to += changed;
            self.note_day(&day, modified.filter(|modified| is_settled(*modified, now)))?;
        }
        Ok(came_to)
    }

    fn list_day(&mut self, path: &Path, day: &str) -> Result<CatchUpStats, LedgerError> {
        let known: BTreeSet<RunId> = self.of_day(day)?.into_iter().collect();
        let mut new = Vec::new();
        let mut there = BTreeSet::new();
        for entry in fs::read_dir(path).map_err(StoreError::io("list runs", path))? {
            let entry = entry.map_err(StoreError::io("list runs", path))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let id = RunId::from(name.as_str());
            // One in the making has a hidden name.
            if name.starts_with('.') {
                continue;
            }
            if !known.contains(&id) {
                new.extend(run_named(path, &name).filter(|run| run.plan_path().exists()));
            }
            there.insert(id);
        }
        // One that was begun since we began to look is known, and is not in what we saw.
        let is_gone = |id: &&RunId| !there.contains(*id) && !path.join(id.as_str()).exists();
        let gone: Vec<RunId> = known.iter().filter(is_gone).cloned().collect();
        let came_to = CatchUpStats { derived: new.len() as u64, removed: gone.len() as u64 };
        self.remove(&gone)?;
        self.derive(new)?;
        Ok(came_to)
    }

    /// Derives these runs anew, on all processors, and writes them down.
    pub(super) fn derive(&mut self, runs: Vec<RunDir>) -> Result<(), LedgerError> {
        if runs.len() < CHUNK {
            let entries: Vec<LedgerEntry> = runs.iter().map(LedgerEntry::read).collect();
            return if entries.is_empty() { Ok(()) } else { self.put_all(&entries) };
        }
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let chunks: Vec<&[RunDir]> = runs.chunks(CHUNK).collect();
        // Few are read ahead of what is written: memory does not grow with the number of runs.
        let (sender, receiver) = sync_channel(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next, chunks) = (sender.clone(), &next, &chunks);
                scope.spawn(move || {
                    while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let entries: Vec<LedgerEntry> = chunk.iter().map(LedgerEntry::read).collect();
                        if sender.send(entries).is_err() {
                            // Nobody writes any more.
                            return;
                        }
                    }
                });
            }
            drop(sender);
            receiver.into_iter().try_for_each(|entries| self.put_all(&entries))
        })
    }

    fn of_day(&self, day: &str) -> Result<Vec<RunId>, LedgerError> {
        self.query(|db| {
            let mut statement = db.prepare_cached("SELECT id FROM runs WHERE day = ?")?;
            let ids = statement.query_map([day], |row| Ok(RunId::from(row.get::<_, String>(0)?.as_str())))?;
            ids.collect()
        })
    }

    /// The days that were listed, each with its directory's time of change.
    fn days(&self) -> Result<BTreeMap<String, i64>, LedgerError> {
        self.query(|db| {
            let mut statement = db.prepare_cached("SELECT day, modified FROM days")?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    fn note_day(&mut self, day: &str, modified: Option<i64>) -> Result<(), LedgerError> {
        self.transaction(|db| match modified {
            Some(modified) => db
                .prepare_cached("INSERT OR REPLACE INTO days (day, modified) VALUES (?, ?)")?
                .execute((day, modified)),
            None => db.prepare_cached("DELETE FROM days WHERE day = ?")?.execute([day]),
        })?;
        Ok(())
    }
}

/// The directory that the home names for this run. A link can lead elsewhere than when the ledger was written.
fn current_dir(home: &Home, run: &LedgerRun) -> RunDir {
    let named = run_named(&home.runs_path().join(&run.day), run.id.as_str());
    named.filter(|dir| dir.plan_path().exists()).unwrap_or_else(|| run.run_dir())
}

/// When a directory was changed last, in nanoseconds since 1970.
fn modified(path: &Path) -> Option<i64> {
    let found = fs::metadata(path).ok()?;
    Some(found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()))
}

/// Whether a change from now on will have a later time.
fn is_settled(modified: i64, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(modified).is_ok_and(|modified| Duration::from_nanos(modified) + CLOCK_TICK < now)
}

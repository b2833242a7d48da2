//! Updates the ledger, the index of all runs, from the run directories: runs that are missing, deleted,
//! unfinished or stale. It inspects each day's directory once, and each unfinished run once.

use super::entry::{JournalPosition, LedgerEntry, LedgerRun, RunState};
use super::query::{RunFilter, outdated_dir};
use super::{Ledger, LedgerError};
use crate::atomic::clear_next_to;
use crate::find_run::{days_newest_first, run_named};
use crate::{Home, Journal, RunDir, StoreError};
use longhaul_core::RunId;
use rusqlite::OptionalExtension;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::ops::AddAssign;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

// A transaction of this many runs makes other writers wait about ten milliseconds.
const CHUNK: usize = 200;
// A change less than one tick of the file system's clock after a time was read gets the same time. The
// coarsest clock in use ticks every two seconds.
const CLOCK_TICK: Duration = Duration::from_secs(2);

/// The result of bringing the ledger up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CatchUpStats {
    /// Number of runs that were derived again.
    pub derived: u64,
    /// Number of runs whose directory no longer exists.
    pub removed: u64,
}

impl AddAssign for CatchUpStats {
    fn add_assign(&mut self, other: CatchUpStats) {
        self.derived += other.derived;
        self.removed += other.removed;
    }
}

/// The location of a ledger: its home without links, and the ledger's device and inode.
#[derive(Debug, PartialEq, Eq)]
struct LedgerLocation {
    home: PathBuf,
    device: i64,
    inode: i64,
}

impl LedgerLocation {
    fn new(home: &Home) -> LedgerLocation {
        let metadata = fs::metadata(Ledger::path_in(home));
        let (device, inode) =
            metadata.map_or((0, 0), |metadata| (metadata.dev().cast_signed(), metadata.ino().cast_signed()));
        let path = fs::canonicalize(home.path()).unwrap_or_else(|_| home.path().to_owned());
        LedgerLocation { home: path, device, inode }
    }
}

impl Ledger {
    /// Brings the ledger up to date.
    ///
    /// Entries written before a failure stay.
    pub fn catch_up(&mut self) -> Result<CatchUpStats, LedgerError> {
        let home = self.home.clone();
        clear_next_to(&Ledger::path_in(&home));
        let mut stats = self.check_location()?;
        stats += self.list_days(&home)?;
        let marked = home.stale_runs()?;
        let unfinished = RunFilter {
            states: RunState::ALL.iter().copied().filter(|state| *state != RunState::Finished).collect(),
            ..RunFilter::default()
        };
        let unfinished = self.stored_runs(&unfinished)?;
        let outdated = unfinished.iter().filter_map(outdated_dir);
        let mut dirs: BTreeMap<RunId, RunDir> = outdated.map(|dir| (dir.id().clone(), dir)).collect();
        let mut unlocked = Vec::new();
        for id in &marked {
            let dir = self.entry(id)?.map(|entry| entry.run.run_dir());
            // A process that holds the run may be about to resume it. It removes the mark itself.
            let is_locked = |dir: &RunDir| Journal::is_locked(&dir.journal_path()).unwrap_or(false);
            unlocked.extend((!dir.as_ref().is_some_and(is_locked)).then_some(id));
            dirs.extend(dir.map(|dir| (id.clone(), dir)));
        }
        stats.derived += dirs.len() as u64;
        self.derive(dirs.into_values().collect())?;
        unlocked.into_iter().for_each(|id| home.clear_stale(id));
        Ok(stats)
    }

    /// Derives the whole ledger again from the run directories.
    ///
    /// Entries written before a failure stay.
    pub fn rebuild(&mut self) -> Result<CatchUpStats, LedgerError> {
        self.transaction(|db| {
            ["spend", "attempts"].iter().try_for_each(|table| {
                // No entry replaces these rows.
                db.execute(&format!("DELETE FROM {table} WHERE run NOT IN (SELECT run FROM runs)"), [])
                    .map(drop)
            })
        })?;
        let stats = self.derive_if(|_| true)?;
        self.store_location(&LedgerLocation::new(&self.home))?;
        Ok(stats)
    }

    /// Compares every run with its directory if the ledger was last used at another location. A home that was
    /// copied or restored from a backup can contain runs that are older or newer than its ledger.
    fn check_location(&mut self) -> Result<CatchUpStats, LedgerError> {
        let (current, last) = (LedgerLocation::new(&self.home), self.location()?);
        if last.as_ref() == Some(&current) {
            return Ok(CatchUpStats::default());
        }
        let old_home = last.map(|location| location.home).filter(|home| *home != current.home);
        let stats = self.derive_if(|run| {
            // A workspace inside the run's directory moved with the home.
            let has_moved = |home: &PathBuf| Path::new(&run.project).starts_with(home);
            outdated_dir(run).is_some() || old_home.as_ref().is_some_and(has_moved)
        })?;
        self.store_location(&current)?;
        Ok(stats)
    }

    fn location(&self) -> Result<Option<LedgerLocation>, LedgerError> {
        self.query(|db| {
            let mut statement = db.prepare_cached("SELECT home, device, inode FROM place")?;
            let location = statement.query_row([], |row| {
                let home = OsString::from_vec(row.get(0)?).into();
                Ok(LedgerLocation { home, device: row.get(1)?, inode: row.get(2)? })
            });
            location.optional()
        })
    }

    fn store_location(&mut self, location: &LedgerLocation) -> Result<(), LedgerError> {
        self.transaction(|db| {
            db.execute("DELETE FROM place", [])?;
            let values = (location.home.as_os_str().as_bytes(), location.device, location.inode);
            db.execute("INSERT INTO place (home, device, inode) VALUES (?, ?, ?)", values)
        })?;
        Ok(())
    }

    /// Lists all days, and derives the runs for which `is_stale` returns `true` again.
    fn derive_if(&mut self, is_stale: impl Fn(&LedgerRun) -> bool) -> Result<CatchUpStats, LedgerError> {
        let recorded = self.stored_runs(&RunFilter::default())?;
        let stale: Vec<RunId> = recorded.into_iter().filter(is_stale).map(|run| run.id).collect();
        self.transaction(|db| {
            // No directory has this time.
            db.execute("UPDATE days SET modified = 0", [])?;
            let reset = "UPDATE runs SET journal_bytes = 0, journal_modified = 0 WHERE id = ?";
            let mut reset = db.prepare_cached(reset)?;
            stale.iter().try_for_each(|id| reset.execute([id.as_str()]).map(drop))
        })?;
        let home = self.home.clone();
        let mut stats = self.list_days(&home)?;
        let recorded = self.stored_runs(&RunFilter::default())?;
        let stale = recorded.iter().filter(|run| run.journal == JournalPosition::default());
        let dirs: Vec<RunDir> = stale.map(|run| current_dir(&home, run)).collect();
        stats.derived += dirs.len() as u64;
        self.derive(dirs)?;
        Ok(stats)
    }

    /// Lists each day whose directory changed since it was last listed. Adds new runs and removes deleted
    /// ones.
    fn list_days(&mut self, home: &Home) -> Result<CatchUpStats, LedgerError> {
        let listed = self.days()?;
        let day_paths = days_newest_first(&home.runs_path())?;
        let mut stats = CatchUpStats::default();
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names: BTreeSet<String> = day_paths.iter().map(|path| name(path)).collect();
        for day in listed.keys().filter(|day| !names.contains(*day)) {
            let removed = self.run_ids_of_day(day)?;
            stats.removed += removed.len() as u64;
            self.remove(&removed)?;
            self.store_day(day, None)?;
        }
        for path in day_paths {
            let day = name(&path);
            let (modified, now) = (modified(&path), SystemTime::now());
            if modified.is_some() && listed.get(&day).copied() == modified {
                continue;
            }
            let changed = self.list_day(&path, &day)?;
            stats += changed;
            // No directory has the time 0, so that a day which may still change is listed again.
            let settled = modified.filter(|modified| is_settled(*modified, now)).unwrap_or_default();
            self.store_day(&day, Some(settled))?;
        }
        Ok(stats)
    }

    fn list_day(&mut self, path: &Path, day: &str) -> Result<CatchUpStats, LedgerError> {
        let recorded: BTreeSet<RunId> = self.run_ids_of_day(day)?.into_iter().collect();
        let mut new = Vec::new();
        let mut on_disk = BTreeSet::new();
        for entry in fs::read_dir(path).map_err(StoreError::io("list runs", path))? {
            let entry = entry.map_err(StoreError::io("list runs", path))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let id = RunId::from(name.as_str());
            // A run that is still being created has a hidden name.
            if name.starts_with('.') {
                continue;
            }
            if !recorded.contains(&id) {
                new.extend(run_named(path, &name).filter(|run| run.plan_path().exists()));
            }
            on_disk.insert(id);
        }
        // A run that was created after the directory was read is recorded, but not in `on_disk`.
        let is_deleted = |id: &&RunId| !on_disk.contains(*id) && !path.join(id.as_str()).exists();
        let removed: Vec<RunId> = recorded.iter().filter(is_deleted).cloned().collect();
        let stats = CatchUpStats { derived: new.len() as u64, removed: removed.len() as u64 };
        self.remove(&removed)?;
        self.derive(new)?;
        Ok(stats)
    }

    /// Derives these runs again, on all processors, and writes their entries.
    pub(super) fn derive(&mut self, runs: Vec<RunDir>) -> Result<(), LedgerError> {
        if runs.len() < CHUNK {
            let entries: Vec<LedgerEntry> = runs.iter().map(LedgerEntry::read).collect();
            return if entries.is_empty() { Ok(()) } else { self.upsert_all(&entries) };
        }
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let chunks: Vec<&[RunDir]> = runs.chunks(CHUNK).collect();
        // The channel is short, so that memory does not grow with the number of runs.
        let (sender, receiver) = sync_channel(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next, chunks) = (sender.clone(), &next, &chunks);
                scope.spawn(move || {
                    while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let entries: Vec<LedgerEntry> = chunk.iter().map(LedgerEntry::read).collect();
                        if sender.send(entries).is_err() {
                            // The writer has stopped.
                            return;
                        }
                    }
                });
            }
            drop(sender);
            receiver.into_iter().try_for_each(|entries| self.upsert_all(&entries))
        })
    }

    fn run_ids_of_day(&self, day: &str) -> Result<Vec<RunId>, LedgerError> {
        self.query(|db| {
            let mut statement = db.prepare_cached("SELECT id FROM runs WHERE day = ?")?;
            let ids = statement.query_map([day], |row| Ok(RunId::from(row.get::<_, String>(0)?.as_str())))?;
            ids.collect()
        })
    }

    /// Returns the listed days, each with its directory's modification time.
    fn days(&self) -> Result<BTreeMap<String, i64>, LedgerError> {
        self.query(|db| {
            let mut statement = db.prepare_cached("SELECT day, modified FROM days")?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    fn store_day(&mut self, day: &str, modified: Option<i64>) -> Result<(), LedgerError> {
        self.transaction(|db| match modified {
            Some(modified) => db
                .prepare_cached("INSERT OR REPLACE INTO days (day, modified) VALUES (?, ?)")?
                .execute((day, modified)),
            None => db.prepare_cached("DELETE FROM days WHERE day = ?")?.execute([day]),
        })?;
        Ok(())
    }
}

/// Returns the directory that the home names for this run. A link may have changed since the ledger was
/// written.
fn current_dir(home: &Home, run: &LedgerRun) -> RunDir {
    let dir = run_named(&home.runs_path().join(&run.day), run.id.as_str());
    dir.filter(|dir| dir.plan_path().exists()).unwrap_or_else(|| run.run_dir())
}

/// Returns when a directory last changed, in nanoseconds since 1970.
fn modified(path: &Path) -> Option<i64> {
    let metadata = fs::metadata(path).ok()?;
    Some(metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()))
}

/// Returns whether any later change of a directory must get a later time than `modified`.
fn is_settled(modified: i64, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(modified).is_ok_and(|modified| Duration::from_nanos(modified) + CLOCK_TICK < now)
}

//! Opens the learning database.
//!
//! A damaged database is moved aside, never removed, so that its content can be recovered. A new one replaces
//! it, because learning must not fail a session.

use crate::LearningPaths;
use crate::paths::create_private_dir;
use longhaul_store::{Database, DatabaseError, Durability, empty_database, if_exists, replace, with_suffix};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `PRAGMA user_version` of a database that this version can use.
const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");
// Every table of this version.
const TABLES: &[&str] = &["queue", "slices", "judged", "judge_requests", "judge_backoff", "revisions"];
// Fifty sessions that end at the same time flush to the disk one after another.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
// Suffixes of the files that belong to a database.
const SIDE_FILES: &[&str] = &["-wal", "-shm"];

/// The learning database: the queue, the results and their cost. Its methods fail with [`DatabaseError`] if
/// the database cannot be read or written.
#[derive(Debug)]
pub struct LearningDb {
    pub(crate) database: Database,
    paths: LearningPaths,
    damaged_copy: Option<PathBuf>,
}

impl LearningDb {
    /// Opens the database. Creates an empty one if there is none or if its schema is damaged, so it never fails
    /// as `Damaged`. Later operations may.
    pub fn open(paths: &LearningPaths) -> Result<LearningDb, DatabaseError> {
        match LearningDb::open_or_create(paths) {
            Err(DatabaseError::Damaged { .. }) => LearningDb::replace_if_damaged(paths),
            opened => opened,
        }
    }

    /// Opens the database as [`LearningDb::replace_if_damaged`] does, or returns `None` if there is none.
    pub fn open_existing(paths: &LearningPaths) -> Result<Option<LearningDb>, DatabaseError> {
        if paths.database().exists() { LearningDb::replace_if_damaged(paths).map(Some) } else { Ok(None) }
    }

    /// Reads the whole database, moves it aside if it is damaged, and opens the current one, which is created if
    /// there is none. Commands of a person open it this way. Hooks do not, because it takes too long.
    pub fn replace_if_damaged(paths: &LearningPaths) -> Result<LearningDb, DatabaseError> {
        let path = paths.database();
        create_private_dir(paths.dir()).map_err(|cause| DatabaseError::refused(&path, &cause))?;
        let damaged_copy = {
            // If two processes find the damage, the second one finds the new database.
            let lock = File::open(paths.dir()).map_err(|cause| DatabaseError::refused(&path, &cause))?;
            lock.lock().map_err(|cause| DatabaseError::refused(&path, &cause))?;
            match LearningDb::connect(paths, &path).and_then(|learning| learning.quick_check()) {
                // Another process has moved it aside and not created the new one yet.
                Err(_) if !path.exists() => None,
                Err(DatabaseError::Damaged { .. }) => {
                    Some(move_aside(&path).map_err(|cause| DatabaseError::refused(&path, &cause))?)
                }
                Ok(()) => None,
                Err(error) => return Err(error),
            }
        };
        Ok(LearningDb { damaged_copy, ..LearningDb::open_or_create(paths)? })
    }

    /// Reads the whole database, if there is one. Unlike the functions above, it replaces nothing.
    pub fn check(paths: &LearningPaths) -> Result<(), DatabaseError> {
        let path = paths.database();
        if path.exists() { LearningDb::connect(paths, &path)?.quick_check() } else { Ok(()) }
    }

    /// Returns the new path of the damaged database that this one replaced when it was opened, if any.
    /// Callers report it to the user.
    pub fn damaged_copy(&self) -> Option<&Path> {
        self.damaged_copy.as_deref()
    }

    /// Returns every damaged database that was moved aside, by number.
    pub fn damaged_copies(paths: &LearningPaths) -> Vec<PathBuf> {
        let database = paths.database();
        let number = |copy: &Path| -> Option<u32> {
            let suffix = copy.extension().filter(|_| copy.file_stem() == database.file_name())?;
            suffix.to_str()?.strip_prefix("damaged-")?.parse().ok()
        };
        let files = fs::read_dir(paths.dir()).into_iter().flatten().flatten().map(|entry| entry.path());
        // The user may have deleted some of them.
        let copies: BTreeMap<u32, PathBuf> = files.filter_map(|file| Some((number(&file)?, file))).collect();
        copies.into_values().collect()
    }

    /// Returns the paths of the learning data.
    pub fn paths(&self) -> &LearningPaths {
        &self.paths
    }

    /// Flushes the log, so that every commit is on disk, including unsynced ones.
    pub(super) fn flush(&self) -> Result<(), DatabaseError> {
        // SQLite holds no locks on this file, so opening and closing it here releases none.
        let flushed = File::open(with_suffix(self.database.path(), "-wal")).and_then(|log| log.sync_data());
        flushed.map_err(|cause| DatabaseError::refused(self.database.path(), &cause))
    }

    /// Moves the log into the database, unless another connection is active. Hooks never do this, because it
    /// takes too long.
    pub fn checkpoint(&self) -> Result<(), DatabaseError> {
        self.database.query(|db| {
            // With a timeout it would wait for readers while it holds the lock that hooks need. The rest of
            // the log is left for the next call.
            db.busy_timeout(Duration::ZERO)?;
            let is_busy = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            db.busy_timeout(BUSY_TIMEOUT)?;
            if is_busy? {
                return Ok(());
            }
            // The first write to an empty log flushes twice, for the log's header. This write does so here,
            // so that no hook has to.
            db.pragma_update(None, "user_version", VERSION)
        })
    }

    /// Verifies that the whole database is readable, by reading all of it.
    fn quick_check(&self) -> Result<(), DatabaseError> {
        let damage = self.database.query(|db| {
            let verdict: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            if verdict != "ok" {
                return Ok(Some(verdict));
            }
            let mut table = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")?;
            for name in TABLES {
                if !table.exists([name])? {
                    return Ok(Some(format!("it has no table {name}")));
                }
            }
            Ok(None)
        })?;
        match damage {
            None => Ok(()),
            Some(cause) => Err(DatabaseError::Damaged { path: self.database.path().to_owned(), cause }),
        }
    }

    fn open_or_create(paths: &LearningPaths) -> Result<LearningDb, DatabaseError> {
        let path = paths.database();
        if path.exists() {
            match LearningDb::connect(paths, &path) {
                // Another process may have moved it aside and be creating a new one.
                Err(DatabaseError::Refused { .. }) => {}
                connected => return connected,
            }
        }
        create(paths, &path).map_err(|cause| DatabaseError::refused(&path, &cause))?;
        LearningDb::connect(paths, &path)
    }

    fn connect(paths: &LearningPaths, path: &Path) -> Result<LearningDb, DatabaseError> {
        let configure = |db: &Connection| {
            // A commit flushes the log and is on disk when it returns. Only `checkpoint` moves the log into
            // the database: SQLite does not do so when the log is long or when a hook ends.
            db.pragma_update(None, "synchronous", "FULL")?;
            db.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
        };
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let database = Database::open(path, access, VERSION, BUSY_TIMEOUT, configure)?;
        Ok(LearningDb { database, paths: paths.clone(), damaged_copy: None })
    }
}

/// Creates an empty database atomically and never overwrites one. Many hooks may run at once, and any may be
/// killed.
fn create(paths: &LearningPaths, path: &Path) -> io::Result<()> {
    create_private_dir(paths.dir())?;
    let lock = File::open(paths.dir())?;
    lock.lock()?;
    if path.exists() {
        return Ok(());
    }
    // The database was removed without these files. A new database would use them as its own.
    if SIDE_FILES.iter().any(|end| with_suffix(path, end).exists()) {
        move_aside(path)?;
    }
    let empty = empty_database(SCHEMA, VERSION).map_err(io::Error::other)?;
    replace(path, &empty, Durability::Power).map_err(io::Error::other)
}

/// Renames a damaged database and its side files. The caller must hold the directory's lock.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let is_free = |number: &u32| {
        let target = damaged_path(path, *number);
        !target.exists() && SIDE_FILES.iter().all(|end| !with_suffix(&target, end).exists())
    };
    let target = (1..).find(is_free).map(|number| damaged_path(path, number));
    let target = target.ok_or_else(|| io::Error::other("no free name for a damaged database"))?;
    // The database is renamed last: while it exists, no process creates a new one, which would adopt a
    // remaining log.
    for end in SIDE_FILES {
        if_exists(fs::rename(with_suffix(path, end), with_suffix(&target, end)))?;
    }
    if_exists(fs::rename(path, &target))?;
    Ok(target)
}

fn damaged_path(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &format!(".damaged-{number}"))
}

#[cfg(test)]
mod tests;

//! Opens the learning database.
//!
//! A damaged database is moved aside, never removed, so that its content can be recovered. A new one replaces
//! it, because learning must not fail a session.

use crate::LearningPaths;
use longhaul_store::{Durability, empty_database, replace};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// `PRAGMA user_version` of a database that this version can use.
const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");
// Every table of this version.
const TABLES: &[&str] = &["queue", "slices", "judged", "judge_requests", "judge_backoff", "revisions"];
// Fifty sessions that end at the same time flush to the disk one after another.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
// Suffixes of the files that belong to a database.
const SIDE_FILES: &[&str] = &["-wal", "-shm"];

/// The learning database: the queue, the results and their cost.
#[derive(Debug)]
pub struct LearningDb {
    pub(super) db: Connection,
    paths: LearningPaths,
    path: PathBuf,
    damaged_copy: Option<PathBuf>,
}

/// Why the database cannot be used.
#[derive(Debug, Error)]
pub enum LearningError {
    /// Another process holds the write lock for longer than the timeout.
    #[error("cannot use {}: another process is writing to it", path.display())]
    Locked {
        /// Path of the database.
        path: PathBuf,
    },
    /// A later version of longhaul wrote it.
    #[error("cannot read {}: a newer version of longhaul wrote it", path.display())]
    Newer {
        /// Path of the database.
        path: PathBuf,
    },
    /// It is damaged or not a learning database.
    #[error("cannot read {}: it is damaged: {cause}", path.display())]
    Damaged {
        /// Path of the database.
        path: PathBuf,
        /// Cause of the error.
        cause: String,
    },
    /// The operating system refused an operation.
    #[error("cannot use {}: {cause}", path.display())]
    Refused {
        /// Path of the database.
        path: PathBuf,
        /// Error of the system.
        cause: String,
    },
}

impl LearningError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            LearningError::Locked { .. } => "try again in a moment".to_owned(),
            LearningError::Newer { .. } => "update longhaul".to_owned(),
            LearningError::Damaged { .. } => {
                "try again: longhaul then keeps it under another name and creates a new one; playbooks are not affected".to_owned()
            }
            LearningError::Refused { .. } => {
                "check that its directory is writable and has free space, or set LONGHAUL_HOME to another directory".to_owned()
            }
        }
    }
}

impl LearningDb {
    /// Opens the database. Creates an empty one if there is none or if it is damaged.
    ///
    /// # Errors
    /// Returns every [`LearningError`] except `Damaged`.
    pub fn open(paths: &LearningPaths) -> Result<LearningDb, LearningError> {
        match LearningDb::open_or_create(paths) {
            Err(LearningError::Damaged { .. }) => LearningDb::replace_if_damaged(paths),
            opened => opened,
        }
    }

    /// Opens the database as [`LearningDb::open`] does, or returns `None` if there is none.
    ///
    /// # Errors
    /// Returns every [`LearningError`] except `Damaged`.
    pub fn open_existing(paths: &LearningPaths) -> Result<Option<LearningDb>, LearningError> {
        if paths.database().exists() { LearningDb::open(paths).map(Some) } else { Ok(None) }
    }

    /// Moves the database aside if it is damaged, and opens the current one. Callers use this after a
    /// `Damaged` error.
    ///
    /// # Errors
    /// Returns [`LearningError`] if no usable database can be opened.
    pub fn replace_if_damaged(paths: &LearningPaths) -> Result<LearningDb, LearningError> {
        let path = paths.database();
        let damaged_copy = {
            // If two processes find the damage, the second one finds the new database.
            let lock = File::open(paths.dir()).map_err(|cause| refused(&path, &cause))?;
            lock.lock().map_err(|cause| refused(&path, &cause))?;
            match LearningDb::connect(paths, &path).and_then(|learning| learning.quick_check()) {
                // Another process has moved it aside and not created the new one yet.
                Err(_) if !path.exists() => None,
                Err(LearningError::Damaged { .. }) => {
                    Some(move_aside(&path).map_err(|cause| refused(&path, &cause))?)
                }
                Ok(()) => None,
                Err(error) => return Err(error),
            }
        };
        Ok(LearningDb { damaged_copy, ..LearningDb::open_or_create(paths)? })
    }

    /// Returns the new path of the damaged database that this one replaced when it was opened, if any.
    /// Callers report it to the user.
    pub fn damaged_copy(&self) -> Option<&Path> {
        self.damaged_copy.as_deref()
    }

    /// Returns every damaged database that was moved aside, oldest first.
    pub fn damaged_copies(paths: &LearningPaths) -> Vec<PathBuf> {
        let path = paths.database();
        (1..).map(|number| damaged_path(&path, number)).take_while(|path| path.exists()).collect()
    }

    /// Returns the paths of the learning data.
    pub fn paths(&self) -> &LearningPaths {
        &self.paths
    }

    /// Flushes the log, so that every commit is on disk, including unsynced ones.
    pub(super) fn flush(&self) -> Result<(), LearningError> {
        // SQLite holds no locks on this file, so opening and closing it here releases none.
        let flushed = File::open(with_suffix(&self.path, "-wal")).and_then(|log| log.sync_data());
        flushed.map_err(|cause| refused(&self.path, &cause))
    }

    /// Moves the log into the database, unless another connection is active. Hooks never do this, because it
    /// takes too long.
    ///
    /// # Errors
    /// Returns [`LearningError`] if the database cannot be written.
    pub fn checkpoint(&self) -> Result<(), LearningError> {
        self.query(|db| {
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
    ///
    /// # Errors
    /// Returns `LearningError::Damaged` if the database is damaged, or another [`LearningError`].
    pub(crate) fn quick_check(&self) -> Result<(), LearningError> {
        let verdict: String = self.query(|db| db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        let missing = self.query(|db| {
            let mut table = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")?;
            let mut missing = Vec::new();
            for name in TABLES {
                if !table.exists([name])? {
                    missing.push(*name);
                }
            }
            Ok(missing)
        })?;
        let damaged = |cause| LearningError::Damaged { path: self.path.clone(), cause };
        if verdict != "ok" {
            return Err(damaged(verdict));
        }
        match missing.as_slice() {
            [] => Ok(()),
            names => Err(damaged(format!("it has no table {}", names.join(", ")))),
        }
    }

    fn open_or_create(paths: &LearningPaths) -> Result<LearningDb, LearningError> {
        let path = paths.database();
        if path.exists() {
            match LearningDb::connect(paths, &path) {
                // Another process may have moved it aside and be creating a new one.
                Err(LearningError::Refused { .. }) => {}
                connected => return connected,
            }
        }
        create(paths, &path).map_err(|cause| refused(&path, &cause))?;
        LearningDb::connect(paths, &path)
    }

    fn connect(paths: &LearningPaths, path: &Path) -> Result<LearningDb, LearningError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).map_err(|error| failed(path, &error))?;
        let learning = LearningDb { db, paths: paths.clone(), path: path.to_owned(), damaged_copy: None };
        learning.prepare()?;
        Ok(learning)
    }

    fn prepare(&self) -> Result<(), LearningError> {
        let version: i64 = self.query(|db| {
            db.busy_timeout(BUSY_TIMEOUT)?;
            // A commit flushes the log and is on disk when it returns. Only `checkpoint` moves the log into
            // the database: SQLite does not do so when the log is long or when a hook ends.
            db.pragma_update(None, "synchronous", "FULL")?;
            db.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            db.pragma_query_value(None, "user_version", |row| row.get(0))
        })?;
        match version {
            VERSION => Ok(()),
            later if later > VERSION => Err(LearningError::Newer { path: self.path.clone() }),
            _ => Err(LearningError::Damaged {
                path: self.path.clone(),
                cause: format!("its version is {version}, not {VERSION}"),
            }),
        }
    }

    /// Runs a query and converts its error.
    pub(crate) fn query<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LearningError> {
        query(&self.db).map_err(|error| failed(&self.path, &error))
    }

    /// Runs a write in one immediate transaction and converts its error. The transaction is on disk when this
    /// returns.
    pub(crate) fn change<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LearningError> {
        let run = || {
            let transaction = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let changed = change(&transaction)?;
            transaction.commit()?;
            Ok(changed)
        };
        run().map_err(|error| failed(&self.path, &error))
    }
}

/// Creates an empty database atomically and never overwrites one. Many hooks may run at once, and any may be
/// killed.
fn create(paths: &LearningPaths, path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(paths.dir())?;
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
        rename(&with_suffix(path, end), &with_suffix(&target, end))?;
    }
    rename(path, &target)?;
    Ok(target)
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        // Not every file system supports `RENAME_NOREPLACE`.
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        Err(cause) => Err(cause.into()),
    }
}

fn damaged_path(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &format!(".damaged-{number}"))
}

fn with_suffix(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn refused(path: &Path, cause: &io::Error) -> LearningError {
    LearningError::Refused { path: path.to_owned(), cause: cause.to_string() }
}

/// Maps a database error: `Damaged` if the file is not a database or has unexpected content.
fn failed(path: &Path, error: &rusqlite::Error) -> LearningError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LearningError::Locked { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) | None => {
            LearningError::Damaged { path, cause: error.to_string() }
        }
        Some(_) => LearningError::Refused { path, cause: error.to_string() },
    }
}

#[cfg(test)]
mod tests;

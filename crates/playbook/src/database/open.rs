//! Opening the database of learning. One that is damaged is set aside and never removed, so that what it held can be looked
//! for, and a new one takes its place: nobody's session ends badly for it.

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

/// What `PRAGMA user_version` says of a database that this version can use.
const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");
// Every table of this version.
const TABLES: &[&str] = &["queue", "slices", "judged", "asked", "silent", "saves"];
// Fifty sessions that end at once flush to the disk one after the other.
const WAIT: Duration = Duration::from_secs(10);
// What a database has beside it.
const BESIDE: &[&str] = &["-wal", "-shm"];

/// What is to be learnt, what was, and what it cost.
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
    /// Somebody else writes to it for longer than we wait.
    #[error("use {}: another process is writing to it", path.display())]
    Locked {
        /// Its file.
        path: PathBuf,
    },
    /// A later version of longhaul wrote it.
    #[error("read {}: a newer version of longhaul wrote it", path.display())]
    Newer {
        /// Its file.
        path: PathBuf,
    },
    /// It is no database of ours, or not whole.
    #[error("read {}: it is damaged: {cause}", path.display())]
    Damaged {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The system refused something.
    #[error("use {}: {cause}", path.display())]
    Refused {
        /// Its file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
}

impl LearningError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            LearningError::Locked { .. } => "try again in a moment".to_owned(),
            LearningError::Newer { .. } => "update longhaul".to_owned(),
            LearningError::Damaged { .. } => {
                "try again: it is set aside then, and a new one is made; playbooks are not touched by that".to_owned()
            }
            LearningError::Refused { .. } => {
                "see whether its directory can be written to and has room, or set LONGHAUL_HOME to another one".to_owned()
            }
        }
    }
}

impl LearningDb {
    /// Opens the database, and makes an empty one where there is none, or in the place of a damaged one.
    ///
    /// # Errors
    /// [`LearningError`], but for `Damaged`.
    pub fn open(place: &LearningPaths) -> Result<LearningDb, LearningError> {
        match LearningDb::open_as_it_is(place) {
            Err(LearningError::Damaged { .. }) => LearningDb::open_anew(place),
            opened => opened,
        }
    }

    /// The same, if there is one.
    ///
    /// # Errors
    /// [`LearningError`], but for `Damaged`.
    pub fn open_existing(place: &LearningPaths) -> Result<Option<LearningDb>, LearningError> {
        if place.database().exists() { LearningDb::open(place).map(Some) } else { Ok(None) }
    }

    /// Sets the database aside if it is damaged, and opens the one that is there then: for whoever has found it so.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn open_anew(place: &LearningPaths) -> Result<LearningDb, LearningError> {
        let path = place.database();
        let set_aside = {
            // Of two that find it so, the second finds the new one.
            let lock = File::open(place.dir()).map_err(|cause| refused(&path, &cause))?;
            lock.lock().map_err(|cause| refused(&path, &cause))?;
            match LearningDb::connect(place, &path).and_then(|learning| learning.quick_check()) {
                // Another one has set it aside and has not made the new one yet.
                Err(_) if !path.exists() => None,
                Err(LearningError::Damaged { .. }) => {
                    Some(set_aside(&path).map_err(|cause| refused(&path, &cause))?)
                }
                Ok(()) => None,
                Err(error) => return Err(error),
            }
        };
        Ok(LearningDb { damaged_copy: set_aside, ..LearningDb::open_as_it_is(place)? })
    }

    /// Where the damaged database is kept that was found when this one was opened: worth a word to a person.
    pub fn set_aside(&self) -> Option<&Path> {
        self.damaged_copy.as_deref()
    }

    /// Every damaged database that was set aside, the oldest first.
    pub fn all_set_aside(place: &LearningPaths) -> Vec<PathBuf> {
        let path = place.database();
        (1..).map(|number| damaged(&path, number)).take_while(|path| path.exists()).collect()
    }

    /// Where it is.
    pub fn place(&self) -> &LearningPaths {
        &self.paths
    }

    /// Flushes the log: what was committed is on disk then, however it was.
    pub(super) fn flush(&self) -> Result<(), LearningError> {
        // Nothing of SQLite's locks is on this file, so that it may be opened and closed beside it.
        let flushed = File::open(with_end(&self.path, "-wal")).and_then(|log| log.sync_data());
        flushed.map_err(|cause| refused(&self.path, &cause))
    }

    /// Puts the log into the database, if nobody reads or writes just now. A hook never does: it has no time for it.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn checkpoint(&self) -> Result<(), LearningError> {
        self.known(|db| {
            // It would wait for readers with the lock that hooks write under. What is left now is for the next time.
            db.busy_timeout(Duration::ZERO)?;
            let is_busy = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            db.busy_timeout(WAIT)?;
            if is_busy? {
                return Ok(());
            }
            // Whoever writes first to an empty log flushes twice, for its header. That need not be a hook.
            db.pragma_update(None, "user_version", VERSION)
        })
    }

    /// Says whether all of it can be read. That reads all of it.
    ///
    /// # Errors
    /// [`LearningError`], `Damaged` for one.
    pub(crate) fn quick_check(&self) -> Result<(), LearningError> {
        let said: String = self.known(|db| db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        let missing = self.known(|db| {
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
        if said != "ok" {
            return Err(damaged(said));
        }
        match missing.as_slice() {
            [] => Ok(()),
            names => Err(damaged(format!("it has no {}", names.join(", ")))),
        }
    }

    fn open_as_it_is(place: &LearningPaths) -> Result<LearningDb, LearningError> {
        let path = place.database();
        if path.exists() {
            match LearningDb::connect(place, &path) {
                // Somebody may have set it aside in between, and makes a new one.
                Err(LearningError::Refused { .. }) => {}
                connected => return connected,
            }
        }
        create(place, &path).map_err(|cause| refused(&path, &cause))?;
        LearningDb::connect(place, &path)
    }

    fn connect(place: &LearningPaths, path: &Path) -> Result<LearningDb, LearningError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).map_err(|error| failed(path, &error))?;
        let learning = LearningDb { db, paths: place.clone(), path: path.to_owned(), damaged_copy: None };
        learning.prepare()?;
        Ok(learning)
    }

    fn prepare(&self) -> Result<(), LearningError> {
        let version: i64 = self.known(|db| {
            db.busy_timeout(WAIT)?;
            // A commit is on disk when it returns: that is a flush of the log. The log is put into the database by `tidy` alone,
            // neither when it is long nor at the end of a hook.
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

    /// Asks the database, and says what is wrong with it in words for people.
    pub(crate) fn known<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LearningError> {
        ask(&self.db).map_err(|error| failed(&self.path, &error))
    }

    /// The same with one transaction, which locks others out from its beginning and is on disk when this returns.
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

/// Makes an empty database, whole, and never in place of another: many hooks may come at once, and any may be killed.
fn create(place: &LearningPaths, path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(place.dir())?;
    let lock = File::open(place.dir())?;
    lock.lock()?;
    if path.exists() {
        return Ok(());
    }
    // Somebody took the database away and left these: they would be taken for those of the next one.
    if BESIDE.iter().any(|end| with_end(path, end).exists()) {
        set_aside(path)?;
    }
    let empty = empty_database(SCHEMA, VERSION).map_err(io::Error::other)?;
    replace(path, &empty, Durability::Power).map_err(io::Error::other)
}

/// Gives a database that is damaged another name, with what belongs to it. Under the directory's lock.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let is_free = |number: &u32| {
        let aside = damaged(path, *number);
        !aside.exists() && BESIDE.iter().all(|end| !with_end(&aside, end).exists())
    };
    let aside = (1..).find(is_free).map(|number| damaged(path, number));
    let aside = aside.ok_or_else(|| io::Error::other("no name is left for a damaged database"))?;
    // The database goes last: while it is there nobody makes a new one, which would take a log that is left for its own.
    for end in BESIDE {
        rename(&with_end(path, end), &with_end(&aside, end))?;
    }
    rename(path, &aside)?;
    Ok(aside)
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        // Not every file system knows of that.
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        Err(cause) => Err(cause.into()),
    }
}

fn damaged(path: &Path, number: u32) -> PathBuf {
    with_end(path, &format!(".damaged-{number}"))
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn refused(path: &Path, cause: &io::Error) -> LearningError {
    LearningError::Refused { path: path.to_owned(), cause: cause.to_string() }
}

/// What an error of the database means for us: it is damaged where it is none or has something else in it than we wrote.
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

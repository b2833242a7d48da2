//! Opens the ledger. An unusable ledger is set aside or left alone; it never prevents other work.

use crate::atomic::TempFile;
use crate::database::{Database, DatabaseError, empty_database, with_suffix};
use crate::files::if_exists;
use crate::{Home, StoreError};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// `PRAGMA user_version` of a ledger that this version can use. A ledger with an older version is rebuilt.
const VERSION: i64 = 8;
const SCHEMA: &str = include_str!("schema.sql");

/// The index of all runs of a home. Its methods fail with [`LedgerError`] if the database or the home cannot be
/// read or written.
#[derive(Debug)]
pub struct Ledger {
    pub(super) database: Database,
    pub(super) home: Home,
}

/// Why the ledger cannot be used. No run fails because of it.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// Its database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The run directories cannot be read.
    #[error(transparent)]
    Runs(#[from] StoreError),
}

impl Ledger {
    /// Returns the path of the ledger of a home.
    pub fn path_in(home: &Home) -> PathBuf {
        home.path().join("ledger.sqlite3")
    }

    /// Opens the ledger of a home, creating an empty one if necessary. Each operation waits up to `wait` for
    /// another writer.
    pub fn open(home: &Home, wait: Duration) -> Result<Ledger, LedgerError> {
        let path = Ledger::path_in(home);
        if !path.exists() {
            create(&path)?;
        }
        Ledger::open_with(home, OpenFlags::SQLITE_OPEN_READ_WRITE, wait)
    }

    /// Opens an existing ledger for reading only.
    pub fn open_read_only(home: &Home, wait: Duration) -> Result<Ledger, LedgerError> {
        Ledger::open_with(home, OpenFlags::SQLITE_OPEN_READ_ONLY, wait)
    }

    fn open_with(home: &Home, access: OpenFlags, wait: Duration) -> Result<Ledger, LedgerError> {
        // A power cut can lose the entries of the last seconds. A later reader derives them again.
        let configure = |db: &Connection| db.pragma_update(None, "synchronous", "NORMAL");
        let database = Database::open(&Ledger::path_in(home), access, VERSION, wait, configure)?;
        Ok(Ledger { database, home: home.clone() })
    }

    /// Opens a temporary ledger, for use if the home's ledger is unusable. No other process sees it, and it
    /// is deleted on drop.
    pub fn temporary(home: &Home) -> Result<Ledger, LedgerError> {
        Ok(Ledger { database: Database::temporary(SCHEMA)?, home: home.clone() })
    }

    /// Renames the ledger of a home to `ledger.sqlite3.old`, replacing an earlier one.
    pub fn set_aside(home: &Home) -> Result<(), LedgerError> {
        let path = Ledger::path_in(home);
        for suffix in ["-wal", "-shm"] {
            // SQLite would mistake these files for those of the next ledger.
            let removed = if_exists(fs::remove_file(with_suffix(&path, suffix)));
            removed.map_err(|cause| io_error(&path, &cause))?;
        }
        if_exists(fs::rename(&path, with_suffix(&path, ".old"))).map_err(|cause| io_error(&path, &cause))?;
        Ok(())
    }

    /// Frees the memory of cached pages, for a process that keeps the ledger open and rarely writes to it.
    pub fn shrink(&self) -> Result<(), LedgerError> {
        self.query(|db| db.execute_batch("PRAGMA shrink_memory"))
    }

    pub(super) fn query<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        Ok(self.database.query(read)?)
    }

    /// Runs `change` in one transaction, which locks out other writers from its start.
    pub(super) fn transaction<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        Ok(self.database.change(change)?)
    }
}

/// Creates an empty ledger. It is built in memory, written to a temporary file and renamed, and never
/// replaces another: several processes may create it at once, and any of them may be killed.
fn create(path: &Path) -> Result<(), LedgerError> {
    let empty = empty_database(SCHEMA, VERSION).map_err(|error| io_error(path, &io::Error::other(error)))?;
    let scratch = TempFile::next_to(path);
    // SQLite does not create the file, so that its mode is private from the start.
    let result = scratch.create().and_then(|mut file| file.write_all(&empty));
    result.map_err(|cause| io_error(path, &cause))?;
    match renameat_with(CWD, &scratch.path, CWD, path, RenameFlags::NOREPLACE) {
        Err(cause) if cause != Errno::EXIST => Err(io_error(path, &cause.into())),
        _ => Ok(()),
    }
}

fn io_error(path: &Path, cause: &io::Error) -> LedgerError {
    DatabaseError::refused(path, cause).into()
}

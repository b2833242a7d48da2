//! Opens the ledger. An unusable ledger is set aside or left alone; it never prevents other work.

use crate::atomic::TempFile;
use crate::database::empty_database;
use crate::{Home, StoreError};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// `PRAGMA user_version` of a ledger that this version can use. A ledger with an older version is rebuilt.
const VERSION: i64 = 3;
const SCHEMA: &str = include_str!("schema.sql");

/// The index of all runs of a home.
#[derive(Debug)]
pub struct Ledger {
    pub(super) db: Connection,
    pub(super) home: Home,
    /// Path of its file, for error messages.
    path: PathBuf,
}

/// Why the ledger cannot be used. No run fails because of it.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// Another process wrote to it for longer than the caller waits.
    #[error("cannot use ledger {}: another process is writing to it", path.display())]
    Locked {
        /// Path of the ledger.
        path: PathBuf,
    },
    /// A newer version of Longhaul wrote it.
    #[error("cannot read ledger {}: a newer version of longhaul wrote it", path.display())]
    Newer {
        /// Path of the ledger.
        path: PathBuf,
    },
    /// The file is not a ledger, or is damaged.
    #[error("cannot read ledger {}: it is damaged: {cause}", path.display())]
    Damaged {
        /// Path of the ledger.
        path: PathBuf,
        /// Description of the damage.
        cause: String,
    },
    /// A system call failed.
    #[error("cannot use ledger {}: {cause}", path.display())]
    Refused {
        /// Path of the ledger.
        path: PathBuf,
        /// Error of the system.
        cause: String,
    },
    /// The run directories cannot be read.
    #[error(transparent)]
    Runs(#[from] StoreError),
}

impl LedgerError {
    /// Returns what the user can do about the error.
    pub fn hint(&self) -> Option<String> {
        match self {
            LedgerError::Locked { .. } => Some("try again in a moment".to_owned()),
            LedgerError::Newer { .. } => Some("update longhaul, or: longhaul ledger rebuild".to_owned()),
            LedgerError::Damaged { .. } => Some("rebuild it: longhaul ledger rebuild".to_owned()),
            LedgerError::Refused { .. } => {
                Some("check that its directory is writable and has free space".to_owned())
            }
            LedgerError::Runs(error) => error.hint(),
        }
    }
}

impl Ledger {
    /// Returns the path of the ledger of a home.
    pub fn path_in(home: &Home) -> PathBuf {
        home.path().join("ledger.sqlite3")
    }

    /// Opens the ledger of a home, creating an empty one if necessary. Each operation waits up to `wait` for
    /// another writer.
    ///
    /// # Errors
    /// Returns any [`LedgerError`] except `Runs`.
    pub fn open(home: &Home, wait: Duration) -> Result<Ledger, LedgerError> {
        let path = Ledger::path_in(home);
        if !path.exists() {
            create(&path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ledger::open_with(home, flags, wait)
    }

    /// Opens an existing ledger for reading only.
    ///
    /// # Errors
    /// Returns any [`LedgerError`] except `Runs`, also if there is no ledger.
    pub fn open_read_only(home: &Home, wait: Duration) -> Result<Ledger, LedgerError> {
        Ledger::open_with(home, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX, wait)
    }

    fn open_with(home: &Home, flags: OpenFlags, wait: Duration) -> Result<Ledger, LedgerError> {
        let path = Ledger::path_in(home);
        let result = Connection::open_with_flags(&path, flags);
        let db = result.map_err(|error| sqlite_error(&path, &error))?;
        let ledger = Ledger { db, home: home.clone(), path };
        ledger.configure(wait)?;
        Ok(ledger)
    }

    fn configure(&self, wait: Duration) -> Result<(), LedgerError> {
        let version: i64 = self.query(|db| {
            db.busy_timeout(wait)?;
            // A power cut can lose the entries of the last seconds. A later reader derives them again.
            db.pragma_update(None, "synchronous", "NORMAL")?;
            db.pragma_query_value(None, "user_version", |row| row.get(0))
        })?;
        match version {
            VERSION => Ok(()),
            later if later > VERSION => Err(LedgerError::Newer { path: self.path.clone() }),
            _ => Err(LedgerError::Damaged {
                path: self.path.clone(),
                cause: format!("its version is {version}, not {VERSION}"),
            }),
        }
    }

    /// Opens a temporary ledger, for use if the home's ledger is unusable. No other process sees it, and it
    /// is deleted on drop.
    ///
    /// # Errors
    /// Returns [`LedgerError::Refused`] if the database cannot be created.
    pub fn temporary(home: &Home) -> Result<Ledger, LedgerError> {
        let path = PathBuf::from("(temporary)");
        // An empty name is a file without a name: a large ledger goes to disk rather than to memory.
        let result = Connection::open("").and_then(|db| {
            db.execute_batch(SCHEMA)?;
            Ok(db)
        });
        let db = result.map_err(|error| sqlite_error(&path, &error))?;
        Ok(Ledger { db, home: home.clone(), path })
    }

    /// Renames the ledger of a home to `ledger.sqlite3.old`, replacing an earlier one.
    ///
    /// # Errors
    /// Returns [`LedgerError::Refused`] if the file cannot be renamed.
    pub fn set_aside(home: &Home) -> Result<(), LedgerError> {
        let path = Ledger::path_in(home);
        for suffix in ["-wal", "-shm"] {
            // SQLite would mistake these files for those of the next ledger.
            remove(&with_suffix(&path, suffix))?;
        }
        match fs::rename(&path, with_suffix(&path, ".old")) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(io_error(&path, &cause)),
            _ => Ok(()),
        }
    }

    /// Reads from the database and turns its errors into [`LedgerError`].
    pub(super) fn query<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        read(&self.db).map_err(|error| sqlite_error(&self.path, &error))
    }

    /// Runs `change` in one transaction, which locks out other writers from its start.
    pub(super) fn transaction<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        let run = || {
            let transaction = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|error| sqlite_error(&self.path, &error))
    }
}

/// Creates an empty ledger. It is built in memory, written to a temporary file and renamed, and never
/// replaces another: several processes may create it at once, and any of them may be killed.
fn create(path: &Path) -> Result<(), LedgerError> {
    let empty = empty_database(SCHEMA, VERSION).map_err(|error| sqlite_error(path, &error))?;
    let scratch = TempFile::next_to(path);
    // SQLite does not create the file, so that its mode is private from the start.
    let result = scratch.create().and_then(|mut file| file.write_all(&empty));
    result.map_err(|cause| io_error(path, &cause))?;
    match renameat_with(CWD, &scratch.path, CWD, path, RenameFlags::NOREPLACE) {
        Err(cause) if cause != Errno::EXIST => Err(io_error(path, &cause.into())),
        _ => Ok(()),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<(), LedgerError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(io_error(path, &cause)),
        _ => Ok(()),
    }
}

fn io_error(path: &Path, cause: &io::Error) -> LedgerError {
    LedgerError::Refused { path: path.to_owned(), cause: cause.to_string() }
}

/// Converts an error of the database. Errors that do not concern access to the file mean damage.
fn sqlite_error(path: &Path, error: &rusqlite::Error) -> LedgerError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LedgerError::Locked { path },
        Some(
            ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::DiskFull
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::NoLargeFileSupport,
        ) => LedgerError::Refused { path, cause: error.to_string() },
        _ => LedgerError::Damaged { path, cause: error.to_string() },
    }
}

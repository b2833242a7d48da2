//! Opening the ledger. What cannot be used as it is gets set aside or left alone, and nobody is kept from working.

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

/// What `PRAGMA user_version` says of a ledger that this version can use. One of another version is made anew.
const VERSION: i64 = 2;
const SCHEMA: &str = include_str!("schema.sql");

/// An index of all runs of a home.
#[derive(Debug)]
pub struct Ledger {
    pub(super) db: Connection,
    pub(super) home: Home,
    /// Its file, for what is said of it.
    path: PathBuf,
}

/// Why the ledger cannot be used. No run fails for it.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// Somebody else writes to it for longer than we wait.
    #[error("use ledger {}: another process is writing to it", path.display())]
    Locked {
        /// Its file.
        path: PathBuf,
    },
    /// A later version of longhaul wrote it.
    #[error("read ledger {}: a newer version of longhaul wrote it", path.display())]
    Newer {
        /// Its file.
        path: PathBuf,
    },
    /// It is no ledger of ours, or not whole.
    #[error("read ledger {}: it is damaged: {cause}", path.display())]
    Damaged {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The system refused something.
    #[error("use ledger {}: {cause}", path.display())]
    Refused {
        /// Its file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The run directories cannot be read.
    #[error(transparent)]
    Runs(#[from] StoreError),
}

impl LedgerError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            LedgerError::Locked { .. } => Some("try again in a moment".to_owned()),
            LedgerError::Newer { .. } => Some("update longhaul, or: longhaul ledger rebuild".to_owned()),
            LedgerError::Damaged { .. } => Some("make it anew: longhaul ledger rebuild".to_owned()),
            LedgerError::Refused { .. } => {
                Some("see whether its directory can be written to and has room".to_owned())
            }
            LedgerError::Runs(error) => error.hint(),
        }
    }
}

impl Ledger {
    /// Where the ledger of a home is.
    pub fn path_in(home: &Home) -> PathBuf {
        home.path().join("ledger.sqlite3")
    }

    /// Opens the ledger of a home, and makes an empty one where there is none. Whoever writes to it is waited for that
    /// long, each time.
    ///
    /// # Errors
    /// [`LedgerError`], but for `Runs`.
    pub fn open(home: &Home, wait: Duration) -> Result<Ledger, LedgerError> {
        let path = Ledger::path_in(home);
        if !path.exists() {
            create(&path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ledger::open_with(home, flags, wait)
    }

    /// Opens an existing ledger as it is. Creates nothing and changes nothing.
    ///
    /// # Errors
    /// [`LedgerError`], but for `Runs`; also if there is no ledger.
    pub fn open_read_only(home: &Home, wait: Duration) -> Result<Ledger, LedgerError> {
        Ledger::open_with(home, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX, wait)
    }

    fn open_with(home: &Home, flags: OpenFlags, wait: Duration) -> Result<Ledger, LedgerError> {
        let path = Ledger::path_in(home);
        let opened = Connection::open_with_flags(&path, flags);
        let db = opened.map_err(|error| failed(&path, &error))?;
        let ledger = Ledger { db, home: home.clone(), path };
        ledger.begin(wait)?;
        Ok(ledger)
    }

    fn begin(&self, wait: Duration) -> Result<(), LedgerError> {
        let version: i64 = self.query(|db| {
            db.busy_timeout(wait)?;
            // The last seconds before a power cut can be missing: they are derived again.
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

    /// A ledger of its own, which nobody else sees and which is gone with it: for those who cannot use that of the home.
    ///
    /// # Errors
    /// [`LedgerError::Refused`].
    pub fn temporary(home: &Home) -> Result<Ledger, LedgerError> {
        let path = PathBuf::from("(temporary)");
        // On the disk rather than in memory where it is large: an empty name is a file without one.
        let opened = Connection::open("").and_then(|db| {
            db.execute_batch(SCHEMA)?;
            Ok(db)
        });
        let db = opened.map_err(|error| failed(&path, &error))?;
        Ok(Ledger { db, home: home.clone(), path })
    }

    /// Sets the ledger of a home aside as `ledger.sqlite3.old`, in place of an earlier one.
    ///
    /// # Errors
    /// [`LedgerError::Refused`].
    pub fn set_aside(home: &Home) -> Result<(), LedgerError> {
        let path = Ledger::path_in(home);
        for end in ["-wal", "-shm"] {
            // They belong to the file of that name, and would be taken for those of the next one.
            remove(&with_end(&path, end))?;
        }
        match fs::rename(&path, with_end(&path, ".old")) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(refused(&path, &cause)),
            _ => Ok(()),
        }
    }

    /// Asks the database, and says what is wrong with it in words for people.
    pub(super) fn query<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        ask(&self.db).map_err(|error| failed(&self.path, &error))
    }

    /// The same with one transaction, which locks others out from its beginning.
    pub(super) fn transaction<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        let run = || {
            let transaction = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let changed = change(&transaction)?;
            transaction.commit()?;
            Ok(changed)
        };
        run().map_err(|error| failed(&self.path, &error))
    }
}

/// Makes an empty ledger. It is made in memory, written at once, and gets its name when it is whole, never in place of
/// another: many processes may come at once, and any of them may be killed.
fn create(path: &Path) -> Result<(), LedgerError> {
    let empty = empty_database(SCHEMA, VERSION).map_err(|error| failed(path, &error))?;
    let scratch = TempFile::beside(path);
    // By us, so that nobody else may ever read it.
    let written = scratch.create().and_then(|mut file| file.write_all(&empty));
    written.map_err(|cause| refused(path, &cause))?;
    match renameat_with(CWD, &scratch.path, CWD, path, RenameFlags::NOREPLACE) {
        Err(cause) if cause != Errno::EXIST => Err(refused(path, &cause.into())),
        _ => Ok(()),
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<(), LedgerError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(refused(path, &cause)),
        _ => Ok(()),
    }
}

fn refused(path: &Path, cause: &io::Error) -> LedgerError {
    LedgerError::Refused { path: path.to_owned(), cause: cause.to_string() }
}

/// What an error of the database means for us. One that is not about the way to it is about what is in it.
fn failed(path: &Path, error: &rusqlite::Error) -> LedgerError {
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

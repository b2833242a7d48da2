//! Opening the database of learning. One that cannot be understood is set aside and never removed: what it held can be
//! looked for.

use crate::LearningPlace;
use longhaul_store::{Durability, replace};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// What `PRAGMA user_version` says of a database that this version can use.
const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");
// Fifty sessions that end at once flush to the disk one after the other.
const WAIT: Duration = Duration::from_secs(10);

/// What is to be learnt, what was, and what it cost.
#[derive(Debug)]
pub struct Learning {
    pub(super) db: Connection,
    path: PathBuf,
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
            LearningError::Damaged { path, .. } => {
                format!("move {} away; what was queued in it is lost, playbooks are not", path.display())
            }
            LearningError::Refused { .. } => {
                "see whether its directory can be written to and has room, or set LONGHAUL_HOME to another one".to_owned()
            }
        }
    }
}

impl Learning {
    /// Opens the database, and makes an empty one where there is none.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn open(place: &LearningPlace) -> Result<Learning, LearningError> {
        let path = place.database();
        if !path.exists() {
            create(place, &path).map_err(|cause| refused(&path, &cause))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&path, flags).map_err(|error| failed(&path, &error))?;
        let learning = Learning { db, path };
        learning.begin()?;
        Ok(learning)
    }

    /// The same, if there is one.
    ///
    /// # Errors
    /// [`LearningError`].
    pub fn open_existing(place: &LearningPlace) -> Result<Option<Learning>, LearningError> {
        if place.database().exists() { Learning::open(place).map(Some) } else { Ok(None) }
    }

    fn begin(&self) -> Result<(), LearningError> {
        let version: i64 = self.known(|db| {
            db.busy_timeout(WAIT)?;
            // A commit is on disk when it returns: one flush, of the log. The log is put into the database when it is long, and
            // never at the end of a hook, which has no time for that.
            db.pragma_update(None, "synchronous", "FULL")?;
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
fn create(place: &LearningPlace, path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(place.dir())?;
    let lock = File::open(place.dir())?;
    lock.lock()?;
    if path.exists() {
        return Ok(());
    }
    let empty = empty().map_err(io::Error::other)?;
    replace(path, &empty, Durability::Power).map_err(io::Error::other)
}

/// The content of a database in which nothing is.
fn empty() -> rusqlite::Result<Vec<u8>> {
    let mut db = Connection::open_in_memory()?;
    db.execute_batch(SCHEMA)?;
    db.pragma_update(None, "user_version", VERSION)?;
    let mut bytes = db.serialize("main")?.to_vec();
    // Readers and one writer do not wait for each other: bytes 18 and 19 of a database's header say that it has a
    // write-ahead log (sqlite.org/fileformat2.html, 1.3.3).
    if let Some(versions) = bytes.get_mut(18..20) {
        versions.fill(2);
    }
    Ok(bytes)
}

fn refused(path: &Path, cause: &io::Error) -> LearningError {
    LearningError::Refused { path: path.to_owned(), cause: cause.to_string() }
}

/// What an error of the database means for us. One that is not about the way to it is about what is in it.
fn failed(path: &Path, error: &rusqlite::Error) -> LearningError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LearningError::Locked { path },
        Some(
            ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::DiskFull
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::NoLargeFileSupport,
        ) => LearningError::Refused { path, cause: error.to_string() },
        _ => LearningError::Damaged { path, cause: error.to_string() },
    }
}

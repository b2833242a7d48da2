//! Opens SQLite databases. The owner of a database creates it and decides what follows if it is unusable.

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// An open database.
#[derive(Debug)]
pub struct Database {
    pub(crate) db: Connection,
    /// Path of its file, for error messages.
    path: PathBuf,
}

/// Why a database cannot be used.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// Another process wrote to it for longer than the caller waits.
    #[error("cannot use {}: another process is writing to it", .0.display())]
    Locked(PathBuf),
    /// A newer version of Longhaul wrote it.
    #[error("cannot read {}: a newer version of longhaul wrote it", .0.display())]
    Newer(PathBuf),
    /// The file is not such a database, is damaged, or is of an older version.
    #[error("cannot read {}: {cause}", path.display())]
    Damaged {
        /// Path of the database.
        path: PathBuf,
        /// Description of the problem.
        cause: String,
    },
    /// The system refused an operation.
    #[error("cannot use {}: {cause}", path.display())]
    Refused {
        /// Path of the database.
        path: PathBuf,
        /// Error of the system.
        cause: String,
    },
}

impl DatabaseError {
    /// Returns what the user can do about it. Only the ledger is rebuilt instead.
    pub fn hint(&self) -> &'static str {
        match self {
            DatabaseError::Locked(_) => "try again in a moment",
            DatabaseError::Newer(_) => "update longhaul",
            DatabaseError::Damaged { .. } => {
                "try again: longhaul then keeps it under another name and creates a new one; playbooks are not affected"
            }
            DatabaseError::Refused { .. } => {
                "check that its directory is writable and has free space, or set LONGHAUL_HOME to another directory"
            }
        }
    }

    /// Creates the error for an operation that the system refused.
    pub fn refused(path: &Path, cause: &io::Error) -> DatabaseError {
        DatabaseError::Refused { path: path.to_owned(), cause: cause.to_string() }
    }

    /// Converts an error of SQLite. Errors that concern neither the access to the file nor a constraint mean
    /// damage.
    fn new(path: &Path, error: &rusqlite::Error) -> DatabaseError {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => DatabaseError::Locked(path),
            Some(
                ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::SystemIoFailure
                | ErrorCode::DiskFull
                | ErrorCode::OutOfMemory
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport
                | ErrorCode::ConstraintViolation,
            ) => DatabaseError::Refused { path, cause: error.to_string() },
            _ => DatabaseError::Damaged { path, cause: error.to_string() },
        }
    }
}

impl Database {
    /// Opens an existing database of this `user_version`. Each operation waits up to `wait` for another
    /// writer. `configure` runs first.
    pub fn open(
        path: &Path,
        access: OpenFlags,
        version: i64,
        wait: Duration,
        configure: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<Database, DatabaseError> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let result = Connection::open_with_flags(path, flags);
        let db = result.map_err(|error| DatabaseError::new(path, &error))?;
        let database = Database { db, path: path.to_owned() };
        let found: i64 = database.query(|db| {
            db.busy_timeout(wait)?;
            configure(db)?;
            db.pragma_query_value(None, "user_version", |row| row.get(0))
        })?;
        let path = database.path.clone();
        match found {
            found if found == version => Ok(database),
            later if later > version => Err(DatabaseError::Newer(path)),
            older => {
                let cause = if older > 0 {
                    "an older version of longhaul wrote it"
                } else {
                    "longhaul did not write it"
                };
                Err(DatabaseError::Damaged { path, cause: cause.to_owned() })
            }
        }
    }

    /// Creates a temporary database with this schema. No other process sees it, and it is deleted on drop.
    pub fn temporary(schema: &str) -> Result<Database, DatabaseError> {
        let path = PathBuf::from("(temporary)");
        // An empty name is a file without a name: a large database goes to disk rather than to memory.
        let db = Connection::open("").map_err(|error| DatabaseError::new(&path, &error))?;
        let database = Database { db, path };
        database.query(|db| db.execute_batch(schema))?;
        Ok(database)
    }

    /// Returns the path of its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a query and converts its error.
    pub fn query<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        query(&self.db).map_err(|error| DatabaseError::new(&self.path, &error))
    }

    /// Runs `change` in one transaction, which locks out other writers from its start.
    pub fn change<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let run = || {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|error| DatabaseError::new(&self.path, &error))
    }
}

/// Returns the path of a file that belongs to a database, such as its log.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the bytes of an empty database with this schema and `user_version`. Write them to a temporary file
/// and rename it.
pub fn empty_database(schema: &str, version: i64) -> rusqlite::Result<Vec<u8>> {
    let mut db = Connection::open_in_memory()?;
    db.execute_batch(schema)?;
    db.pragma_update(None, "user_version", version)?;
    let mut bytes = db.serialize("main")?.to_vec();
    // Write-ahead log: readers and one writer do not wait for each other. Bytes 18 and 19 of the header
    // select it (sqlite.org/fileformat2.html, 1.3.3).
    if let Some(versions) = bytes.get_mut(18..20) {
        versions.fill(2);
    }
    Ok(bytes)
}

//! Stores the location of the home at which the ledger was last compared with all run directories. This
//! module never reads a run.

use super::{Ledger, LedgerError};
use crate::Home;
use rusqlite::OptionalExtension;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The location of a ledger: its home without links, and the ledger's device and inode.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LedgerLocation {
    pub(super) home: PathBuf,
    device: i64,
    inode: i64,
}

impl LedgerLocation {
    pub(super) fn new(home: &Home) -> LedgerLocation {
        let metadata = fs::metadata(Ledger::path_in(home));
        let (device, inode) =
            metadata.map_or((0, 0), |metadata| (metadata.dev().cast_signed(), metadata.ino().cast_signed()));
        let path = fs::canonicalize(home.path()).unwrap_or_else(|_| home.path().to_owned());
        LedgerLocation { home: path, device, inode }
    }
}

impl Ledger {
    pub(super) fn location(&self) -> Result<Option<LedgerLocation>, LedgerError> {
        self.query(|db| {
            let mut statement = db.prepare_cached("SELECT home, device, inode FROM place")?;
            let location = statement.query_row([], |row| {
                let home = OsString::from_vec(row.get(0)?).into();
                Ok(LedgerLocation { home, device: row.get(1)?, inode: row.get(2)? })
            });
            location.optional()
        })
    }

    pub(super) fn store_location(&mut self, location: &LedgerLocation) -> Result<(), LedgerError> {
        self.transaction(|db| {
            db.execute("DELETE FROM place", [])?;
            let values = (location.home.as_os_str().as_bytes(), location.device, location.inode);
            db.execute("INSERT INTO place (home, device, inode) VALUES (?, ?, ?)", values)
        })?;
        Ok(())
    }
}

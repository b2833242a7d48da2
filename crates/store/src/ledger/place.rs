//! The location where the ledger was last compared with all run directories. This module never reads a run.

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
pub(super) struct Place {
    pub(super) home: PathBuf,
    device: i64,
    inode: i64,
}

impl Place {
    pub(super) fn new(home: &Home) -> Place {
        let file = fs::metadata(Ledger::path_in(home));
        let (device, inode) =
            file.map_or((0, 0), |file| (file.dev().cast_signed(), file.ino().cast_signed()));
        let path = fs::canonicalize(home.path()).unwrap_or_else(|_| home.path().to_owned());
        Place { home: path, device, inode }
    }
}

impl Ledger {
    pub(super) fn place(&self) -> Result<Option<Place>, LedgerError> {
        self.query(|db| {
            let mut statement = db.prepare_cached("SELECT home, device, inode FROM place")?;
            let place = statement.query_row([], |row| {
                let home = OsString::from_vec(row.get(0)?).into();
                Ok(Place { home, device: row.get(1)?, inode: row.get(2)? })
            });
            place.optional()
        })
    }

    pub(super) fn note_place(&mut self, place: &Place) -> Result<(), LedgerError> {
        self.transaction(|db| {
            db.execute("DELETE FROM place", [])?;
            let values = (place.home.as_os_str().as_bytes(), place.device, place.inode);
            db.execute("INSERT INTO place (home, device, inode) VALUES (?, ?, ?)", values)
        })?;
        Ok(())
    }
}

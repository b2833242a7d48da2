//! A run's truth: `journal.jsonl`, one line a step, `{"seq":1,"at":…,"records":[…]}`.
//!
//! A step is there as a whole or not at all: it is written by one write of one line, and a line
//! torn by a crash is dropped on loading, because nothing was done yet about a step that was not
//! synced. The journal is never rewritten and never decides: replaying it is the core's.

mod follower;
mod history;

pub use follower::JournalFollower;
pub use history::{History, JournalEntry};

use crate::files::private;
use crate::regular::open_regular_with;
use crate::{StoreError, failpoint_io, open_regular, read_regular};
use longhaul_core::{Moment, Record};
use serde::Serialize;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A journal open for appending. It is locked until it is dropped or its process dies, so that two
/// supervisors never drive the same run.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// The number of the next step, from 1.
    next_seq: u64,
    /// The length of all whole lines, in bytes: what to go back to when a write fails half-way.
    whole_bytes: u64,
    /// Whether something was appended since the last sync.
    unsynced: bool,
    /// Whether the file may differ from what we believe: nothing more may be promised.
    broken: bool,
    /// The line being written, kept for its memory.
    line: Vec<u8>,
}

/// A step on its way to the disk.
#[derive(Serialize)]
struct JournalLine<'a> {
    seq: u64,
    at: Moment,
    records: &'a [Record],
}

impl Journal {
    /// Creates an empty journal and locks it.
    ///
    /// # Errors
    /// [`StoreError::Io`], also if one is already there.
    pub fn create(path: &Path) -> Result<Journal, StoreError> {
        let file = failpoint_io::open(private().append(true).create_new(true), path)
            .map_err(StoreError::io("create journal", path))?;
        Journal::locked(file, path)
    }

    /// Opens a journal to continue it, locks it, reads what is in it, and cuts off a torn last line.
    ///
    /// # Errors
    /// [`StoreError::JournalLocked`] if another process has it, else as [`Journal::load`].
    pub fn open_append(path: &Path) -> Result<(Journal, History), StoreError> {
        let file = open_regular_with(private().read(true).append(true), path)
            .map_err(StoreError::io("open journal", path))?;
        let mut journal = Journal::locked(file, path)?;
        let mut text = Vec::new();
        journal.file.read_to_end(&mut text).map_err(StoreError::io("read journal", path))?;
        let history = History::parse(path, &text)?;
        journal.whole_bytes = text.len() as u64 - history.torn_bytes;
        if history.torn_bytes > 0 {
            journal.file.set_len(journal.whole_bytes).map_err(StoreError::io("cut journal", path))?;
        }
        journal.next_seq = history.entries.len() as u64 + 1;
        Ok((journal, history))
    }

    /// Whether a supervisor has the journal of a run.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn is_locked(path: &Path) -> Result<bool, StoreError> {
        let file = open_regular(path).map_err(StoreError::io("open journal", path))?;
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(cause)) => Err(StoreError::io("lock journal", path)(cause)),
        }
    }

    /// Keeps every supervisor from the run until the lock is dropped. Reads and changes nothing, so that a
    /// journal that nobody understands can be held too.
    ///
    /// # Errors
    /// [`StoreError::JournalLocked`] if another process has it, else [`StoreError::Io`].
    pub fn lock(path: &Path) -> Result<JournalLock, StoreError> {
        // Some file systems lock only for those who may write.
        let file = open_regular_with(private().read(true).append(true), path)
            .map_err(StoreError::io("open journal", path))?;
        lock(&file, path)?;
        Ok(JournalLock(file))
    }

    /// Reads a journal, whether a supervisor has it or not. A torn last line is left out: one
    /// without a newline, or one that is not JSON.
    ///
    /// # Errors
    /// [`StoreError::Io`]; [`StoreError::JournalDamaged`], [`StoreError::JournalGap`] and
    /// [`StoreError::JournalNewer`] name the line.
    pub fn load(path: &Path) -> Result<History, StoreError> {
        let text = read_regular(path).map_err(StoreError::io("read journal", path))?;
        History::parse(path, &text)
    }

    /// Appends one step. It survives our death from here on, and a power cut from the next
    /// [`Journal::sync`] on: sync before acting on it. A step without records needs no line.
    ///
    /// # Errors
    /// [`StoreError::Io`]: nothing of the step is in the file, and the journal can go on (the disk
    /// may have room again). [`StoreError::JournalBroken`] after a failure that could not be undone.
    pub fn append(&mut self, at: Moment, records: &[Record]) -> Result<(), StoreError> {
        self.check()?;
        if records.is_empty() {
            return Ok(());
        }
        self.line.clear();
        serde_json::to_writer(&mut self.line, &JournalLine { seq: self.next_seq, at, records })
            .map_err(|cause| StoreError::io("write journal", &self.path)(cause.into()))?;
        self.line.push(b'\n');
        if let Err(cause) = failpoint_io::write_all(&self.file, &self.path, &self.line) {
            // Half a line may be there, and another line after it would make it damage.
            self.broken = self.file.set_len(self.whole_bytes).is_err();
            return Err(StoreError::io("write journal", &self.path)(cause));
        }
        self.whole_bytes += self.line.len() as u64;
        self.next_seq += 1;
        self.unsynced = true;
        Ok(())
    }

    /// Makes every step so far survive a power cut: one `fdatasync`, none if nothing is new.
    ///
    /// # Errors
    /// [`StoreError::Io`]. The journal is broken then: the kernel reports a lost write once and
    /// calls the next sync a success.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.check()?;
        if self.unsynced {
            let synced = failpoint_io::sync_data(&self.file, &self.path);
            self.broken = synced.is_err();
            synced.map_err(StoreError::io("sync journal", &self.path))?;
            self.unsynced = false;
        }
        Ok(())
    }

    /// The run's directory got its final name.
    pub(crate) fn set_path(&mut self, path: PathBuf) {
        self.path = path;
    }

    fn locked(file: File, path: &Path) -> Result<Journal, StoreError> {
        lock(&file, path)?;
        let path = path.to_owned();
        Ok(Journal {
            file,
            path,
            next_seq: 1,
            whole_bytes: 0,
            unsynced: false,
            broken: false,
            line: Vec::new(),
        })
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.broken { Err(StoreError::JournalWriteFailed { path: self.path.clone() }) } else { Ok(()) }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is just starting has a copy of the
        // file until it runs its program, and would keep the lock for that long.
        drop(self.file.unlock());
    }
}

/// A journal that is held, and not written.
#[derive(Debug)]
pub struct JournalLock(File);

impl Drop for JournalLock {
    fn drop(&mut self) {
        // As with a journal: closing is not enough.
        drop(self.0.unlock());
    }
}

fn lock(file: &File, path: &Path) -> Result<(), StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::JournalLocked { path: path.to_owned() }),
        Err(TryLockError::Error(cause)) => Err(StoreError::io("lock journal", path)(cause)),
    }
}

#[cfg(test)]
mod tests;

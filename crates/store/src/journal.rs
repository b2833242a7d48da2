//! The journal, the append-only truth of a run or a workflow: `journal.jsonl`, one line per step,
//! `{"seq":2,"at":…,"records":[…]}`. The first line also names the format: `{"format":1,"seq":1,…}`.
//!
//! A step is on disk completely or not at all: it is written by one write of one line. Loading drops a line
//! torn by a crash, because a step is acted on only after it was synced. This module never rewrites the
//! journal and never decides anything: the core replays it.

mod follower;
mod loaded;

pub use follower::JournalFollower;
pub use loaded::{JournalEntry, LoadedJournal};

use crate::files::{open_regular_with, private};
use crate::{StoreError, failpoint_io, open_regular, read_regular};
use longhaul_core::{Moment, Record};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A journal open for appending, of a run unless `R` is another type of record. It is locked until it is
/// dropped or its process dies, so that two supervisors never drive the same run.
#[derive(Debug)]
pub struct Journal<R = Record> {
    lock: JournalLock,
    path: PathBuf,
    /// Number of the next step, starting at 1.
    next_seq: u64,
    /// Length of all complete lines in bytes: where to truncate the file after a partial write.
    whole_bytes: u64,
    /// Whether something was appended since the last sync.
    has_unsynced_steps: bool,
    /// Whether the file may differ from the state of this value. Nothing more can then be written durably.
    is_broken: bool,
    /// Buffer for the line being written.
    line: Vec<u8>,
    records: PhantomData<R>,
}

/// The format that this version writes. A version that changes the meaning of a record, or removes one,
/// raises it.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct JournalLine<'a, R> {
    /// In the first line only.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
    seq: u64,
    at: Moment,
    records: &'a [R],
}

impl<R: Serialize + DeserializeOwned> Journal<R> {
    /// Creates an empty journal and locks it.
    pub fn create(path: &Path) -> Result<Journal<R>, StoreError> {
        let file = failpoint_io::open(private().append(true).create_new(true), path)
            .map_err(StoreError::io("create journal", path))?;
        Journal::lock_file(file, path)
    }

    /// Opens a journal to continue it: locks it, reads it, and cuts off a torn last line.
    ///
    /// # Errors
    /// Returns [`StoreError::JournalLocked`] if another process holds it, and otherwise the errors of
    /// [`Journal::load`].
    pub fn open_append(path: &Path) -> Result<(Journal<R>, LoadedJournal<R>), StoreError> {
        let file = open_regular_with(private().read(true).append(true), path)
            .map_err(StoreError::io("open journal", path))?;
        let mut journal = Journal::lock_file(file, path)?;
        let mut text = Vec::new();
        journal.lock.0.read_to_end(&mut text).map_err(StoreError::io("read journal", path))?;
        let history = LoadedJournal::parse(path, &text)?;
        journal.whole_bytes = text.len() as u64 - history.torn_bytes;
        if history.torn_bytes > 0 {
            journal.lock.0.set_len(journal.whole_bytes).map_err(StoreError::io("truncate journal", path))?;
        }
        journal.next_seq = history.entries.len() as u64 + 1;
        Ok((journal, history))
    }

    /// Reads a journal, whether it is locked or not. A torn last line is dropped: one without a newline, or
    /// one that is not JSON.
    ///
    /// # Errors
    /// Returns [`StoreError::Io`] if the file cannot be read, and [`StoreError::JournalDamaged`] or
    /// [`StoreError::JournalNewer`] with the line that is malformed.
    pub fn load(path: &Path) -> Result<LoadedJournal<R>, StoreError> {
        let text = read_regular(path).map_err(StoreError::io("read journal", path))?;
        LoadedJournal::parse(path, &text)
    }

    /// Appends one step. From then on the step survives a crash of this process, and from the next
    /// [`Journal::sync`] a power cut. Sync before acting on the step. A step without records writes no line.
    ///
    /// # Errors
    /// Returns [`StoreError::Io`] if the write failed. The file then holds nothing of the step, and the
    /// journal can be continued, for example once the disk has space. Returns
    /// [`StoreError::JournalWriteFailed`] after a failure that could not be undone.
    pub fn append(&mut self, at: Moment, records: &[R]) -> Result<(), StoreError> {
        self.check()?;
        if records.is_empty() {
            return Ok(());
        }
        self.line.clear();
        let format = (self.next_seq == 1).then_some(FORMAT);
        serde_json::to_writer(&mut self.line, &JournalLine { format, seq: self.next_seq, at, records })
            .map_err(|cause| StoreError::io("write journal", &self.path)(cause.into()))?;
        self.line.push(b'\n');
        if let Err(cause) = failpoint_io::write_all(&self.lock.0, &self.path, &self.line) {
            // Half a line may be in the file; a line after it would make the journal damaged.
            self.is_broken = self.lock.0.set_len(self.whole_bytes).is_err();
            return Err(StoreError::io("write journal", &self.path)(cause));
        }
        self.whole_bytes += self.line.len() as u64;
        self.next_seq += 1;
        self.has_unsynced_steps = true;
        Ok(())
    }

    /// Makes every appended step survive a power cut, with one `fdatasync`. Returns `false` if there are no
    /// new steps.
    ///
    /// # Errors
    /// Returns [`StoreError::Io`] if the sync failed. The journal is broken then, because the kernel reports
    /// a lost write once and calls the next sync a success.
    pub fn sync(&mut self) -> Result<bool, StoreError> {
        self.check()?;
        if !self.has_unsynced_steps {
            return Ok(false);
        }
        let result = failpoint_io::sync_data(&self.lock.0, &self.path);
        self.is_broken = result.is_err();
        result.map_err(StoreError::io("sync journal", &self.path))?;
        self.has_unsynced_steps = false;
        Ok(true)
    }

    pub(crate) fn set_path(&mut self, path: PathBuf) {
        self.path = path;
    }

    fn lock_file(file: File, path: &Path) -> Result<Journal<R>, StoreError> {
        let (lock, path) = (JournalLock::new(file, path)?, path.to_owned());
        Ok(Journal {
            lock,
            path,
            next_seq: 1,
            whole_bytes: 0,
            has_unsynced_steps: false,
            is_broken: false,
            line: Vec::new(),
            records: PhantomData,
        })
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.is_broken { Err(StoreError::JournalWriteFailed(self.path.clone())) } else { Ok(()) }
    }
}

/// The lock is the same for every type of record.
impl Journal {
    /// Returns whether another process holds the journal of a run.
    pub fn is_locked(path: &Path) -> Result<bool, StoreError> {
        let file = open_regular(path).map_err(StoreError::io("open journal", path))?;
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(cause)) => Err(StoreError::io("lock journal", path)(cause)),
        }
    }

    /// Locks a journal, so that no supervisor can drive the run until the lock is dropped. It reads and
    /// changes nothing, so that an unreadable journal can be locked too.
    ///
    /// # Errors
    /// Returns [`StoreError::JournalLocked`] if another process holds the journal, and [`StoreError::Io`] if
    /// it cannot be opened or locked.
    pub fn lock(path: &Path) -> Result<JournalLock, StoreError> {
        // Some file systems lock only files that are open for writing.
        let file = open_regular_with(private().read(true).append(true), path)
            .map_err(StoreError::io("open journal", path))?;
        JournalLock::new(file, path)
    }
}

/// A lock on a journal, until it is dropped.
#[derive(Debug)]
pub struct JournalLock(File);

impl JournalLock {
    fn new(file: File, path: &Path) -> Result<JournalLock, StoreError> {
        match file.try_lock() {
            Ok(()) => Ok(JournalLock(file)),
            Err(TryLockError::WouldBlock) => Err(StoreError::JournalLocked(path.to_owned())),
            Err(TryLockError::Error(cause)) => Err(StoreError::io("lock journal", path)(cause)),
        }
    }
}

impl Drop for JournalLock {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is starting has a copy of the file until it runs
        // its program. The copy would keep the lock until then.
        drop(self.0.unlock());
    }
}

#[cfg(test)]
mod tests;

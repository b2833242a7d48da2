//! Session locks allow one live run per session: `sessions/<agent>/<session>.lock` in the home, shared by all
//! runs of the user on this machine. The lock is the kernel's (flock), so a process that dies releases it.
//! The file's content only names the holder for an error message.

use crate::files::{make_dirs, open_regular_with, private};
use crate::{Home, StoreError, failpoint_io};
use longhaul_core::{RunId, SessionId};
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

// A file name may have 255 bytes. Ids that differ only beyond this length share a lock. Sharing a lock is
// safe, and no agent produces such ids.
const NAME_BYTES_MAX: usize = 200;

/// A lock on a session, held until it is dropped or this process dies. Child processes do not inherit it.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    pub(crate) path: PathBuf,
    /// Whether the file remains: then no other run takes the session before the unfinished holder continues.
    is_kept: bool,
}

impl SessionLock {
    /// Locks the session of `agent` for `run`, without waiting.
    ///
    /// # Errors
    /// Returns [`StoreError::SessionBusy`] with the run that holds the lock, [`StoreError::SessionOrphaned`]
    /// if an orphaned run works on the session, and [`StoreError::Io`] if the lock file cannot be used.
    pub fn acquire(
        home: &Home,
        agent: &str,
        session: &SessionId,
        run: &RunId,
    ) -> Result<SessionLock, StoreError> {
        let dir = home.sessions_path().join(file_name(agent));
        make_dirs(&dir)?;
        let path = dir.join(file_name(session.as_str()) + ".lock");
        loop {
            let mut options = private();
            options.read(true).write(true).create(true).truncate(false);
            let file = failpoint_io::open(&options, &path).map_err(StoreError::io("lock session", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::SessionBusy { session: session.clone(), holder: holder(&file) });
                }
                Err(TryLockError::Error(cause)) => return Err(StoreError::io("lock session", &path)(cause)),
            }
            // The last holder may have removed the file before we locked it.
            let links = file.metadata().map_err(StoreError::io("lock session", &path))?.nlink();
            if links > 0 {
                // A holder that ends normally removes the file. One with an unreadable journal cannot continue.
                if let Some(run) = orphan(home, &file, run) {
                    drop(file.unlock());
                    return Err(StoreError::SessionOrphaned { session: session.clone(), run });
                }
                let lock = SessionLock { file, path, is_kept: false };
                lock.write_holder(run).map_err(StoreError::io("lock session", &lock.path))?;
                return Ok(lock);
            }
        }
    }

    /// Returns the orphaned run that makes [`SessionLock::acquire`] fail for `run`.
    pub fn orphan(home: &Home, agent: &str, session: &SessionId, run: &RunId) -> Option<RunId> {
        let path = home.sessions_path().join(file_name(agent)).join(file_name(session.as_str()) + ".lock");
        let file = open_regular_with(File::options().read(true), &path).ok()?;
        file.try_lock_shared().ok()?;
        orphan(home, &file, run)
    }

    /// Unlocks the session and keeps its file, because the run is unfinished.
    pub fn leave(mut self) {
        self.is_kept = true;
    }

    /// Replaces the last holder's id. The file is truncated after the write, so that it is never empty.
    fn write_holder(&self, run: &RunId) -> io::Result<()> {
        let line = format!("{run}\n");
        failpoint_io::write_at(&self.file, &self.path, line.as_bytes(), 0)?;
        self.file.set_len(line.len() as u64)
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // The file is removed while we hold the lock, so that it cannot be another run's file. If this fails,
        // only an unlocked file remains.
        if !self.is_kept {
            drop(fs::remove_file(&self.path));
        }
        // Closing is not enough: a child that is being started may have a copy of the file.
        drop(self.file.unlock());
    }
}

/// Locks the sessions of finished runs whose supervisors were killed. Dropping such a lock removes its file. A run
/// that is unfinished or unreadable keeps its files, because they protect its sessions until it continues.
pub(crate) fn unused_locks(home: &Home) -> impl Iterator<Item = SessionLock> {
    let list = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    let agents = list(&home.sessions_path());
    agents.flat_map(move |agent| list(&agent.path())).filter_map(|file| unused_lock(home, file.path()))
}

fn unused_lock(home: &Home, path: PathBuf) -> Option<SessionLock> {
    let file = open_regular_with(File::options().read(true).write(true), &path).ok()?;
    let is_finished = holder(&file).is_none_or(|run| home.is_finished(&run) == Some(true));
    let is_unused = is_finished && file.try_lock().is_ok() && file.metadata().ok()?.nlink() > 0;
    is_unused.then(|| SessionLock { file, path, is_kept: false })
}

/// Returns the last holder of an unlocked file if it is another, unfinished run.
fn orphan(home: &Home, file: &File, run: &RunId) -> Option<RunId> {
    holder(file).filter(|dead| dead != run && home.is_finished(dead) == Some(false))
}

fn holder(file: &File) -> Option<RunId> {
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).ok()?;
    let id = text.lines().next().filter(|id| !id.is_empty())?;
    Some(RunId::from(id))
}

/// Encodes an id as a file name. An id is text from outside, so every byte except lower-case letters, digits,
/// `-` and `_` is escaped (some file systems ignore case).
fn file_name(id: &str) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => write!(name, "%{byte:02x}").expect("writing to a string never fails"),
        }
    }
    name.truncate(NAME_BYTES_MAX);
    if name.is_empty() { "%".to_owned() } else { name }
}

#[cfg(test)]
mod tests;

//! One live run a session: `sessions/<agent>/<session>.lock` in the home, shared by every run of
//! the user on this machine. The lock is the kernel's (flock), so a process that dies leaves none
//! behind; the file's content only names the holder for an error message.

use crate::files::{make_dirs, private};
use crate::{Home, StoreError, failpoint_io};
use longhaul_core::{RunId, SessionId};
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

// A name of a file may have 255 bytes. Ids that differ only beyond this length share a lock, which
// is the safe side of a case that no agent produces.
const NAME_BYTES_MAX: usize = 200;

/// The right to work on a session, until dropped or until our process dies. Children do not inherit
/// it.
#[derive(Debug)]
pub struct SessionLock {
    file: File,
    path: PathBuf,
}

impl SessionLock {
    /// Takes the session of `agent` for `run`, without waiting.
    ///
    /// # Errors
    /// [`StoreError::SessionBusy`] names the run that has it, [`StoreError::SessionOrphaned`] one that
    /// has not ended and whose supervisor died; [`StoreError::Io`] if there can be no lock.
    pub fn acquire(
        home: &Home,
        agent: &str,
        session: &SessionId,
        run: &RunId,
    ) -> Result<SessionLock, StoreError> {
        let dir = home.sessions_path().join(file_name(agent));
        make_dirs(&dir).map_err(StoreError::io("create directory", &dir))?;
        let path = dir.join(file_name(session.as_str()) + ".lock");
        loop {
            let file = open(&path).map_err(StoreError::io("lock session", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::SessionBusy { session: session.clone(), holder: holder(&file) });
                }
                Err(TryLockError::Error(cause)) => return Err(StoreError::io("lock session", &path)(cause)),
            }
            // Its last holder may have removed it between our opening and our locking it.
            let links = file.metadata().map_err(StoreError::io("lock session", &path))?.nlink();
            if links > 0 {
                // Who ends in order removes the file.
                let orphan = holder(&file).filter(|dead| dead != run && home.is_unfinished(dead));
                if let Some(run) = orphan {
                    drop(file.unlock());
                    return Err(StoreError::SessionOrphaned { session: session.clone(), run });
                }
                let lock = SessionLock { file, path };
                lock.sign(run).map_err(StoreError::io("lock session", &lock.path))?;
                return Ok(lock);
            }
        }
    }

    /// Where the lock is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the holder's id over the last one's, first written, then cut: never empty meanwhile.
    fn sign(&self, run: &RunId) -> io::Result<()> {
        let line = format!("{run}\n");
        failpoint_io::write_at(&self.file, &self.path, line.as_bytes(), 0)?;
        self.file.set_len(line.len() as u64)
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // While the lock is ours, so that nobody else's file is removed. A failure leaves an empty
        // right behind, no more.
        drop(fs::remove_file(&self.path));
        // A child that is just being started may have a copy of the file: closing is not enough.
        drop(self.file.unlock());
    }
}

fn open(path: &Path) -> io::Result<File> {
    failpoint_io::open(private().read(true).write(true).create(true).truncate(false), path)
}

/// Whom the lock's file names.
fn holder(file: &File) -> Option<RunId> {
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).ok()?;
    let id = text.lines().next().filter(|id| !id.is_empty())?;
    Some(RunId::from(id))
}

/// An id as the name of a file. Ids are strangers' words, so that everything but lower-case letters,
/// digits, `-` and `_` is written as its bytes (some file systems do not tell upper from lower case).
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

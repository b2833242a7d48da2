//! Where a playbook's text really is, who may write there, and how it is replaced: as a whole, with the mode that it had,
//! and behind the link by which it is reached.

use super::FileError;
use super::failpoints::{Step, is_cut, pass};
use crate::backup::write_backup;
use longhaul_store::open_regular;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

// A change takes some milliseconds; fifty at once, on a slow disk, still less than this.
const LOCK_WAIT: Duration = Duration::from_secs(20);
const LOCK_LOOK: Duration = Duration::from_millis(5);
// A thousand points are a fifth of a megabyte.
const BYTES_MAX: u64 = 16 << 20;

/// The file itself, behind all links.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Where the text is.
    pub(super) path: PathBuf,
    dir: PathBuf,
    /// Whether links lead there out of the project. Who made them may not be who works here.
    pub(super) is_outside: bool,
}

/// The right to change it, until it is dropped. It is the lock of a directory, so that nothing is left in a repository.
pub(super) struct Lock {
    _dir: File,
}

impl Place {
    /// The file that this path leads to, or will, from a project.
    pub(super) fn new(project: &Path, path: &Path) -> Result<Place, FileError> {
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
                // A link to what is not there yet.
                Ok(target) => path.with_file_name("").join(target),
                Err(_) => path.to_owned(),
            },
            Err(source) => return Err(FileError::io("find", path, source)),
        };
        let dir = path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
        // In a project that is gone nothing is written at all.
        let is_outside =
            real(project).is_ok_and(|project| !real_dir(&dir).is_ok_and(|dir| dir.starts_with(project)));
        Ok(Place { path, dir, is_outside })
    }

    /// Its text; nothing where there is no file.
    pub(super) fn bytes(&self) -> Result<Option<Vec<u8>>, FileError> {
        let mut bytes = Vec::new();
        let read = open_regular(&self.path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if bytes.len() as u64 > BYTES_MAX => {
                let said = format!("it is larger than {} MiB", BYTES_MAX >> 20);
                Err(FileError::io("read", &self.path, io::Error::other(said)))
            }
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::io("read", &self.path, source)),
        }
    }

    /// Waits for the right to change it.
    pub(super) fn lock(&self) -> Result<Lock, FileError> {
        let failed = |source| FileError::io("lock", &self.dir, source);
        // Only the last part: a project that is gone is not made again.
        match fs::create_dir(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(FileError::io("create", &self.dir, error));
            }
            Ok(()) | Err(_) => {}
        }
        let dir = File::open(&self.dir).map_err(failed)?;
        let started = Instant::now();
        loop {
            match dir.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) if started.elapsed() > LOCK_WAIT => {
                    return Err(FileError::Busy { path: self.path.clone() });
                }
                Err(TryLockError::WouldBlock) => sleep(LOCK_LOOK),
            }
        }
        self.clear();
        Ok(Lock { _dir: dir })
    }

    /// Removes what writers that were killed had prepared: whoever has the lock knows that nobody else is preparing.
    fn clear(&self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_ours = |name: &str| name.starts_with(&self.prepared_begins()) && name.ends_with(".new");
            if name.to_str().is_some_and(is_ours) {
                // It stays hidden, should it not go.
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    fn prepared_begins(&self) -> String {
        format!(".{}.longhaul-", self.path.file_name().unwrap_or_default().display())
    }

    /// Writes a text beside it, on disk when this returns: there is room, and the right to.
    pub(super) fn prepare(&self, _lock: &Lock, text: &str) -> Result<Prepared, FileError> {
        let prepared = self.dir.join(format!("{}{}.new", self.prepared_begins(), std::process::id()));
        let failed = |source| FileError::io("write", &self.path, source);
        // Never through a link of this name.
        let file = File::options().write(true).create_new(true).open(&prepared).map_err(failed)?;
        let prepared = Prepared { prepared, target: self.clone() };
        if let Ok(found) = fs::metadata(&self.path) {
            file.set_permissions(found.permissions()).map_err(failed)?;
            // Who may not give a file away owns the new one; the mode still says who may read it.
            let _ = fchown(&file, Some(found.uid()), Some(found.gid()));
        }
        (&file).write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        pass(Step::Prepared);
        Ok(prepared)
    }
}

/// Where a directory really is.
fn real(dir: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
}

/// The same of one whose last part need not be there yet.
fn real_dir(dir: &Path) -> io::Result<PathBuf> {
    real(dir).or_else(|error| match (dir.parent(), dir.file_name()) {
        (Some(parent), Some(name)) if !dir.is_symlink() => Ok(real(parent)?.join(name)),
        _ => Err(error),
    })
}

/// A text that is to be in the place of another. It is gone if it is not put there.
pub(super) struct Prepared {
    prepared: PathBuf,
    target: Place,
}

impl Prepared {
    /// Puts it there, and says whether it is sure to stay there when the power fails.
    pub(super) fn put(self) -> Result<bool, FileError> {
        let Prepared { prepared, target: place } = &self;
        fs::rename(prepared, &place.path).map_err(|source| FileError::io("write", &place.path, source))?;
        let synced = File::open(&place.dir).and_then(|dir| dir.sync_all());
        pass(Step::Placed);
        Ok(synced.is_ok())
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if !is_cut() {
            // After `put` there is nothing under this name.
            drop(fs::remove_file(&self.prepared));
        }
    }
}

/// Keeps a damaged text beside the path by which it was read, and says where. One that is kept already is not kept twice.
pub(super) fn set_aside(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
    let kept = write_backup(path, |number| format!(".damaged-{number}"), bytes)
        .map_err(|(path, source)| FileError::io("write", &path, source))?;
    pass(Step::SetAside);
    Ok(kept)
}

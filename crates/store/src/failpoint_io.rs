//! Wraps each file operation that needs disk space in a function, so that tests can make it fail. Without
//! the feature `store-faults`, which only tests enable, the functions are plain system calls.
//!
//! - `LONGHAUL_STORE_FAULT=enospc@12` makes call 12 and every later one fail: a full disk stays full.
//! - `LONGHAUL_STORE_FAULT=short@12` makes only call 12 fail, after half of its bytes: space was freed meanwhile.
//! - `LONGHAUL_STORE_LOG` names a file to which each call is appended, so that a test can count them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

pub(crate) fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    faults::pass("open", path)?;
    options.open(path)
}

pub(crate) fn make_dir(builder: &DirBuilder, path: &Path) -> io::Result<()> {
    faults::pass("mkdir", path)?;
    builder.create(path)
}

/// Creates a FIFO that only its owner may use.
pub(crate) fn make_fifo(path: &Path) -> io::Result<()> {
    faults::pass("mkfifo", path)?;
    create_fifo(path)
}

#[cfg(not(target_os = "macos"))]
fn create_fifo(path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?)
}

#[cfg(target_os = "macos")]
fn create_fifo(path: &Path) -> io::Result<()> {
    use nix::sys::stat::Mode;
    Ok(nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?)
}

pub(crate) fn make_link(target: &Path, path: &Path) -> io::Result<()> {
    faults::pass("symlink", path)?;
    symlink(target, path)
}

/// Writes all of `content`. After a failure, part of it may be in the file.
pub(crate) fn write_all(mut file: &File, path: &Path, content: &[u8]) -> io::Result<()> {
    if let Err(cause) = faults::pass("write", path) {
        file.write_all(&content[..faults::written(content.len())])?;
        return Err(cause);
    }
    file.write_all(content)
}

pub(crate) fn write_at(file: &File, path: &Path, content: &[u8], offset: u64) -> io::Result<()> {
    faults::pass("write", path)?;
    file.write_all_at(content, offset)
}

/// Makes the content survive a power cut.
pub(crate) fn sync_data(file: &File, path: &Path) -> io::Result<()> {
    faults::pass("sync", path)?;
    file.sync_data()
}

/// Makes content and metadata survive a power cut.
pub(crate) fn sync_all(file: &File, path: &Path) -> io::Result<()> {
    faults::pass("sync", path)?;
    file.sync_all()
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    faults::pass("rename", to)?;
    fs::rename(from, to)
}

#[cfg(not(feature = "store-faults"))]
mod faults {
    use std::io;
    use std::path::Path;

    pub(super) fn pass(_call: &str, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Returns how many bytes a failed write still writes. Writes never fail here.
    pub(super) fn written(_bytes: usize) -> usize {
        0
    }
}

#[cfg(feature = "store-faults")]
mod faults {
    use std::env;
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering};

    static CALLS: AtomicU32 = AtomicU32::new(0);

    pub(super) fn pass(call: &str, path: &Path) -> io::Result<()> {
        let number = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        if let Ok(log) = env::var("LONGHAUL_STORE_LOG") {
            let log = File::options().append(true).create(true).open(log);
            let name = path.file_name().unwrap_or_default().display();
            let _ = log.and_then(|mut log| writeln!(log, "{number} {call} {name}"));
        }
        let fails = configured_fault().is_some_and(|(kind, threshold)| match kind.as_str() {
            "enospc" => number >= threshold,
            "short" => number == threshold,
            _ => false,
        });
        if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// Returns how many bytes a failed write still writes.
    pub(super) fn written(bytes: usize) -> usize {
        if configured_fault().is_some_and(|(kind, _)| kind == "short") { bytes / 2 } else { 0 }
    }

    fn configured_fault() -> Option<(String, u32)> {
        let value = env::var("LONGHAUL_STORE_FAULT").ok()?;
        let (kind, threshold) = value.split_once('@')?;
        Some((kind.to_owned(), threshold.parse().ok()?))
    }
}

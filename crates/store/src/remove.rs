//! Removing a run. It is gone at once for everybody, whatever becomes of us meanwhile.

use crate::atomic::is_left;
use crate::{Home, Journal, RunDir, StoreError};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

// What a removal that was killed has left is hidden, and the next one takes it along.
const LEFT: &str = ".removed-";
/// The name of a link in such a directory to what an export or an import needs outside of the home.
pub const OUTSIDE: &str = "outside";
// `st_blocks` counts these, whatever the file system's own blocks are.
const BLOCK_BYTES: u64 = 512;

impl Home {
    /// Removes the directory of a run that is kept here, and returns how many bytes of the disk that frees. Whoever
    /// supervises it, or is about to, is not disturbed.
    ///
    /// # Errors
    /// [`StoreError::JournalLocked`] if somebody has the run; [`StoreError::Io`].
    pub fn remove_run(&self, run: &RunDir) -> Result<u64, StoreError> {
        let _lock = Journal::lock(&run.journal_path())?;
        let bytes = run.disk_bytes();
        let day = run.path().parent().unwrap_or(run.path());
        let hidden = day.join(format!("{LEFT}{}", run.id()));
        fs::rename(run.path(), &hidden).map_err(StoreError::io("remove run", run.path()))?;
        fs::remove_dir_all(&hidden).map_err(StoreError::io("remove run", &hidden))?;
        // Only if nothing else is in it.
        drop(fs::remove_dir(day));
        Ok(bytes)
    }

    /// Removes what removals, exports, imports and other writers that were killed have left, and returns how many bytes of
    /// the disk that frees.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the home cannot be read.
    pub fn remove_leftovers(&self) -> Result<u64, StoreError> {
        let list = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
        let days = match fs::read_dir(self.runs_path()) {
            Ok(days) => Some(days),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(StoreError::io("list runs", &self.runs_path())(cause)),
        };
        let in_days = days.into_iter().flatten().flatten().flat_map(|day| list(&day.path()));
        let mut bytes = 0;
        for entry in list(self.path()).chain(in_days) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(LEFT) || is_left(&name) {
                // First what it needed elsewhere: nothing else knows of that.
                let outside = fs::read_link(entry.path().join(OUTSIDE)).ok();
                bytes += outside.filter(|path| is_scratch(path)).map_or(0, |path| remove(&path));
                bytes += remove(&entry.path());
            }
        }
        Ok(bytes)
    }
}

/// Whether a name outside of the home is of our making.
fn is_scratch(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".longhaul-"))
}

/// Removes a file, a link or a directory, and returns how many bytes of the disk that frees.
fn remove(path: &Path) -> u64 {
    let freed = disk_bytes(path);
    let is_dir = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let removed = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_or(0, |()| freed)
}

impl RunDir {
    /// What it takes of the disk, in bytes. What cannot be looked at is left out.
    pub fn disk_bytes(&self) -> u64 {
        disk_bytes(self.path())
    }
}

fn disk_bytes(path: &Path) -> u64 {
    // A link counts as itself: what it leads to is somebody else's.
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    let own = found.blocks() * BLOCK_BYTES;
    if !found.is_dir() {
        return own;
    }
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    own + below.map(|entry| disk_bytes(&entry.path())).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let home = Home::open(Some(dir.path().join("home")), |_| None).expect("a home");
        (dir, home)
    }

    #[test]
    fn a_run_is_gone_and_a_supervised_one_is_not() {
        let (_dir, home) = home();
        let day = "2026-01-01".parse().expect("a date");
        let runs = [1, 2].map(|roll| home.create_run(&day, roll, &plan()).expect("a run"));
        let [gone, held] = runs;
        let dir = gone.dir.clone();
        fs::write(dir.path().join("stream"), vec![b'x'; 100_000]).expect("it is written");
        drop(gone);
        assert!(home.remove_run(&dir).expect("nobody has it") >= 100_000);
        assert!(!dir.path().exists());
        let refused = home.remove_run(&held.dir).expect_err("somebody has it");
        assert!(matches!(refused, StoreError::JournalLocked { .. }), "{refused}");
        assert!(held.dir.journal_path().exists());
        // The last one of a day takes the day along.
        let dir = held.dir.clone();
        drop(held);
        home.remove_run(&dir).expect("nobody has it any more");
        assert!(!home.runs_path().join("2026-01-01").exists());
    }

    #[test]
    fn what_a_killed_removal_left_is_found() {
        let (_dir, home) = home();
        let left = home.runs_path().join("2026-01-01/.removed-bcd");
        fs::create_dir_all(&left).expect("it is made");
        fs::write(left.join("stream"), vec![b'x'; 5_000]).expect("it is written");
        assert!(home.remove_leftovers().expect("the home can be read") >= 5_000);
        assert!(!left.exists());
        assert_eq!(home.remove_leftovers().expect("the home can be read"), 0);
    }

    #[test]
    fn what_a_killed_export_or_import_left_is_found() {
        let (dir, home) = home();
        let mut ended = std::process::Command::new("true").spawn().expect("it is there");
        ended.wait().expect("it ends");
        let here = std::process::id();
        let make = |name: &str, pid: u32| {
            let left = home.path().join(name.replace("PID", &pid.to_string()));
            fs::create_dir_all(&left).expect("it is made");
            left
        };
        let moving = make(".moving.PID-x1.new", ended.id());
        let incoming = make("runs/2026-01-01/.bcd.PID-0.new", ended.id());
        let alive = [make(".moving.PID-x2.new", here), make("runs/2026-01-01/.bcd.PID-0.new", here)];
        let outside = [dir.path().join(".longhaul-x3.new"), dir.path().join("mine")];
        for (file, scratch) in outside.iter().zip([&moving, &incoming]) {
            fs::write(file, "half of it").expect("it is written");
            std::os::unix::fs::symlink(file, scratch.join(OUTSIDE)).expect("it is made");
        }
        assert!(home.remove_leftovers().expect("the home can be read") > 0);
        let is_there = |path: &&std::path::PathBuf| path.exists();
        assert_eq!([&moving, &incoming, &outside[0]].iter().copied().filter(is_there).count(), 0);
        assert_eq!([&alive[0], &alive[1], &outside[1]].iter().copied().filter(is_there).count(), 3);
    }
}

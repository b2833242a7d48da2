//! Removes runs, workflows and leftovers. A removed run disappears at once for every process, even if this one is killed meanwhile.

use crate::atomic::is_leftover;
use crate::files::if_exists;
use crate::session_lock::unused_locks;
use crate::{Home, Journal, JournalDir, RunDir, StoreError};
use std::fs::{self, DirEntry, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// Start of the name of a directory that is being removed. A killed removal leaves it, and the next one removes it.
pub const REMOVED_PREFIX: &str = ".removed-";
/// Name of a link in the temporary directory of an export or an import. It leads to a temporary path outside
/// the home.
pub const OUTSIDE_LINK: &str = "outside";
// No export, import or other write takes this long, not even in a container, whose processes this one cannot see.
const LEFTOVER_AGE_MIN: Duration = Duration::from_secs(24 * 60 * 60);
// The unit of `st_blocks`, for any block size of the file system.
const BLOCK_BYTES: u64 = 512;

impl Home {
    /// Removes a run, or a workflow with its runs, and returns the bytes of disk space it frees. It never removes one
    /// that has a supervisor; a run of the workflow that another process has just resumed stays.
    pub fn remove(&self, dir: &JournalDir, runs: &[RunDir]) -> Result<u64, StoreError> {
        let _lock = Journal::lock(&dir.journal_path())?;
        let mut bytes = dir.disk_bytes();
        let day = dir.path().parent().unwrap_or(dir.path());
        let hidden = day.join(format!("{REMOVED_PREFIX}{}", dir.id()));
        // Hidden first: if this process is killed, the other runs are runs of their own, not parts of a workflow that
        // could be resumed.
        fs::rename(dir.path(), &hidden).map_err(StoreError::io("remove", dir.path()))?;
        for run in runs {
            match self.remove(run, &[]) {
                Ok(freed) => bytes += freed,
                Err(StoreError::JournalLocked { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // Another removal may remove it as a leftover.
        if_exists(remove_dir(&hidden)).map_err(StoreError::io("remove", &hidden))?;
        // This succeeds only if the day has no other run or workflow.
        drop(fs::remove_dir(day));
        Ok(bytes)
    }

    /// Removes leftovers of killed removals, exports, imports, supervisors and other writers, and returns the bytes
    /// of disk space it frees. Reports the leftovers that cannot be removed.
    pub fn remove_leftovers(&self, mut report: impl FnMut(StoreError)) -> Result<u64, StoreError> {
        let runs = self.runs_path();
        let days = if_exists(fs::read_dir(&runs)).map_err(StoreError::io("list runs", &runs))?;
        let workflow_days = list(&self.workflows_path());
        let days = days.into_iter().flatten().flatten().chain(workflow_days);
        let in_days = days.flat_map(|day| list(&day.path()));
        // Dropping a lock removes its file.
        let mut bytes = unused_locks(self).map(|lock| disk_bytes(&lock.path)).sum();
        let outer = list(self.path()).chain(list(&runs)).map(|entry| (entry, false));
        for (entry, is_run) in outer.chain(in_days.map(|entry| (entry, true))) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(REMOVED_PREFIX) || is_leftover(&entry.path(), LEFTOVER_AGE_MIN) {
                // The outside path is removed first, because only this link names it.
                let outside = fs::read_link(entry.path().join(OUTSIDE_LINK)).ok();
                let outside = outside.filter(|path| is_scratch(path) && !is_in_use(path));
                for path in outside.into_iter().chain([entry.path()]) {
                    match remove(&path) {
                        Ok(freed) => bytes += freed,
                        Err(error) => report(StoreError::io("remove", &path)(error)),
                    }
                }
            } else if is_run {
                bytes += clear_scratch(&entry.path(), LEFTOVER_AGE_MIN);
            }
        }
        Ok(bytes)
    }
}

/// Removes temporary files of this age that killed writers left in the directory of a run or a workflow, and returns
/// the bytes of disk space it frees. Files of live processes remain, and so does everything that agents and git wrote.
fn clear_scratch(dir: &Path, age_min: Duration) -> u64 {
    let (workspace, objects, worktrees) = (dir.join("workspace"), dir.join("changes"), dir.join("worktrees"));
    let is_entered = |dir: &Path| dir != workspace && dir != objects && dir.parent() != Some(&*worktrees);
    clear(dir, age_min, &is_entered)
}

fn clear(dir: &Path, age_min: Duration, is_entered: &dyn Fn(&Path) -> bool) -> u64 {
    let clear_entry = |entry: DirEntry| {
        let path = entry.path();
        if is_leftover(&path, age_min) {
            remove(&path).unwrap_or(0)
        } else if entry.file_type().is_ok_and(|file_type| file_type.is_dir()) && is_entered(&path) {
            clear(&path, age_min, is_entered)
        } else {
            0
        }
    };
    list(dir).map(clear_entry).sum()
}

/// Lists a directory. An unreadable entry is only a leftover that stays.
fn list(dir: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    fs::read_dir(dir).into_iter().flatten().flatten()
}

/// Returns whether a path outside the home has a temporary name of Longhaul.
fn is_scratch(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".longhaul-"))
}

/// Returns whether an import works in the directory that contains this path. It holds a lock on it.
fn is_in_use(path: &Path) -> bool {
    let dir = path.parent().and_then(|dir| File::open(dir).ok());
    dir.is_some_and(|dir| matches!(dir.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Removes a file, a link or a directory, if it exists, and returns the bytes of disk space it frees.
fn remove(path: &Path) -> io::Result<u64> {
    let freed = disk_bytes(path);
    let is_dir = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let result = if is_dir { remove_dir(path) } else { fs::remove_file(path) };
    Ok(if_exists(result)?.map_or(0, |()| freed))
}

/// Removes a directory, even if it has read-only directories. Agents leave them, such as the module cache of Go.
pub fn remove_dir(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path).or_else(|_| {
        make_writable(path);
        fs::remove_dir_all(path)
    })
}

/// Makes a directory and all directories in it writable. Removing them fails if this fails.
fn make_writable(dir: &Path) {
    let metadata = fs::symlink_metadata(dir).ok().filter(|metadata| metadata.is_dir());
    let Some(metadata) = metadata else { return };
    let _ = fs::set_permissions(dir, Permissions::from_mode(metadata.mode() | 0o700));
    list(dir).for_each(|entry| make_writable(&entry.path()));
}

impl JournalDir {
    /// Removes temporary files that a killed supervisor left. It enters neither the run's own workspace nor git
    /// worktrees. The caller holds the journal's lock, so that no supervisor writes, not even in a container.
    pub fn clear_scratch(&self) {
        clear_scratch(self.path(), Duration::ZERO);
    }

    /// Returns the disk space that the directory uses, in bytes: of a workflow without its runs. Unreadable parts do not
    /// count.
    pub fn disk_bytes(&self) -> u64 {
        disk_bytes(self.path())
    }
}

fn disk_bytes(path: &Path) -> u64 {
    // A link counts as itself; its target may belong to another owner.
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    let bytes = metadata.blocks() * BLOCK_BYTES;
    if !metadata.is_dir() {
        return bytes;
    }
    bytes + list(path).map(|entry| disk_bytes(&entry.path())).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;
    use longhaul_core::RunId;
    use std::time::SystemTime;

    #[test]
    fn removes_only_runs_without_supervisor() {
        let (_dir, home) = Home::temporary();
        let day = "2026-01-01".parse().expect("a date");
        let runs = [1, 2].map(|roll| home.create_run(&day, roll, &plan()).expect("a run"));
        let [free, supervised] = runs;
        let dir = free.dir.clone();
        fs::write(dir.path().join("stream"), vec![b'x'; 100_000]).expect("it is written");
        drop(free);
        assert!(home.remove(&dir, &[]).expect("no process holds it") >= 100_000);
        assert!(!dir.path().exists());
        let error = home.remove(&supervised.dir, &[]).expect_err("its supervisor holds it");
        assert!(matches!(error, StoreError::JournalLocked { .. }), "{error}");
        assert!(supervised.dir.journal_path().exists());
        // The last run of a day removes the day, too.
        let dir = supervised.dir.clone();
        drop(supervised);
        home.remove(&dir, &[]).expect("no process holds it any more");
        assert!(!home.runs_path().join("2026-01-01").exists());
    }

    #[test]
    fn removes_leftovers_of_killed_removals() {
        let (_dir, home) = Home::temporary();
        let leftover = home.runs_path().join("2026-01-01/.removed-bcd");
        fs::create_dir_all(&leftover).expect("it is made");
        fs::write(leftover.join("stream"), vec![b'x'; 5_000]).expect("it is written");
        assert!(removed_leftovers(&home) >= 5_000);
        assert!(!leftover.exists());
        assert_eq!(removed_leftovers(&home), 0);
    }

    fn removed_leftovers(home: &Home) -> u64 {
        home.remove_leftovers(|error| unreachable!("{error}")).expect("the home can be read")
    }

    /// For root, permissions are no obstacle.
    #[test]
    fn removes_read_only_directories() {
        let (_dir, home) = Home::temporary();
        let day = "2026-01-01".parse().expect("a date");
        let dir = home.create_run(&day, 1, &plan()).expect("a run").dir;
        let leftover = home.runs_path().join("2026-01-01/.removed-bcd");
        for path in [dir.workspace_path(), leftover.clone()] {
            let cache = path.join("mod/cache");
            fs::create_dir_all(&cache).expect("it is made");
            fs::write(cache.join("go.mod"), "module m").expect("it is written");
            for path in [&cache, &path.join("mod")] {
                fs::set_permissions(path, Permissions::from_mode(0o555)).expect("the test owns it");
            }
        }
        home.remove(&dir, &[]).expect("it is removed");
        removed_leftovers(&home);
        assert!(!dir.path().exists() && !leftover.exists());
    }

    #[test]
    fn failed_removal_is_an_error() {
        let (_dir, home) = Home::temporary();
        let day = "2026-01-01".parse().expect("a date");
        let dir = home.create_run(&day, 1, &plan()).expect("a run").dir;
        // A run cannot be renamed to a directory that is not empty.
        let obstacle = dir.path().with_file_name(format!("{REMOVED_PREFIX}{}", dir.id()));
        fs::create_dir_all(obstacle.join("full")).expect("it is made");
        let error = home.remove(&dir, &[]).expect_err("it is in the way");
        assert!(matches!(error, StoreError::Io { action: "remove", .. }), "{error}");
        assert!(dir.path().exists());
        removed_leftovers(&home);
        home.remove(&dir, &[]).expect("nothing is in the way");
    }

    #[test]
    fn removes_files_of_dead_writers_but_none_of_agents() {
        let (_dir, home) = Home::temporary();
        let mut dead = std::process::Command::new("true").spawn().expect("`true` exists");
        let pid = dead.id();
        dead.wait().expect("it exits");
        let runs = ["runs/2026-01-01/bcd", "workflows/2026-01-01/fgh"].map(|dir| home.path().join(dir));
        let leftovers = [
            format!(".status.json.{pid}-2.new"),
            format!("attempts/001/.stream.jsonl.{pid}-0.new"),
            format!("worktrees/.bcd.json.{pid}-0.new"),
        ];
        let retained = [
            format!(".status.json.{}-3.new", std::process::id()),
            "journal.jsonl".to_owned(),
            ".hidden.new".to_owned(),
            format!("attempts/001/answers.json.{pid}-0.new"),
            format!("workspace/.file.{pid}-0.new"),
            format!("worktrees/bcd/.file.{pid}-0.new"),
            format!("changes/start/.file.{pid}-0.new"),
        ];
        let files: Vec<_> = runs.iter().flat_map(|dir| leftovers.iter().map(|name| dir.join(name))).collect();
        let kept: Vec<_> = runs.iter().flat_map(|dir| retained.iter().map(|name| dir.join(name))).collect();
        for file in files.iter().chain(&kept) {
            fs::create_dir_all(file.parent().expect("a directory")).expect("it is made");
            fs::write(file, "half of it").expect("it is written");
        }
        // Their processes may be alive in a container.
        assert_eq!(removed_leftovers(&home), 0);
        files.iter().chain(&kept).for_each(|file| make_old(file));
        fs::write(&files[0], "half of it").expect("it is written");
        assert!(removed_leftovers(&home) > 0);
        assert!(files[0].exists() && files[1..].iter().all(|file| !file.exists()));
        JournalDir::new(runs[0].clone(), RunId::from("bcd")).clear_scratch();
        assert!(!files[0].exists());
        assert!(kept.iter().all(|file| file.exists()));
    }

    fn make_old(path: &Path) {
        let modified = SystemTime::now() - 2 * LEFTOVER_AGE_MIN;
        File::open(path).and_then(|file| file.set_modified(modified)).expect("the test owns it");
    }

    #[test]
    fn removes_leftovers_of_killed_exports_and_imports() {
        let (dir, home) = Home::temporary();
        let mut exited = std::process::Command::new("true").spawn().expect("`true` exists");
        exited.wait().expect("it exits");
        let own_pid = std::process::id();
        let make = |name: &str, pid: u32| {
            let leftover = home.path().join(name.replace("PID", &pid.to_string()));
            fs::create_dir_all(&leftover).expect("it is made");
            leftover
        };
        let moving = make(".moving.PID-x1.new", exited.id());
        let incoming = make("runs/2026-01-01/.bcd.PID-0.new", exited.id());
        let workspace = make("runs/.workspace.PID-x3.new", exited.id());
        let alive = [make(".moving.PID-x2.new", own_pid), make("runs/2026-01-01/.bcd.PID-0.new", own_pid)];
        let repeated = make(".moving.PID-x4.new", exited.id());
        // Another import works there.
        let destination = dir.path().join("work");
        fs::create_dir(&destination).expect("it is made");
        let outside = [
            dir.path().join(".longhaul-x3.new"),
            dir.path().join("mine"),
            destination.join(".longhaul-import"),
        ];
        for (file, scratch) in outside.iter().zip([&moving, &incoming, &repeated]) {
            fs::write(file, "half of it").expect("it is written");
            std::os::unix::fs::symlink(file, scratch.join(OUTSIDE_LINK)).expect("it is made");
        }
        // Their processes may be alive in a container.
        assert_eq!(removed_leftovers(&home), 0);
        [&moving, &incoming, &workspace, &repeated, &alive[0], &alive[1]]
            .into_iter()
            .for_each(|dir| make_old(dir));
        let lock = File::open(&destination).expect("it was made");
        lock.lock().expect("no other process locks it");
        assert!(removed_leftovers(&home) > 0);
        let exists = |path: &&std::path::PathBuf| path.exists();
        let removed = [&moving, &incoming, &workspace, &repeated, &outside[0]];
        assert_eq!(removed.iter().copied().filter(exists).count(), 0);
        let kept = [&alive[0], &alive[1], &outside[1], &outside[2]];
        assert_eq!(kept.iter().copied().filter(exists).count(), 4);
    }
}

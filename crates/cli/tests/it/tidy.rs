//! Checks after every test: no process remains, no file is incomplete, and no file is accessible to other
//! users.

use crate::call::poll;
use crate::harness::Stage;
use crate::schemas;
use longhaul_core::{Outcome, Run};
use longhaul_store::{Journal, RunDir};
use rustix::process::{Pid, getpid};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::panic::{self, RefUnwindSafe};
use std::path::{Path, PathBuf};

/// Runs all checks for a stage.
pub fn check(stage: &Stage) {
    let remaining = || processes(stage.folder());
    let commands = || remaining().into_iter().map(|(_, command)| command).collect::<Vec<_>>();
    assert!(poll(|| remaining().is_empty().then_some(())).is_some(), "processes remain: {:?}", commands());
    let home = stage.home();
    if home.is_dir() {
        schemas::check_runs(stage);
        assert_complete(&home);
        assert_private(&home);
    }
}

/// Returns the outcome that a run's journal replays to. Asserts that it exists, and that the status agrees.
pub fn replayed_outcome(run: &RunDir) -> Outcome {
    let history = Journal::load(&run.journal_path()).expect("the journal can be read");
    assert_eq!(history.torn_bytes, 0, "the journal is torn");
    let outcome = Run::replay(history.records()).state().outcome().expect("the journal holds an outcome");
    let status = run.status().expect("the status can be read");
    assert_eq!(
        (status.status.as_str(), status.returncode),
        (outcome.kind.as_str(), Some(outcome.exit_code()))
    );
    outcome
}

/// Returns all paths below a directory.
pub fn all_paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            paths.extend(all_paths(&path));
        }
        paths.push(path);
    }
    paths
}

/// Returns all paths below Longhaul's home, without the contents of workspaces.
fn home_files(home: &Path) -> Vec<PathBuf> {
    let mut paths = all_paths(home);
    let is_of_git = |path: &Path| path.parent().is_some_and(|parent| parent.ends_with("worktrees"));
    paths.retain(|path| {
        // Agents and git write below these directories.
        !path.ancestors().skip(1).any(|dir| dir.ends_with("workspace") || is_of_git(dir))
    });
    paths
}

/// Returns the processes with this directory in their environment, by PID and command. It does not rely on
/// the run marker, which is under test.
pub fn processes(folder: &Path) -> Vec<(Pid, String)> {
    let folder = folder.as_os_str().as_encoded_bytes();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw);
            let pid = pid.filter(|pid| *pid != getpid())?;
            // A process that has exited, or a zombie, has no environment.
            let environment = fs::read(entry.path().join("environ")).ok()?;
            environment.windows(folder.len()).any(|part| part == folder).then_some(())?;
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            Some((pid, format!("{}: {command}", pid.as_raw_nonzero())))
        })
        .collect()
}

/// Asserts that each run is complete, and that no temporary or lock file remains.
fn assert_complete(home: &Path) {
    let days = fs::read_dir(home.join("runs")).into_iter().flatten().flatten();
    for run in days.flat_map(|day| fs::read_dir(day.path()).expect("a day can be read").flatten()) {
        for file in ["plan.json", "journal.jsonl"] {
            assert!(run.path().join(file).is_file(), "{} has no {file}", run.path().display());
        }
    }
    for path in home_files(home) {
        let name = path.file_name().expect("the path is below the home").to_string_lossy();
        // A worker's lock is never removed, because the next worker may be about to take it.
        let is_lock = name.ends_with(".lock") && !name.starts_with("worker-");
        let is_leftover = name.starts_with('.') || is_lock && !is_of_unfinished_run(home, &path);
        assert!(!is_leftover, "{} remains", path.display());
    }
}

/// Returns whether the lock of a session belongs to a run that will continue.
fn is_of_unfinished_run(home: &Path, lock: &Path) -> bool {
    let holder = fs::read_to_string(lock).unwrap_or_default();
    let days = fs::read_dir(home.join("runs")).into_iter().flatten().flatten();
    let journals = days.map(|day| day.path().join(holder.trim()).join("journal.jsonl"));
    let mut journals = journals.filter_map(|path| fs::read_to_string(path).ok());
    journals.any(|journal| journal.lines().last().is_some_and(|line| !line.contains("run_finished")))
}

/// Asserts that directories have mode 0700 and files 0600.
fn assert_private(home: &Path) {
    for path in home_files(home) {
        let file_metadata = fs::metadata(&path).expect("the path was just listed");
        let expected = if file_metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(file_metadata.permissions().mode() & 0o777, expected, "mode of {}", path.display());
    }
}

/// Proves that the checks can fail.
#[test]
fn checks_find_leftovers() {
    let stage = Stage::new();
    let fails = |check: &(dyn Fn() + RefUnwindSafe)| panic::catch_unwind(check).is_err();
    let (home, run) = (stage.home(), stage.home().join("runs/2026-01-01/run"));
    DirBuilder::new().recursive(true).mode(0o700).create(&run).expect("the stage is writable");
    let write = |name: &str, mode: u32| {
        fs::write(run.join(name), "").expect("the stage is writable");
        fs::set_permissions(run.join(name), fs::Permissions::from_mode(mode))
            .expect("the test owns the file");
    };
    write("plan.json", 0o600);
    assert!(fails(&|| assert_complete(&home)), "a run without a journal");
    write("journal.jsonl", 0o600);
    assert_complete(&home);
    assert_private(&home);
    write(".plan.json.new", 0o644);
    assert!(fails(&|| assert_complete(&home)), "an incomplete file");
    assert!(fails(&|| assert_private(&home)), "a file with public permissions");
    fs::remove_file(run.join(".plan.json.new")).expect("the test owns the file");

    let idle = stage.program("tail").args(["-f", "/dev/null"]).start();
    assert_eq!(processes(stage.folder()).len(), 1, "a process");
    drop(idle);
}

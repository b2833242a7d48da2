//! Tests homes that are moved, copied and restored: the ledger lists the runs of its current home.

use super::*;
use crate::Placement;
use std::path::PathBuf;
use std::process::Command;

fn home_in(path: PathBuf) -> Home {
    Home::locate(Some(path), |_| None).expect("an absolute path is a home")
}

fn dirs(ledger: &mut Ledger) -> Vec<PathBuf> {
    let mut dirs: Vec<_> = all(ledger).into_iter().map(|run| run.dir).collect();
    dirs.sort();
    dirs
}

/// Copies a directory like a backup.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().expect("there is cp");
    assert!(copied.success());
}

#[test]
fn moved_home_finds_its_runs() {
    let (dir, home) = Home::temporary();
    let one = run(&home, 1, &complete_run());
    let elsewhere = Placement { runs_dir: Some(dir.path().join("elsewhere")), ..Placement::default() };
    let other = home.create_run_at(&elsewhere, &day(), 2, &plan()).expect("a run");
    // This run has its workspace in its own directory.
    let mut in_place = plan();
    in_place.spec.cwd = "workspace/input".into();
    let third = home.create_run(&day(), 3, &in_place).expect("a run");
    assert_eq!(up_to_date_ledger(&home).runs(&RunFilter::default()).expect("the runs").len(), 3);

    let moved = home_in(dir.path().join("moved"));
    fs::rename(home.path(), moved.path()).expect("a home can be moved");
    let mut ledger = up_to_date_ledger(&moved);
    let moved_dir =
        |run: &NewRun| moved.runs_path().join(run.dir.path().strip_prefix(home.runs_path()).expect("inside"));
    let mut expected = vec![moved_dir(&one), moved_dir(&third), other.dir.path().to_owned()];
    expected.sort();
    assert_eq!(dirs(&mut ledger), expected);
    let project = |run: &LedgerRun| (run.id == *third.dir.id()).then(|| run.project.clone());
    let real = fs::canonicalize(moved_dir(&third)).expect("it is there");
    assert_eq!(
        all(&mut ledger).iter().find_map(project),
        Some(real.join("workspace/input").display().to_string())
    );
    assert_eq!(differences(&ledger), [""; 0]);
    ledger.rebuild().expect("it is rebuilt");
    assert_eq!(dirs(&mut ledger), expected);
    assert!(all(&mut ledger).iter().all(|run| run.state != RunState::Unreadable));
    assert_eq!(differences(&ledger), [""; 0]);
}

#[test]
fn copied_home_lists_its_own_runs() {
    let (dir, home) = Home::temporary();
    let mut original = run(&home, 1, &started(1, 0));
    let later: Day = "2026-01-02".parse().expect("a date");
    home.create_run(&later, 2, &plan()).expect("a run");
    drop(up_to_date_ledger(&home));
    let copied = home_in(dir.path().join("copied"));
    copy(home.path(), copied.path());
    // A day that was not copied has no runs.
    fs::remove_dir_all(copied.runs_path().join(later.to_string())).expect("it is removed");
    append(&mut original, &finished(1_000, 20));
    let mut ledger = up_to_date_ledger(&copied);
    let listed: Vec<_> = all(&mut ledger).into_iter().map(|run| (run.state, run.dir)).collect();
    let found_dir = copied.find(original.dir.id().as_str()).expect("it was copied");
    assert_eq!(listed, [(RunState::Running, found_dir.path().to_owned())]);
    assert_eq!(differences(&ledger), [""; 0]);
}

#[test]
fn restored_ledger_catches_up() {
    let (dir, home) = Home::temporary();
    let mut one = run(&home, 1, &complete_run());
    drop(up_to_date_ledger(&home));
    let backup = dir.path().join("backup");
    copy(&Ledger::path_in(&home), &backup);
    // The ledger of the backup lists the run as finished, and readers do not derive finished runs again.
    let reopened = (
        at(2_000),
        Record::RunReopened { request: longhaul_core::ResumeRequest::Continue, changes: Vec::new() },
    );
    append(&mut one, &[vec![reopened], started(3, 2_000), finished(3_000, 40)].concat());
    Ledger::set_aside(&home).expect("it can be moved");
    fs::rename(&backup, Ledger::path_in(&home)).expect("it can be restored");
    let mut ledger = open(&home);
    assert_eq!(ledger.catch_up().expect("it is brought up to date"), CatchUpStats { derived: 1, removed: 0 });
    assert_eq!(ledger.costs(CostBy::Agent, None).expect("the costs")[0].spend.cost, cents(65));
    assert_eq!(ledger.catch_up().expect("it is brought up to date"), CatchUpStats::default());
    assert_eq!(differences(&ledger), [""; 0]);
}

use super::*;
use crate::plan::tests::plan;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

fn day() -> Day {
    "2025-11-22".parse().expect("a date")
}

fn walk(dir: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("listing") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            walk(&path, paths);
        }
        paths.push(path);
    }
}

#[test]
fn new_run_is_complete_private_and_findable() {
    let (_dir, home) = Home::temporary();
    let run = home.create_run(&day(), 7, &plan()).expect("run");
    assert_eq!(run.dir.path(), home.runs_path().join("2025-11-22").join(run.dir.id().as_str()));
    assert_eq!(home.find("@").expect("found"), run.dir);
    assert_eq!(run.dir.plan().expect("plan"), plan());
    run.dir.attempt(1).create().expect("attempt").create_stream().expect("stream");

    let mut paths = Vec::new();
    walk(home.path(), &mut paths);
    for path in paths {
        let mode = fs::metadata(&path).expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn new_run_holds_its_journal_lock() {
    let (_dir, home) = Home::temporary();
    let run = home.create_run(&day(), 7, &plan()).expect("run");
    let path = run.dir.journal_path();
    assert!(matches!(<Journal>::open_append(&path), Err(StoreError::JournalLocked { .. })));
    drop(run);
    assert_eq!(<Journal>::open_append(&path).expect("journal").1.entries, []);
}

#[test]
fn equal_rolls_make_different_runs() {
    let (_dir, home) = Home::temporary();
    let yesterday = "2025-11-21".parse().expect("a date");
    let days = [yesterday, day(), day(), day(), day(), day()];
    let runs = days.map(|day| home.create_run(&day, 7, &plan()).expect("run"));
    let lengths: Vec<_> = runs.iter().map(|run| run.dir.id().as_str().len()).collect();
    assert_eq!(lengths, [6, 6, 6, 6, 7, 7]);
    assert_eq!(home.runs_newest_first().expect("runs").count(), 6);
}

#[test]
fn failure_leaves_nothing() {
    let (_dir, home) = Home::temporary();
    let day_path = home.runs_path().join("2025-11-22");
    fs::create_dir(&day_path).expect("day");
    // A file occupies every id that this roll draws.
    for id in ids(7) {
        fs::write(day_path.join(id.as_str()), "").expect("file");
    }
    let error = home.create_run(&day(), 7, &plan()).expect_err("no id is free");
    assert!(error.to_string().ends_with("every id that was drawn is taken"), "{error}");
    let mut remaining = Vec::new();
    walk(&day_path, &mut remaining);
    assert_eq!(remaining.len(), ids(7).count());
    assert!(remaining.iter().all(|path| path.is_file()));
}

/// Every container has a process with the same id.
#[test]
fn directory_of_another_process_with_the_same_id_stays() {
    let (_dir, home) = Home::temporary();
    let day_path = home.runs_path().join("2025-11-22");
    let others: Vec<PathBuf> =
        (0..1_000).map(|n| day_path.join(format!(".run.{}-{n}.new", std::process::id()))).collect();
    others.iter().for_each(|path| fs::create_dir_all(path).expect("a directory"));
    home.create_run(&day(), 7, &plan()).expect("run");
    assert!(others.iter().all(|path| path.exists()));
}

/// Some mounts show every file as writable by all users.
#[test]
fn run_that_could_not_be_trusted_is_not_created() {
    let (parent, _home) = Home::temporary();
    let path = parent.path().join("run");
    fs::create_dir(&path).expect("created");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("it belongs to this user");
    let error = fill::<longhaul_core::Record>(&JournalDir::new(path, RunId::from("bcdfgh")), &[], &plan());
    assert!(matches!(error, Err(StoreError::NoOwners { .. })), "{error:?}");
}

#[test]
fn places_run_in_requested_directory() {
    let (dir, home) = Home::temporary();
    let elsewhere = dir.path().join("results/runs");
    let placement = Placement {
        runs_dir: Some(elsewhere.clone()),
        id: Some(RunId::from("exp-2.1")),
        ..Placement::default()
    };
    let create = |placement: &Placement| home.create_run_at(placement, &day(), 7, &plan());
    let run = create(&placement).expect("run").dir;
    assert_eq!(run.path(), elsewhere.join("2025-11-22/exp-2.1"));
    assert_eq!(
        (home.find("exp-2.1").expect("found"), home.find("@").expect("found")),
        (run.clone(), run.clone())
    );

    // The same id is rejected there and in the home, on any day.
    let tomorrow = "2025-11-23".parse().expect("a date");
    let here = Placement { runs_dir: None, ..placement.clone() };
    for placement in [&placement, &here] {
        let result = home.create_run_at(placement, &tomorrow, 7, &plan());
        assert!(matches!(result, Err(StoreError::RunIdInUse { .. })), "{result:?}");
    }
    let without_id = Placement { id: None, ..placement.clone() };
    let other_run = create(&without_id).expect("run").dir;
    assert!(other_run.path().starts_with(&elsewhere) && home.find(other_run.id().as_str()).is_ok());

    // After its owner removed the run, its id is free.
    fs::remove_dir_all(run.path()).expect("it is there");
    assert!(matches!(home.find("exp-2.1"), Err(StoreError::NoSuchRun { .. })));
    assert_eq!(create(&placement).expect("run").dir, run);
    let mut names = Vec::new();
    walk(&elsewhere, &mut names);
    let is_hidden =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    assert!(!names.iter().any(is_hidden), "{names:?}");
}

#[test]
fn moves_prepared_workspace_into_run() {
    let (parent, home) = Home::temporary();
    let prepared = parent.path().join("prepared");
    fs::create_dir_all(prepared.join("input")).expect("created");
    let placement = Placement { workspace: Some(prepared.clone()), ..Placement::default() };
    let run = home.create_run_at(&placement, &day(), 7, &plan()).expect("created");
    assert!(run.dir.workspace_path().join("input").is_dir() && !prepared.exists());
    // A missing workspace is an error, and nothing of the run remains.
    let result = home.create_run_at(&placement, &day(), 8, &plan());
    assert!(matches!(result, Err(StoreError::Io { .. })), "{result:?}");
    assert_eq!(home.runs_newest_first().expect("listed").count(), 1);
    assert_eq!(fs::read_dir(home.runs_path().join(day().to_string())).expect("a day").count(), 1);
    // An unused id belongs to no run.
    let id = home.unused_id(7).expect("there is one");
    assert_ne!(&id, run.dir.id());
    assert_eq!(home.path_for(&placement, &day(), run.dir.id()), run.dir.path());
}

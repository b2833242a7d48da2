use super::*;
use crate::plan::tests::plan;
use std::fs;
use std::io::Write;

fn day() -> Day {
    "2025-11-22".parse().expect("a date")
}

fn id() -> RunId {
    RunId::from("kmzxqp")
}

fn begin(home: &Home) -> ImportedDir {
    home.begin_import(&home.runs_path(), &day(), &id()).expect("started")
}

fn names(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.runs_path().join("2025-11-22")).expect("a day");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn run_appears_once_complete() {
    let (_dir, home) = Home::temporary();
    let incoming = begin(&home);
    let (_, mut file) = incoming.create_file(Path::new("attempts/001/stream.jsonl")).expect("file");
    file.write_all(b"line\n").expect("written");
    assert_eq!(home.runs_newest_first().expect("runs").count(), 0);
    let dir = incoming.commit(&plan()).expect("committed");
    assert_eq!((home.find("@").expect("found"), dir.plan().expect("plan")), (dir.clone(), plan()));
    assert_eq!(fs::read_to_string(dir.attempt(1).stream_path()).expect("stream"), "line\n");
    assert!(dir.requests_path().is_dir() && dir.logs_path().is_dir());
}

#[test]
fn uncommitted_import_leaves_nothing() {
    let (_dir, home) = Home::temporary();
    let incoming = begin(&home);
    incoming.create_file(Path::new("journal.jsonl")).expect("file");
    assert_eq!(names(&home).len(), 1);
    drop(incoming);
    assert_eq!(names(&home), [""; 0]);
}

#[test]
fn rejects_used_ids_and_paths() {
    let (_dir, home) = Home::temporary();
    let (one, other) = (begin(&home), begin(&home));
    one.commit(&plan()).expect("committed");
    assert!(matches!(other.commit(&plan()), Err(StoreError::RunExists { .. })));
    let tomorrow = "2025-11-23".parse().expect("a date");
    let used = home.begin_import(&home.runs_path(), &tomorrow, &id());
    assert!(matches!(used, Err(StoreError::RunExists { .. })));
    let path = home.begin_import(&home.runs_path(), &day(), &RunId::from("../kmz"));
    assert!(matches!(path, Err(StoreError::InvalidRunId { .. })));
    assert_eq!(names(&home), ["kmzxqp"]);
}

#[test]
fn files_stay_inside_the_directory() {
    let (dir, home) = Home::temporary();
    let incoming = begin(&home);
    for name in ["../out", "/tmp/out", "attempts/../../out"] {
        assert!(incoming.create_file(Path::new(name)).is_err(), "{name}");
    }
    incoming.create_file(Path::new("plan.json")).expect("once");
    incoming.create_file(Path::new("plan.json")).expect_err("twice");
    assert!(!dir.path().join("out").exists());
}

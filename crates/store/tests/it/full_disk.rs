//! Tests a full disk: every write fails and leaves nothing partial. A limit on the file size
//! simulates the full disk.

use crate::role;
use longhaul_core::{Moment, Preset, Record, RunSpec, SessionId};
use longhaul_store::{Day, Durability, Home, Journal, Plan, StoreError, compact, replace};
use std::fs;
use std::path::Path;

const ROLE: &str = "full_disk::plays_a_run_on_a_full_disk";

// More than the limit set by the shell, whose blocks have 512 or 1024 bytes.
const TOO_MUCH_BYTES: usize = 64 << 10;

fn plan(prompt: String) -> Plan {
    Plan::new(RunSpec::new("claude", "/", prompt, Preset::Default.policy()), Moment(0), "4b1d".to_owned())
}

fn assert_full(error: &StoreError) {
    assert!(error.is_disk_full(), "{error}");
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("listing");
    entries.map(|entry| entry.expect("entry").file_name().into_string().expect("UTF-8")).collect()
}

fn step(session: &str) -> Vec<Record> {
    vec![Record::SessionOpened { session: SessionId::from(session) }]
}

#[test]
fn plays_a_run_on_a_full_disk() {
    let Some(dir) = role::called_for(ROLE) else { return };
    let long = "x".repeat(TOO_MUCH_BYTES);
    let home = Home::open(Some(dir.join("home")), |_| None).expect("home");
    let day: Day = "2025-11-22".parse().expect("a date");

    assert_full(&home.create_run(&day, 7, &plan(long.clone())).expect_err("no room"));
    assert_eq!(names(&home.runs_path().join("2025-11-22")), Vec::<String>::new());

    let mut run = home.create_run(&day, 7, &plan("short".to_owned())).expect("room for a short one");
    let path = run.dir.journal_path();
    run.journal.append(Moment(1), &step("a")).expect("room");
    assert_full(&run.journal.append(Moment(2), &step(&long)).expect_err("no room"));
    assert_eq!(<Journal>::load(&path).expect("history").torn_bytes, 0);
    // The disk has space again.
    run.journal.append(Moment(3), &step("b")).expect("room");
    run.journal.sync().expect("synced");
    let history = <Journal>::load(&path).expect("history");
    assert_eq!(
        history.records().map(|(_, record)| record.clone()).collect::<Vec<_>>(),
        [step("a"), step("b")].concat()
    );

    let before = names(run.dir.path());
    for durability in [Durability::Process, Durability::Power] {
        replace(&run.dir.status_path(), b"old", Durability::Process).expect("room");
        assert_full(&replace(&run.dir.status_path(), long.as_bytes(), durability).expect_err("no room"));
        assert_eq!(fs::read(run.dir.status_path()).expect("read"), b"old");
        assert_eq!(names(run.dir.path()).len(), before.len() + 1);
    }

    let stream = dir.join("stream.jsonl");
    let size = fs::metadata(&stream).expect("written before the limit").len();
    assert_full(&compact(&stream, std::slice::from_ref(&(0..1))).expect_err("no room"));
    assert_eq!(fs::metadata(&stream).expect("still there").len(), size);
    assert_eq!(names(&dir).len(), 2);
}

#[test]
fn full_disk_leaves_nothing_partial() {
    let dir = tempfile::tempdir().expect("temporary directory");
    fs::write(dir.path().join("stream.jsonl"), format!("\n{}\n", "y".repeat(TOO_MUCH_BYTES)))
        .expect("written");
    // A process that exceeds the limit gets a signal. If it ignores the signal, the write fails.
    let output = role::call(ROLE, dir.path(), "trap '' XFSZ; ulimit -f 16").output().expect("called");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
}

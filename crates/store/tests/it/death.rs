//! Tests that a killed supervisor leaves a journal that can be continued, and no lock.

use crate::role;
use longhaul_core::{Moment, Record, RunId, SessionId};
use longhaul_store::{Home, Journal, SessionLock, StoreError};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

const ROLE: &str = "death::plays_a_supervisor";

fn home(dir: &Path) -> Home {
    Home::open(Some(dir.to_owned()), |_| None).expect("home")
}

fn session() -> SessionId {
    SessionId::from("3f2a")
}

#[test]
fn plays_a_supervisor() {
    let Some(dir) = role::called_for(ROLE) else { return };
    let _lock =
        SessionLock::acquire(&home(&dir), "claude", &session(), &RunId::from("bcdfgh")).expect("free");
    let mut journal = Journal::create(&dir.join("journal.jsonl")).expect("journal");
    journal.append(Moment(1), &[Record::RunStarted]).expect("appended");
    // A plain write, not `println!`, because the test harness would capture that.
    std::fs::write("/dev/stdout", "ready\n").expect("written");
    drop(std::io::stdin().read(&mut [0]));
}

#[test]
fn killed_supervisor_leaves_no_lock() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("journal.jsonl");
    let mut supervisor = role::call(ROLE, dir.path(), "")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("supervisor");
    let mut lines = BufReader::new(supervisor.stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.expect("text").ends_with("ready")));

    assert!(matches!(<Journal>::open_append(&path), Err(StoreError::JournalLocked { .. })));
    let other_run = RunId::from("kkkkkk");
    let busy = SessionLock::acquire(&home(dir.path()), "claude", &session(), &other_run).expect_err("busy");
    assert_eq!(busy.to_string(), "cannot lock session 3f2a: run bcdfgh is working on it");

    supervisor.kill().and_then(|()| supervisor.wait()).expect("killed");
    let (_journal, history) = <Journal>::open_append(&path).expect("journal");
    assert_eq!(history.records().count(), 1);
    SessionLock::acquire(&home(dir.path()), "claude", &session(), &other_run).expect("free");
}

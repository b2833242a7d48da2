//! Tests concurrent writers and readers of the ledger: every run is listed exactly once.

use crate::role;
use longhaul_core::{Moment, Outcome, Preset, Record, RunSpec};
use longhaul_store::{Day, Home, Ledger, LedgerEntry, Plan, RunFilter};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const ROLE: &str = "ledger::plays_a_supervisor_of_many_runs";
const PROCESSES: u64 = 20;
const RUNS: u64 = 10;
// As long as a supervisor waits for other writers when its run ends.
const WAIT: Duration = Duration::from_secs(2);

fn home(dir: &Path) -> Home {
    Home::open(Some(dir.join("home")), |_| None).expect("home")
}

fn plan() -> Plan {
    let spec = RunSpec::new("claude", "/work", "p", Preset::Drill.policy());
    Plan::new(spec, Moment(1_795_311_245_120), "4b1d".to_owned())
}

/// Prepares ten runs that are about to finish, waits for the file `go`, and finishes them.
#[test]
fn plays_a_supervisor_of_many_runs() {
    let Some(dir) = role::called_for(ROLE) else { return };
    let home = home(&dir);
    let day: Day = "2026-11-22".parse().expect("a date");
    let started: Vec<_> = (0..RUNS)
        .map(|number| {
            // Each process draws its own ids. If an id is taken, another one is drawn.
            let roll = u64::from(std::process::id()) << 16 | number;
            let mut run = home.create_run(&day, roll, &plan()).expect("a run");
            run.journal.append(Moment(1), &[Record::RunStarted]).expect("an entry");
            run
        })
        .collect();
    fs::write(dir.join(format!("ready-{}", std::process::id())), "").expect("it can be written");
    wait_until("the file `go` exists", || dir.join("go").exists());
    for mut run in started {
        let finished = Record::RunFinished { outcome: Outcome::DONE };
        run.journal.append(Moment(2), &[finished]).expect("an entry");
        let mut ledger = Ledger::open(&home, WAIT).expect("a ledger");
        // After a timeout the next reader updates the entry, as with a real supervisor.
        let _ = ledger.upsert(&LedgerEntry::read(&run.dir));
    }
}

#[test]
fn twenty_processes_store_two_hundred_runs_once_each() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let home = home(dir.path());
    let mut processes: Vec<Child> = (0..PROCESSES).map(|_| start_process(dir.path())).collect();
    let ready_count = || {
        let files = fs::read_dir(dir.path()).expect("it can be read").flatten();
        files.filter(|file| file.file_name().to_string_lossy().starts_with("ready-")).count() as u64
    };
    wait_until("all processes are ready", || ready_count() == PROCESSES);
    fs::write(dir.path().join("go"), "").expect("it can be written");
    let mut running = PROCESSES;
    while running > 0 {
        // A concurrent reader never lists a run twice.
        count_listed_runs(&home);
        processes.retain_mut(|process| match process.try_wait().expect("it can be waited for") {
            Some(status) => {
                assert!(status.success(), "{status}");
                false
            }
            None => true,
        });
        running = processes.len() as u64;
    }
    assert_eq!(count_listed_runs(&home), PROCESSES * RUNS);
    let mut differences = Vec::new();
    let ledger = Ledger::open(&home, WAIT).expect("a ledger");
    ledger.verify(|difference| differences.push(difference)).expect("it is compared");
    assert!(differences.is_empty(), "{differences:?}");
}

fn start_process(dir: &Path) -> Child {
    role::call(ROLE, dir, "").stdout(Stdio::null()).spawn().expect("a process")
}

fn count_listed_runs(home: &Home) -> u64 {
    let mut ledger = Ledger::open(home, WAIT).expect("a ledger");
    // After a timeout, the reader lists the stored entries.
    let _ = ledger.catch_up();
    let runs = ledger.runs(&RunFilter::default()).expect("the runs");
    let ids: BTreeSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids.len(), runs.len(), "a run is listed twice");
    runs.len() as u64
}

fn wait_until(description: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "waited without success until {description}");
        thread::sleep(Duration::from_millis(5));
    }
}

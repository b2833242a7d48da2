//! Tests a ledger that is missing, damaged, locked, of another version, or used by many processes at once.

use super::*;
use crate::DatabaseError;
use std::sync::Barrier;
use std::thread;

fn ledger_path(home: &Home) -> std::path::PathBuf {
    Ledger::path_in(home)
}

/// Returns a home whose ledger contains one run.
fn home_with_ledger() -> (tempfile::TempDir, Home) {
    let (dir, home) = Home::temporary();
    run(&home, 1, &complete_run());
    drop(up_to_date_ledger(&home));
    (dir, home)
}

#[test]
fn ledger_files_are_private() {
    let (_dir, home) = Home::temporary();
    run(&home, 1, &complete_run());
    let _ledger = up_to_date_ledger(&home);
    for entry in fs::read_dir(home.path()).expect("a home") {
        let entry = entry.expect("an entry");
        if entry.file_name().to_string_lossy().starts_with("ledger") {
            let mode = entry.metadata().expect("there").permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{entry:?}");
        }
    }
}

#[test]
fn readers_and_a_writer_do_not_wait_for_each_other() {
    let (_dir, home) = Home::temporary();
    let ledger = open(&home);
    let mode: String =
        ledger.database.db.pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("it has one");
    assert_eq!(mode, "wal");
    let check: String = ledger
        .database
        .db
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .expect("it is checked");
    assert_eq!(check, "ok");
}

#[test]
fn detects_and_rebuilds_damaged_ledger() {
    let (_dir, home) = Home::temporary();
    let one = run(&home, 1, &complete_run());
    drop(up_to_date_ledger(&home));
    let path = ledger_path(&home);
    let whole = fs::read(&path).expect("a ledger");
    let drop_tables = |path: &Path| {
        let db = rusqlite::Connection::open(path).expect("a database");
        db.execute_batch("DROP TABLE runs").expect("it is dropped");
    };
    let set_old_version = |path: &Path| {
        let db = rusqlite::Connection::open(path).expect("a database");
        db.pragma_update(None, "user_version", 0).expect("it is set");
    };
    type Damage<'a> = (&'static str, &'a dyn Fn(&Path));
    let damages: [Damage<'_>; 6] = [
        ("empty", &|path| fs::write(path, "").expect("it is written")),
        ("garbage", &|path| fs::write(path, "no database".repeat(500)).expect("it is written")),
        ("cut short", &|path| {
            let file = OpenOptions::new().write(true).open(path).expect("it is there");
            file.set_len(5_000).expect("it is cut");
        }),
        ("overwritten in the middle", &|path| {
            let mut bytes = fs::read(path).expect("it is there");
            bytes[4_096..].fill(0x5a);
            fs::write(path, bytes).expect("it is written");
        }),
        ("without its tables", &drop_tables),
        ("of an older version", &set_old_version),
    ];
    for (name, damage) in damages {
        fs::write(&path, &whole).expect("it is written");
        damage(&path);
        let result = Ledger::open(&home, WAIT).and_then(|mut ledger| {
            ledger.catch_up()?;
            ledger.runs(&RunFilter::default())
        });
        assert!(
            matches!(result, Err(LedgerError::Database(DatabaseError::Damaged { .. }))),
            "{name}: {result:?}"
        );
        Ledger::set_aside(&home).expect("it is set aside");
        let mut ledger = up_to_date_ledger(&home);
        assert_eq!(all(&mut ledger).len(), 1, "{name}");
        assert_eq!(differences(&ledger), [""; 0], "{name}");
    }
    assert!(one.dir.journal_path().exists());
}

#[test]
fn rebuilt_ledger_has_only_existing_runs() {
    let (_dir, home) = home_with_ledger();
    let later: Day = "2026-01-02".parse().expect("a date");
    let gone = home.create_run(&later, 2, &plan()).expect("a run");
    let mut ledger = up_to_date_ledger(&home);
    ledger.transaction(|db| db.execute_batch("UPDATE spend SET run = 99")).expect("it is damaged");
    fs::remove_dir_all(gone.dir.path().parent().expect("a day")).expect("it is removed");
    assert!(differences(&ledger).iter().any(|line| line.contains("spending of no run")));
    let rebuilt = ledger.rebuild().expect("it is rebuilt");
    assert_eq!(rebuilt, CatchUpStats { derived: 1, removed: 1 });
    assert_eq!(differences(&ledger), [""; 0]);
    let costs = ledger.costs_by_quarter(None).expect("the costs");
    let sum = costs.iter().fold(Usd::ZERO, |sum, row| sum + row.spend.cost);
    assert_eq!((sum, all(&mut ledger).len()), (cents(25), 1));
}

#[test]
fn leaves_newer_ledger_alone() {
    let (_dir, home) = home_with_ledger();
    let db = rusqlite::Connection::open(ledger_path(&home)).expect("a database");
    db.pragma_update(None, "user_version", 99).expect("it is set");
    drop(db);
    let error = Ledger::open(&home, WAIT).expect_err("it is newer");
    assert!(matches!(error, LedgerError::Database(DatabaseError::Newer { .. })), "{error}");
    // A reader can use a temporary ledger instead.
    let mut temporary = Ledger::temporary(&home).expect("there is room");
    temporary.catch_up().expect("it is brought up to date");
    assert_eq!(all(&mut temporary).len(), 1);
}

#[test]
fn locked_ledger_fails_only_writes() {
    let (_dir, home) = home_with_ledger();
    let other = rusqlite::Connection::open(ledger_path(&home)).expect("a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("it is locked");
    let mut ledger = Ledger::open(&home, Duration::from_millis(1)).expect("reading continues");
    assert_eq!(all(&mut ledger).len(), 1);
    let two = run(&home, 2, &complete_run());
    let error = ledger.upsert(&LedgerEntry::read(&two.dir)).expect_err("it is locked");
    assert!(matches!(error, LedgerError::Database(DatabaseError::Locked { .. })), "{error}");
    drop(other);
    ledger.upsert(&LedgerEntry::read(&two.dir)).expect("it is written");
}

#[test]
fn stores_two_hundred_concurrent_runs_once_each() {
    let (_dir, home) = Home::temporary();
    let runs: Vec<Vec<NewRun>> = (0..20)
        .map(|process| (0..10).map(|index| run(&home, process * 100 + index, &started(1, 0))).collect())
        .collect();
    let barrier = Barrier::new(runs.len());
    thread::scope(|scope| {
        for runs in runs {
            let (home, barrier) = (&home, &barrier);
            scope.spawn(move || {
                barrier.wait();
                // There is no ledger yet: one of the threads creates it.
                let mut ledger = open(home);
                for mut run in runs {
                    append(&mut run, &finished(1_000, 20));
                    ledger.upsert(&LedgerEntry::read(&run.dir)).expect("it is written");
                }
            });
        }
    });
    let mut ledger = open(&home);
    assert_eq!(all(&mut ledger).len(), 200);
    assert_eq!(differences(&ledger), [""; 0]);
    let leftovers: Vec<_> = fs::read_dir(home.path())
        .expect("a home")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".new"))
        .collect();
    assert_eq!(leftovers, [""; 0]);
}

#[test]
fn removes_temporary_files_of_killed_writers() {
    let (_dir, home) = Home::temporary();
    // No process has a PID this large.
    let leftovers =
        ["", "-wal", "-shm"].map(|end| home.path().join(format!(".ledger.sqlite3.2147483646-0.new{end}")));
    let live = home.path().join(format!(".ledger.sqlite3.{}-99.new", std::process::id()));
    leftovers.iter().chain([&live]).for_each(|path| fs::write(path, "half").expect("it is written"));
    drop(up_to_date_ledger(&home));
    assert!(leftovers.iter().all(|path| !path.exists()) && live.exists());
}

#[test]
fn readers_see_whole_runs_while_writers_write() {
    let (_dir, home) = Home::temporary();
    let runs: Vec<NewRun> = (0..4).map(|roll| run(&home, roll, &started(1, 0))).collect();
    drop(up_to_date_ledger(&home));
    thread::scope(|scope| {
        let writers: Vec<_> = runs
            .into_iter()
            .map(|mut run| {
                let home = &home;
                scope.spawn(move || {
                    let mut ledger = open(home);
                    for attempt in 1..40_u32 {
                        let base = u64::from(attempt) * 100;
                        append(&mut run, &overloaded(attempt, base, 5));
                        append(&mut run, &started(attempt + 1, base + 5));
                        ledger.upsert(&LedgerEntry::read(&run.dir)).expect("it is written");
                    }
                })
            })
            .collect();
        let mut ledger = open(&home);
        while writers.iter().any(|writer| !writer.is_finished()) {
            for run in ledger.runs(&RunFilter::default()).expect("the runs") {
                let entry = ledger.entry(&run.id).expect("it can be queried").expect("it has an entry");
                assert_eq!(entry.run.attempts as usize, entry.attempts.len());
                let costs = entry.spend.values().map(|spend| spend.cost);
                assert_eq!(costs.fold(Usd::ZERO, |sum, cost| sum + cost), entry.run.cost.0);
            }
        }
    });
    assert_eq!(differences(&open(&home)), [""; 0]);
}

#[test]
fn unusable_path_is_an_error() {
    let (_dir, home) = Home::temporary();
    fs::create_dir(ledger_path(&home)).expect("it is made");
    let error = Ledger::open(&home, WAIT).expect_err("it is a directory");
    assert!(
        matches!(
            error,
            LedgerError::Database(DatabaseError::Refused { .. })
                | LedgerError::Database(DatabaseError::Damaged { .. })
        ),
        "{error}"
    );
}

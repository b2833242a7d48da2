use super::*;
use crate::database::{JudgeKind, Queued, QueuedEvent};
use longhaul_core::Moment;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Instant;
use std::{env, thread};
use tempfile::TempDir;

const CHILD: &str = "LONGHAUL_TEST_ENQUEUE_IN";

fn place() -> (TempDir, LearningPaths) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = LearningPaths::in_home(dir.path());
    (dir, place)
}

fn open(place: &LearningPaths) -> LearningDb {
    LearningDb::open(place).expect("a database")
}

fn queued(transcript: &str) -> Queued {
    Queued {
        project: "/home/demo/shop".into(),
        session: Some("0d9c".to_owned()),
        transcript: transcript.into(),
        event: QueuedEvent::SessionEnd,
        reason: Some("other".to_owned()),
        judge: JudgeKind::Api,
        destination: "https://api.example".to_owned(),
    }
}

fn transcripts(place: &LearningPaths) -> Vec<String> {
    let learning = open(place);
    let known = learning.known(|db| {
        let mut statement = db.prepare("SELECT transcript FROM queue ORDER BY transcript")?;
        statement.query_map([], |row| row.get(0))?.collect()
    });
    known.expect("a queue")
}

#[test]
fn only_its_owner_can_read_it() {
    let (_dir, place) = place();
    open(&place).enqueue(Moment(1), &queued("a")).expect("it is queued");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(place.dir()), 0o700);
    for end in ["", "-wal", "-shm"] {
        assert_eq!(mode(&with_end(&place.database(), end)), 0o600, "{end}");
    }
}

#[test]
fn a_damaged_one_is_set_aside_and_named() {
    let whole = |place: &LearningPaths| {
        open(place).enqueue(Moment(1), &queued("a")).expect("it is queued");
        open(place).checkpoint().expect("it is tidied");
        fs::read(place.database()).expect("a file")
    };
    type Damage = fn(Vec<u8>) -> Vec<u8>;
    let ways: &[(&str, Damage)] = &[
        ("something else", |_| b"not a database at all, but some text of somebody else's".to_vec()),
        ("nothing", |_| Vec::new()),
        ("another database", |_| {
            let mut db = Connection::open_in_memory().expect("a database");
            db.execute_batch("CREATE TABLE mine (x)").expect("a table");
            db.serialize("main").expect("its bytes").to_vec()
        }),
        ("without its second page", |mut bytes| {
            bytes[4096..8192].fill(0x5a);
            bytes
        }),
        ("cut", |bytes| bytes[..bytes.len() / 2].to_vec()),
    ];
    for (path, damage) in ways {
        let (_dir, place) = place();
        let found = damage(whole(&place));
        fs::write(place.database(), &found).expect("a file");
        for end in BESIDE {
            drop(fs::remove_file(with_end(&place.database(), end)));
        }

        open(&place).enqueue(Moment(2), &queued("b")).expect("it is queued");
        assert_eq!(transcripts(&place), ["b"], "{path}");
        let aside = LearningDb::all_set_aside(&place);
        assert_eq!(aside, [damaged(&place.database(), 1)], "{path}");
        assert_eq!(fs::read(&aside[0]).expect("a file"), found, "{path}");
        assert!(open(&place).set_aside().is_none(), "{path}");
    }
}

#[test]
fn whoever_finds_it_damaged_learns_where_it_is_kept() {
    let (_dir, place) = place();
    DirBuilder::new().recursive(true).create(place.dir()).expect("a directory");
    for number in 1..=2 {
        fs::write(place.database(), "no database").expect("a file");
        let learning = open(&place);
        assert_eq!(learning.set_aside(), Some(&*damaged(&place.database(), number)));
    }
    assert_eq!(LearningDb::all_set_aside(&place).len(), 2);
}

#[test]
fn of_many_that_find_it_damaged_one_sets_it_aside() {
    let (_dir, place) = place();
    DirBuilder::new().recursive(true).create(place.dir()).expect("a directory");
    fs::write(place.database(), "no database").expect("a file");
    thread::scope(|scope| {
        for number in 0..16 {
            let place = &place;
            scope.spawn(move || {
                let learning = open(place);
                learning.enqueue(Moment(number), &queued(&format!("{number:02}"))).expect("it is queued");
            });
        }
    });
    assert_eq!(transcripts(&place).len(), 16);
    assert_eq!(LearningDb::all_set_aside(&place).len(), 1);
}

#[test]
fn a_log_without_its_database_is_not_taken_for_that_of_a_new_one() {
    let (_dir, place) = place();
    open(&place).enqueue(Moment(1), &queued("a")).expect("it is queued");
    fs::remove_file(place.database()).expect("a file");
    open(&place).enqueue(Moment(2), &queued("b")).expect("it is queued");
    assert_eq!(transcripts(&place), ["b"]);
    assert!(with_end(&damaged(&place.database(), 1), "-wal").exists());
}

#[test]
fn a_newer_one_is_refused_and_left_alone() {
    let (_dir, place) = place();
    let learning = open(&place);
    learning.known(|db| db.pragma_update(None, "user_version", VERSION + 1)).expect("a version");
    let error = LearningDb::open(&place).expect_err("a newer one");
    assert!(matches!(error, LearningError::Newer { .. }), "{error}");
    assert_eq!(error.hint(), "update longhaul");
    assert!(LearningDb::all_set_aside(&place).is_empty());
}

#[test]
fn what_is_no_damage_is_not_called_so() {
    let (_dir, place) = place();
    let mut learning = open(&place);
    let twice = learning.change(|db| {
        db.execute("INSERT INTO judged (row) VALUES (1)", [])?;
        db.execute("INSERT INTO judged (row) VALUES (1)", [])
    });
    assert!(matches!(twice, Err(LearningError::Refused { .. })), "{twice:?}");
    let wrong = learning.known(|db| db.execute("SELECT nothing FROM nowhere", []));
    assert!(matches!(wrong, Err(LearningError::Damaged { .. })), "{wrong:?}");
    // It is looked at before it is set aside.
    assert!(LearningDb::open_anew(&place).expect("a database").set_aside().is_none());
}

#[test]
fn a_full_disk_loses_nothing_that_was_queued() {
    let (_dir, place) = place();
    let learning = open(&place);
    learning.enqueue(Moment(1), &queued("a")).expect("it is queued");
    let pages: i64 =
        learning.known(|db| db.pragma_query_value(None, "page_count", |row| row.get(0))).expect("a number");
    learning
        .known(|db| db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())))
        .expect("a limit");
    let mut refused = None;
    for _ in 0..200 {
        refused = learning.enqueue(Moment(2), &queued("b")).err().or(refused);
    }
    let refused = refused.expect("no room");
    assert!(matches!(refused, LearningError::Refused { .. }), "{refused}");
    assert!(transcripts(&place).contains(&"a".to_owned()));
    assert!(LearningDb::all_set_aside(&place).is_empty());
}

#[test]
fn no_hook_puts_the_log_into_the_database() {
    let (_dir, place) = place();
    // More than SQLite puts off by itself, a thousand pages.
    let learning = open(&place);
    for number in 0..600 {
        learning.enqueue(Moment(number), &queued("a")).expect("it is queued");
    }
    let wal = || fs::metadata(with_end(&place.database(), "-wal")).expect("a file").len();
    assert!(wal() > 1_000 * 4_096, "{}", wal());
    drop(learning);
    open(&place).checkpoint().expect("it is tidied");
    assert!(wal() < 10_000, "{}", wal());
    assert_eq!(transcripts(&place).len(), 600);
}

#[test]
fn tidying_waits_for_nobody() {
    let (_dir, place) = place();
    let (learning, other) = (open(&place), open(&place));
    for begin in ["BEGIN", "BEGIN IMMEDIATE"] {
        let reads = |db: &Connection| {
            db.execute_batch(begin)?;
            db.query_row("SELECT count(*) FROM queue", [], |_| Ok(()))
        };
        other.known(reads).expect("it reads");
        if begin == "BEGIN" {
            learning.enqueue(Moment(1), &queued("a")).expect("it is queued");
        }
        let started = Instant::now();
        learning.checkpoint().expect("that is no error");
        assert!(started.elapsed() < WAIT / 2, "{begin}");
        other.known(|db| db.execute_batch("COMMIT")).expect("it is at its end");
    }
    // Others are still waited for when something is written.
    let waits: i64 =
        learning.known(|db| db.pragma_query_value(None, "busy_timeout", |row| row.get(0))).expect("a number");
    assert_eq!(u128::try_from(waits), Ok(WAIT.as_millis()));
}

/// No test by itself: what each process of the next one does.
#[test]
fn enqueues_for_another_test() {
    let Ok(home) = env::var(CHILD) else { return };
    let place = LearningPaths::in_home(Path::new(&home));
    let name = std::process::id().to_string();
    open(&place).enqueue(Moment(1), &queued(&name)).expect("it is queued");
}

#[test]
fn fifty_processes_that_find_no_database_queue_each_once() {
    let (dir, place) = place();
    let this = env::current_exe().expect("this program");
    let children: Vec<_> = (0..50)
        .map(|_| {
            let mut command = Command::new(&this);
            command.args(["--exact", "learning::open::tests::enqueues_for_another_test"]);
            command.env(CHILD, dir.path()).stdout(std::process::Stdio::null()).spawn().expect("a process")
        })
        .collect();
    let mut names: Vec<String> = children.iter().map(|child| child.id().to_string()).collect();
    for mut child in children {
        assert!(child.wait().expect("its end").success());
    }
    names.sort();
    assert_eq!(transcripts(&place), names);
}

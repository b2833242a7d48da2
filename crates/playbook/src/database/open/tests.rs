use super::*;
use crate::database::{JudgeKind, Queued, QueuedEvent};
use longhaul_core::Moment;
use std::fs::DirBuilder;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Instant;
use std::{env, thread};

const CHILD: &str = "LONGHAUL_TEST_ENQUEUE_IN";

fn open(paths: &LearningPaths) -> LearningDb {
    LearningDb::open(paths).expect("a database")
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

fn transcripts(paths: &LearningPaths) -> Vec<String> {
    let learning = open(paths);
    let transcripts = learning.database.query(|db| {
        let mut statement = db.prepare("SELECT transcript FROM queue ORDER BY transcript")?;
        statement.query_map([], |row| row.get(0))?.collect()
    });
    transcripts.expect("a queue")
}

#[test]
fn only_owner_can_read_files() {
    let (_dir, paths) = LearningPaths::temporary();
    open(&paths).enqueue(Moment(1), &queued("a")).expect("it is queued");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(paths.dir()), 0o700);
    for end in ["", "-wal", "-shm"] {
        assert_eq!(mode(&with_suffix(&paths.database(), end)), 0o600, "{end}");
    }
}

#[test]
fn moves_damaged_database_aside() {
    let intact = |paths: &LearningPaths| {
        open(paths).enqueue(Moment(1), &queued("a")).expect("it is queued");
        open(paths).checkpoint().expect("the checkpoint succeeds");
        fs::read(paths.database()).expect("a file")
    };
    type Damage = fn(Vec<u8>) -> Vec<u8>;
    let kinds_of_damage: &[(&str, Damage)] = &[
        ("a text", |_| b"not a database at all, but a text of another program".to_vec()),
        ("empty", |_| Vec::new()),
        ("another database", |_| {
            let mut db = Connection::open_in_memory().expect("a database");
            db.execute_batch("CREATE TABLE mine (x)").expect("a table");
            db.serialize("main").expect("its bytes").to_vec()
        }),
        ("without its second page", |mut bytes| {
            bytes[4096..8192].fill(0x5a);
            bytes
        }),
        ("truncated", |bytes| bytes[..bytes.len() / 2].to_vec()),
    ];
    for (kind, damage) in kinds_of_damage {
        let (_dir, paths) = LearningPaths::temporary();
        let damaged_bytes = damage(intact(&paths));
        fs::write(paths.database(), &damaged_bytes).expect("a file");
        for end in SIDE_FILES {
            drop(fs::remove_file(with_suffix(&paths.database(), end)));
        }

        open(&paths).enqueue(Moment(2), &queued("b")).expect("it is queued");
        assert_eq!(transcripts(&paths), ["b"], "{kind}");
        let copies = LearningDb::damaged_copies(&paths);
        assert_eq!(copies, [damaged_path(&paths.database(), 1)], "{kind}");
        assert_eq!(fs::read(&copies[0]).expect("a file"), damaged_bytes, "{kind}");
        assert!(open(&paths).damaged_copy().is_none(), "{kind}");
    }
}

#[test]
fn commands_find_damage_behind_the_schema() {
    let (_dir, paths) = LearningPaths::temporary();
    let learning = open(&paths);
    let empty = usize::try_from(fs::metadata(paths.database()).expect("a file").len()).expect("it is small");
    for number in 0..200 {
        learning.enqueue(Moment(number), &queued("a")).expect("it is queued");
    }
    learning.checkpoint().expect("the checkpoint succeeds");
    drop(learning);
    let mut bytes = fs::read(paths.database()).expect("a file");
    bytes[empty..].fill(0x5a);
    fs::write(paths.database(), bytes).expect("a file");
    assert!(open(&paths).status(Moment(0), 0).is_err(), "hooks read only what they need");
    let learning = LearningDb::open_existing(&paths).expect("it is replaced").expect("it exists");
    assert_eq!(learning.damaged_copy(), Some(&*damaged_path(&paths.database(), 1)));
    assert!(learning.status(Moment(0), 0).is_ok());
}

#[test]
fn reports_path_of_damaged_database() {
    let (_dir, paths) = LearningPaths::temporary();
    DirBuilder::new().recursive(true).create(paths.dir()).expect("a directory");
    for number in 1..=2 {
        fs::write(paths.database(), "no database").expect("a file");
        let learning = open(&paths);
        assert_eq!(learning.damaged_copy(), Some(&*damaged_path(&paths.database(), number)));
    }
    assert_eq!(LearningDb::damaged_copies(&paths).len(), 2);
}

#[test]
fn lists_damaged_copies_with_gaps() {
    let (_dir, paths) = LearningPaths::temporary();
    assert!(LearningDb::damaged_copies(&paths).is_empty());
    drop(open(&paths));
    let copy = |number| damaged_path(&paths.database(), number);
    for file in [copy(10), copy(2), with_suffix(&copy(3), "-wal"), paths.dir().join("other.damaged-4")] {
        fs::write(file, "no database").expect("a file");
    }
    assert_eq!(LearningDb::damaged_copies(&paths), [copy(2), copy(10)]);
}

#[test]
fn exactly_one_process_moves_damaged_database_aside() {
    let (_dir, paths) = LearningPaths::temporary();
    DirBuilder::new().recursive(true).create(paths.dir()).expect("a directory");
    fs::write(paths.database(), "no database").expect("a file");
    thread::scope(|scope| {
        for number in 0..16 {
            let paths = &paths;
            scope.spawn(move || {
                let learning = open(paths);
                learning.enqueue(Moment(number), &queued(&format!("{number:02}"))).expect("it is queued");
            });
        }
    });
    assert_eq!(transcripts(&paths).len(), 16);
    assert_eq!(LearningDb::damaged_copies(&paths).len(), 1);
}

#[test]
fn new_database_ignores_orphaned_log() {
    let (_dir, paths) = LearningPaths::temporary();
    open(&paths).enqueue(Moment(1), &queued("a")).expect("it is queued");
    fs::remove_file(paths.database()).expect("a file");
    open(&paths).enqueue(Moment(2), &queued("b")).expect("it is queued");
    assert_eq!(transcripts(&paths), ["b"]);
    assert!(with_suffix(&damaged_path(&paths.database(), 1), "-wal").exists());
}

#[test]
fn rejects_newer_version_unchanged() {
    let (_dir, paths) = LearningPaths::temporary();
    let learning = open(&paths);
    learning.database.query(|db| db.pragma_update(None, "user_version", VERSION + 1)).expect("a version");
    let error = LearningDb::open(&paths).expect_err("a newer one");
    assert!(matches!(error, DatabaseError::Newer { .. }), "{error}");
    assert_eq!(error.hint(), "update longhaul");
    assert!(LearningDb::damaged_copies(&paths).is_empty());
}

#[test]
fn distinguishes_damage_from_other_errors() {
    let (_dir, paths) = LearningPaths::temporary();
    let mut learning = open(&paths);
    let twice = learning.database.change(|db| {
        db.execute("INSERT INTO judged (row) VALUES (1)", [])?;
        db.execute("INSERT INTO judged (row) VALUES (1)", [])
    });
    assert!(matches!(twice, Err(DatabaseError::Refused { .. })), "{twice:?}");
    let wrong = learning.database.query(|db| db.execute("SELECT nothing FROM nowhere", []));
    assert!(matches!(wrong, Err(DatabaseError::Damaged { .. })), "{wrong:?}");
    // The database is verified before it is moved aside.
    assert!(LearningDb::replace_if_damaged(&paths).expect("a database").damaged_copy().is_none());
}

#[test]
fn full_disk_keeps_queued_items() {
    let (_dir, paths) = LearningPaths::temporary();
    let learning = open(&paths);
    learning.enqueue(Moment(1), &queued("a")).expect("it is queued");
    let pages: i64 = learning
        .database
        .query(|db| db.pragma_query_value(None, "page_count", |row| row.get(0)))
        .expect("a number");
    learning
        .database
        .query(|db| db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())))
        .expect("a limit");
    let mut refused = None;
    for _ in 0..200 {
        refused = learning.enqueue(Moment(2), &queued("b")).err().or(refused);
    }
    let refused = refused.expect("no room");
    assert!(matches!(refused, DatabaseError::Refused { .. }), "{refused}");
    assert!(transcripts(&paths).contains(&"a".to_owned()));
    assert!(LearningDb::damaged_copies(&paths).is_empty());
}

#[test]
fn enqueue_never_checkpoints() {
    let (_dir, paths) = LearningPaths::temporary();
    // More than the thousand pages after which SQLite checkpoints by default.
    let learning = open(&paths);
    for number in 0..600 {
        learning.enqueue(Moment(number), &queued("a")).expect("it is queued");
    }
    let wal = || fs::metadata(with_suffix(&paths.database(), "-wal")).expect("a file").len();
    assert!(wal() > 1_000 * 4_096, "{}", wal());
    drop(learning);
    open(&paths).checkpoint().expect("the checkpoint succeeds");
    assert!(wal() < 10_000, "{}", wal());
    assert_eq!(transcripts(&paths).len(), 600);
}

#[test]
fn checkpoint_does_not_wait() {
    let (_dir, paths) = LearningPaths::temporary();
    let (learning, other) = (open(&paths), open(&paths));
    for begin in ["BEGIN", "BEGIN IMMEDIATE"] {
        let reads = |db: &Connection| {
            db.execute_batch(begin)?;
            db.query_row("SELECT count(*) FROM queue", [], |_| Ok(()))
        };
        other.database.query(reads).expect("it reads");
        if begin == "BEGIN" {
            learning.enqueue(Moment(1), &queued("a")).expect("it is queued");
        }
        let started = Instant::now();
        learning.checkpoint().expect("the checkpoint succeeds");
        assert!(started.elapsed() < BUSY_TIMEOUT / 2, "{begin}");
        other.database.query(|db| db.execute_batch("COMMIT")).expect("the transaction ends");
    }
    // Writes still wait for other connections.
    let waits: i64 = learning
        .database
        .query(|db| db.pragma_query_value(None, "busy_timeout", |row| row.get(0)))
        .expect("a number");
    assert_eq!(u128::try_from(waits), Ok(BUSY_TIMEOUT.as_millis()));
}

/// Runs in each process that the next test starts. Does nothing on its own.
#[test]
fn enqueues_for_another_test() {
    let Ok(home) = env::var(CHILD) else { return };
    let paths = LearningPaths::in_home(Path::new(&home));
    let name = std::process::id().to_string();
    open(&paths).enqueue(Moment(1), &queued(&name)).expect("it is queued");
}

#[test]
fn fifty_processes_enqueue_without_database() {
    let (dir, paths) = LearningPaths::temporary();
    let this = env::current_exe().expect("this program");
    let children: Vec<_> = (0..50)
        .map(|_| {
            let mut command = Command::new(&this);
            command.args(["--exact", "database::open::tests::enqueues_for_another_test"]);
            command.env(CHILD, dir.path()).stdout(std::process::Stdio::null()).spawn().expect("a process")
        })
        .collect();
    let mut names: Vec<String> = children.iter().map(|child| child.id().to_string()).collect();
    for mut child in children {
        assert!(child.wait().expect("its end").success());
    }
    names.sort();
    assert_eq!(transcripts(&paths), names);
}

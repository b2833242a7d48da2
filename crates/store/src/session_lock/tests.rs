use super::*;
use crate::Placement;

fn acquire(home: &Home, session: &str, run: &str) -> Result<SessionLock, StoreError> {
    SessionLock::acquire(home, "claude", &SessionId::from(session), &RunId::from(run))
}

#[test]
fn error_names_the_holder() {
    let (_dir, home) = Home::temporary();
    let lock = acquire(&home, "s", "longername").expect("free");
    let error = acquire(&home, "s", "bcdfgh").expect_err("busy");
    assert_eq!(error.to_string(), "cannot lock session s: run longername is working on it");
    acquire(&home, "other", "bcdfgh").expect("another session");
    SessionLock::acquire(&home, "codex", &SessionId::from("s"), &RunId::from("k")).expect("another agent");
    drop(lock);
    let lock = acquire(&home, "s", "bcdfgh").expect("free again");
    assert_eq!(fs::read_to_string(&lock.path).expect("text"), "bcdfgh\n");
    let path = lock.path.clone();
    drop(lock);
    assert!(!path.exists());
}

#[test]
fn dead_holder_blocks_no_run() {
    let (_dir, home) = Home::temporary();
    let path = acquire(&home, "s", "dead").expect("free").path.clone();
    // A killed process leaves its id in the file.
    fs::write(&path, "a longer name than that of the next run\n").expect("written");
    let lock = acquire(&home, "s", "bcdfgh").expect("free");
    assert_eq!(fs::read_to_string(&lock.path).expect("text"), "bcdfgh\n");
}

#[test]
fn left_session_belongs_to_its_unfinished_run() {
    let (_dir, home) = Home::temporary();
    let day = "2026-01-01".parse().expect("a date");
    let run = home.create_run(&day, 1, &crate::plan::tests::plan()).expect("a run").dir;
    acquire(&home, "s", run.id().as_str()).expect("free").leave();
    let error = acquire(&home, "s", "bcdfgh").expect_err("it is left");
    assert!(matches!(error, StoreError::SessionOrphaned { .. }), "{error}");
    let orphan = |run: &str| SessionLock::orphan(&home, "claude", &SessionId::from("s"), &RunId::from(run));
    assert_eq!((orphan("bcdfgh"), orphan(run.id().as_str())), (Some(run.id().clone()), None));
    let lock = acquire(&home, "s", run.id().as_str()).expect("its own run continues");
    drop(lock);
    acquire(&home, "s", "bcdfgh").expect("free again");
}

#[test]
fn only_locks_of_finished_runs_without_supervisor_are_unused() {
    let (_dir, home) = Home::temporary();
    let day = "2026-01-01".parse().expect("a date");
    let unfinished = home.create_run(&day, 1, &crate::plan::tests::plan()).expect("a run");
    let kept = acquire(&home, "unfinished", unfinished.dir.id().as_str()).expect("free");
    fs::copy(&kept.path, kept.path.with_file_name("orphaned.lock")).expect("copied");
    let dir = kept.path.parent().expect("a directory");
    for (name, holder) in [("finished", "gone\n"), ("unnamed", "")] {
        fs::write(dir.join(name).with_extension("lock"), holder).expect("written");
    }
    let held = acquire(&home, "held", "gone").expect("free");
    let mut unused: Vec<_> = unused_locks(&home).map(|lock| lock.path.clone()).collect();
    unused.sort_unstable();
    assert_eq!(unused, [dir.join("finished.lock"), dir.join("unnamed.lock")]);
    assert!(unused.iter().all(|path| !path.exists()), "they are removed");
    assert!(dir.join("orphaned.lock").exists() && held.path.exists());
}

/// A user may restore the files, and the agent of the run may still work.
#[test]
fn locks_of_a_run_without_plan_or_journal_are_kept() {
    let (_dir, home) = Home::temporary();
    let day = "2026-01-01".parse().expect("a date");
    let run = home.create_run(&day, 1, &crate::plan::tests::plan()).expect("a run").dir;
    let lock = acquire(&home, "s", run.id().as_str()).expect("free");
    let copy = lock.path.with_file_name("t.lock");
    fs::copy(&lock.path, &copy).expect("copied");
    fs::remove_file(run.plan_path()).expect("it exists");
    assert_eq!(unused_locks(&home).count(), 0);
    assert!(matches!(acquire(&home, "t", "k"), Err(StoreError::SessionOrphaned { .. })));
    fs::remove_file(run.journal_path()).expect("it exists");
    assert_eq!(unused_locks(&home).count(), 0);
    assert!(copy.exists());
    // Its session can be resumed, as the error about its journal says.
    acquire(&home, "t", "k").expect("no run can continue it");
}

#[test]
fn locks_of_a_run_on_an_unmounted_disk_are_kept() {
    let (dir, home) = Home::temporary();
    let (disk, unmounted) = (dir.path().join("disk"), dir.path().join("unmounted"));
    let placement = Placement { runs_dir: Some(disk.clone()), ..Placement::default() };
    let day = "2026-01-01".parse().expect("a date");
    let run = home.create_run_at(&placement, &day, 1, &crate::plan::tests::plan()).expect("a run").dir;
    acquire(&home, "s", run.id().as_str()).expect("free").leave();
    fs::rename(&disk, &unmounted).expect("the test owns it");
    assert_eq!(unused_locks(&home).count(), 0);
    fs::rename(&unmounted, &disk).expect("the test owns it");
    assert!(matches!(acquire(&home, "s", "k"), Err(StoreError::SessionOrphaned { .. })));
}

#[test]
fn error_allows_unnamed_holder() {
    let (_dir, home) = Home::temporary();
    let lock = acquire(&home, "s", "bcdfgh").expect("free");
    lock.file.set_len(0).expect("cut");
    let error = acquire(&home, "s", "k").expect_err("busy");
    assert!(matches!(error, StoreError::SessionBusy { holder: None, .. }));
}

#[test]
fn children_do_not_inherit_lock() {
    let (_dir, home) = Home::temporary();
    let lock = acquire(&home, "s", "bcdfgh").expect("free");
    let flags = rustix::io::fcntl_getfd(&lock.file).expect("flags");
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
}

#[test]
fn only_one_of_many_acquires_lock() {
    let (_dir, home) = Home::temporary();
    let holders = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    if let Ok(_lock) = acquire(&home, "s", "bcdfgh") {
                        let before = holders.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        assert_eq!(before, 0, "two holders at once");
                        std::thread::yield_now();
                        holders.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    }
                }
            });
        }
    });
}

#[test]
fn encodes_ids_as_file_names() {
    for (id, name) in [
        ("2f6c1f0e-9d1b-4c9e-8c57-0d4b8b6d6a11", "2f6c1f0e-9d1b-4c9e-8c57-0d4b8b6d6a11"),
        ("ses_A", "ses_%41"),
        ("../x", "%2e%2e%2fx"),
        ("", "%"),
        ("%", "%25"),
    ] {
        assert_eq!(file_name(id), name);
    }
    assert_eq!(file_name(&"x".repeat(5000)).len(), NAME_BYTES_MAX);
}

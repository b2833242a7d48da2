use super::*;
use std::fs;
use std::task::Poll;

fn run() -> (tempfile::TempDir, RunDir) {
    let home = tempfile::tempdir().expect("temporary directory");
    let dir = RunDir::at(home.path().join("bcdfgh")).expect("an id");
    let attempt = dir.create_attempt(1).expect("attempt");
    fs::write(dir.journal_path(), "").expect("journal");
    fs::write(attempt.stream_path(), "one\n").expect("stream");
    (home, dir)
}

const LOOK: Duration = Duration::from_secs(10);

#[test]
fn whatever_is_written_ends_a_silence() {
    let (_home, dir) = run();
    let mut stall = SilenceTimer::begin(OutputPosition::new(&dir));
    let mut check = |expected: u64| {
        stall.pass(LOOK, LOOK, OutputPosition::new(&dir));
        assert_eq!(stall.lasted(), Span::from_secs(expected));
    };
    check(10);
    check(20);
    let attempt = dir.attempt(1);
    for path in [attempt.stream_path(), attempt.stderr_path(), dir.journal_path()] {
        fs::write(path, "one\ntwo\n").expect("written");
        check(0);
        check(10);
    }
    let next = dir.create_attempt(2).expect("attempt");
    check(0);
    fs::write(attempt.stream_path(), "one\ntwo\nthree\n").expect("written");
    check(10);
    fs::write(next.stderr_path(), "one\n").expect("written");
    check(0);
}

#[test]
fn a_machine_that_slept_was_not_silent() {
    let (_home, dir) = run();
    let received = OutputPosition::new(&dir);
    let mut stall = SilenceTimer::begin(received);
    stall.pass(Duration::from_secs(8 * 3600), LOOK, received);
    assert_eq!(stall.lasted(), Span::from_secs(20));
    stall.pass(Duration::from_secs(3), LOOK, received);
    assert_eq!(stall.lasted(), Span::from_secs(23));
}

#[tokio::test]
async fn a_number_of_another_process_is_a_death() {
    let us = ProcessId { pid: process::id(), start_ticks: start_ticks(process::id()).expect("we live") };
    death_of(ProcessId { start_ticks: us.start_ticks + 1, ..us })
        .await
        .expect("somebody else has the number");
    death_of(ProcessId { pid: 0, start_ticks: 0 }).await.expect("nobody has the number");
    let mut living = Box::pin(death_of(us));
    let polled = std::future::poll_fn(|context| Poll::Ready(living.as_mut().poll(context))).await;
    assert!(polled.is_pending(), "we live");
}

#[tokio::test]
async fn a_run_without_a_process_is_left_at_once() {
    let (_home, dir) = run();
    let parting = keep(&dir, &RunMarker::unowned(), Span::from_hours(1), Span::ZERO).await.expect("watched");
    assert_eq!(parting, WatchdogExit::NoProcesses);
}

#[tokio::test]
async fn a_run_that_has_a_supervisor_is_left_to_it() {
    let (_home, dir) = run();
    let marker = RunMarker::unowned();
    let held = Journal::lock(&dir.journal_path()).expect("nobody has it");
    assert!(is_supervised(&dir).await.expect("it is there"));
    let stall = SilenceTimer::begin(OutputPosition::new(&dir));
    assert_eq!(end((&dir, &marker), &stall, Span::ZERO).await.expect("looked"), None);
    drop(held);
    assert!(!is_supervised(&dir).await.expect("it is there"));
    fs::write(dir.journal_path(), "\n").expect("journal");
    assert_eq!(end((&dir, &marker), &stall, Span::ZERO).await.expect("looked"), None, "somebody was there");
}

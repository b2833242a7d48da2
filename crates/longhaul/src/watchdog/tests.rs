use super::*;
use std::fs;
use std::task::Poll;

fn run() -> (tempfile::TempDir, RunDir) {
    let home = tempfile::tempdir().expect("temporary directory");
    let dir = RunDir::from_path(home.path().join("bcdfgh")).expect("an id");
    let attempt = dir.attempt(1).create().expect("attempt");
    fs::write(dir.journal_path(), "").expect("journal");
    fs::write(attempt.stream_path(), "one\n").expect("stream");
    (home, dir)
}

const POLL_INTERVAL: Duration = Duration::from_secs(10);

#[test]
fn any_output_ends_a_silence() {
    let (_home, dir) = run();
    let mut silence = SilenceTimer::start(OutputPosition::new(&dir));
    let mut check = |expected: u64| {
        silence.advance(POLL_INTERVAL, POLL_INTERVAL, OutputPosition::new(&dir));
        assert_eq!(silence.duration(), Span::from_secs(expected));
    };
    check(10);
    check(20);
    let attempt = dir.attempt(1);
    for path in [attempt.stream_path(), attempt.stderr_path(), dir.journal_path()] {
        fs::write(path, "one\ntwo\n").expect("written");
        check(0);
        check(10);
    }
    let next = dir.attempt(2).create().expect("attempt");
    check(0);
    fs::write(attempt.stream_path(), "one\ntwo\nthree\n").expect("written");
    check(10);
    fs::write(next.stderr_path(), "one\n").expect("written");
    check(0);
}

#[test]
fn sleep_of_the_machine_is_not_silence() {
    let (_home, dir) = run();
    let output = OutputPosition::new(&dir);
    let mut silence = SilenceTimer::start(output);
    silence.advance(Duration::from_secs(8 * 3600), POLL_INTERVAL, output);
    assert_eq!(silence.duration(), Span::from_secs(20));
    silence.advance(Duration::from_secs(3), POLL_INTERVAL, output);
    assert_eq!(silence.duration(), Span::from_secs(23));
}

#[tokio::test]
async fn a_reused_pid_counts_as_an_exit() {
    let this_process = ProcessId {
        pid: std::process::id(),
        start_ticks: start_ticks(std::process::id()).expect("this process is running"),
    };
    wait_for_exit(ProcessId { start_ticks: this_process.start_ticks + 1, ..this_process })
        .await
        .expect("another process has the PID");
    wait_for_exit(ProcessId { pid: 0, start_ticks: 0 }).await.expect("no process has the PID");
    let mut waiting = Box::pin(wait_for_exit(this_process));
    let polled = std::future::poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context))).await;
    assert!(polled.is_pending(), "this process is running");
}

#[tokio::test]
async fn exits_if_run_has_no_processes() {
    let (_home, dir) = run();
    watch_orphan(&dir, &RunMarker::unowned(), Span::from_hours(1), Span::ZERO).await.expect("watched");
}

#[tokio::test]
async fn does_not_stop_supervised_run() {
    let (_home, dir) = run();
    let marker = RunMarker::unowned();
    let lock = Journal::lock(&dir.journal_path()).expect("no process holds the lock");
    assert!(is_supervised(&dir).await.expect("the journal exists"));
    let silence = SilenceTimer::start(OutputPosition::new(&dir));
    assert!(!stop_orphan(&dir, &marker, &silence, Span::ZERO).await.expect("checked"));
    drop(lock);
    assert!(!is_supervised(&dir).await.expect("the journal exists"));
    fs::write(dir.journal_path(), "\n").expect("journal");
    let stopped = stop_orphan(&dir, &marker, &silence, Span::ZERO).await.expect("checked");
    assert!(!stopped, "the output has changed");
}

use super::{FLUSH, QUEUED_BYTES_MAX, QueuedEvents, Sink, Writer};
use crate::args::EventsDestination;
use expect_test::{Expect, expect};
use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

fn item(first: u64, count: u64, known: bool) -> QueuedEvents {
    let line = |seq| format!("{{\"run\":\"a\",\"seq\":{seq}}}\n").into_bytes();
    QueuedEvents { run: "a".to_owned(), first, lines: (first..first + count).map(line).collect(), known }
}

fn destination(name: &str) -> EventsDestination {
    EventsDestination::File(name.into())
}

fn file() -> (TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("events");
    (dir, path)
}

/// Writes these events to a file and returns the warning.
fn write_events(path: &Path, items: Vec<QueuedEvents>) -> Option<String> {
    let opened = File::options().read(true).append(true).create(true).open(path).expect("it can be made");
    let writer = Writer::start(&destination("events"), Sink::File(opened));
    items.into_iter().for_each(|item| writer.queue().push(item));
    writer.close()
}

fn check(path: &Path, expected: &Expect) {
    expected.assert_eq(&fs::read_to_string(path).expect("text"));
}

#[test]
fn writes_each_event_once() {
    let (_dir, path) = file();
    assert_eq!(write_events(&path, vec![item(1, 2, false)]), None);
    // Another supervisor knows all earlier events and writes those that are missing.
    assert_eq!(write_events(&path, vec![item(1, 1, true), item(2, 2, true), item(4, 1, false)]), None);
    check(
        &path,
        &expect![[r#"
            {"run":"a","seq":1}
            {"run":"a","seq":2}
            {"run":"a","seq":3}
            {"run":"a","seq":4}
        "#]],
    );
}

#[test]
fn writes_new_run_with_same_name_from_start() {
    let (_dir, path) = file();
    fs::write(&path, "{\"run\":\"a\",\"seq\":40}\n").expect("written");
    assert_eq!(write_events(&path, vec![item(1, 1, false)]), None);
    check(
        &path,
        &expect![[r#"
            {"run":"a","seq":40}
            {"run":"a","seq":1}
        "#]],
    );
}

#[test]
fn reports_gap_in_its_place() {
    let (_dir, path) = file();
    let warning = write_events(&path, vec![item(1, 1, false), item(4, 1, false)]);
    assert_eq!(
        warning.as_deref(),
        Some("2 events of the run could not be written to events; the run's journal.jsonl has them all")
    );
    check(
        &path,
        &expect![[r#"
            {"run":"a","seq":1}
            {"run":"a","seq":3,"omitted":2}
            {"run":"a","seq":4}
        "#]],
    );
}

#[test]
fn counts_events_of_failed_destination() {
    let full = File::options().write(true).open("/dev/full").expect("it is always there");
    let writer = Writer::start(&destination("full"), Sink::Stream(full));
    writer.queue().push(item(1, 3, false));
    let warning = writer.close().expect("nothing got there");
    assert!(
        warning.starts_with("3 events of the run could not be written to full: No space left"),
        "{warning}"
    );
}

#[test]
fn never_waits_for_reader() {
    let (reader, pipe) = std::io::pipe().expect("a pipe");
    let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
    let started = Instant::now();
    let writer = Writer::start(&destination("pipe"), Sink::Stream(pipe));
    let queue = writer.queue();
    let long = |first| QueuedEvents { lines: vec![vec![b' '; 1 << 20]], ..item(first, 0, false) };
    let count = 2 * (QUEUED_BYTES_MAX as u64 >> 20);
    (1..=count).for_each(|first| queue.push(long(first)));
    assert!(queue.shared.queued_bytes.load(std::sync::atomic::Ordering::Relaxed) <= QUEUED_BYTES_MAX);
    drop(queue);
    let warning = writer.close().expect("no one reads");
    assert_eq!(
        warning,
        "the last events of the run could not be written to pipe; the run's journal.jsonl has them all"
    );
    assert!(started.elapsed() < FLUSH * 4, "{:?}", started.elapsed());
    drop(reader);
}

use super::*;
use std::fs;
use tempfile::TempDir;

const MAX: u64 = 1 << 20;

fn file(content: &str) -> (TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("session.jsonl");
    fs::write(&path, content).expect("a file");
    (dir, path)
}

#[track_caller]
fn part(path: &Path, last: Option<ByteRange>, bytes_max: u64) -> Option<ByteRange> {
    next_part(path, last, bytes_max).expect("it can be read")
}

#[track_caller]
fn text(path: &Path, part: ByteRange) -> String {
    String::from_utf8(read(path, part).expect("it can be read")).expect("text")
}

#[test]
fn parts_are_contiguous() {
    let (_dir, path) = file("one\ntwo\nthr");
    let first = part(&path, None, MAX).expect("two lines");
    assert_eq!(text(&path, first), "one\ntwo\n");
    assert_eq!(part(&path, Some(first), MAX), None);
    fs::write(&path, "one\ntwo\nthree\nfo").expect("a file");
    let second = part(&path, Some(first), MAX).expect("a line");
    assert_eq!((text(&path, second).as_str(), second.generation, second.more), ("three\n", 0, false));
    assert!(is_unchanged(&path, first).expect("it can be read"));
}

#[test]
fn returns_no_part_without_whole_line() {
    for content in ["", "half a line"] {
        let (_dir, path) = file(content);
        assert_eq!(part(&path, None, MAX), None);
    }
}

#[test]
fn replaced_file_starts_at_zero() {
    let (_dir, path) = file("one\ntwo\n");
    let first = part(&path, None, MAX).expect("two lines");
    for other in ["1\n", "uno\ndos\ntres\n", "one\ntwO\nthree\n"] {
        fs::write(&path, other).expect("a file");
        assert!(!is_unchanged(&path, first).expect("it can be read"), "{other:?}");
        let next = part(&path, Some(first), MAX).expect("all of it");
        assert_eq!((text(&path, next).as_str(), next.generation), (other, 1));
    }
}

#[test]
fn splits_long_file() {
    let (_dir, path) = file("one\ntwo\nthree-is-longer-than-that\nfour\nfi");
    let mut last = None;
    let mut parts = Vec::new();
    while let Some(next) = part(&path, last, 9) {
        parts.push((text(&path, next), next.more));
        last = Some(next);
    }
    let parts: Vec<_> = parts.iter().map(|(text, more)| (text.as_str(), *more)).collect();
    assert_eq!(parts, [("one\ntwo\n", true), ("three-is-longer-than-that\n", true), ("four\n", false)]);
}

#[test]
fn finds_lines_across_chunks() {
    let long = "x".repeat(3 * CHUNK_BYTES + 7);
    let (_dir, path) = file(&format!("{long}\n{long}\n{long}"));
    let both = part(&path, None, MAX).expect("two lines");
    assert_eq!(both.end, 2 * (long.len() as u64 + 1));
    let first = part(&path, None, 10).expect("a line");
    assert_eq!((first.end, first.more), (long.len() as u64 + 1, true));
}

#[test]
fn rejects_directory_and_missing_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    assert!(next_part(dir.path(), None, MAX).is_err());
    assert!(next_part(&dir.path().join("gone"), None, MAX).is_err());
}

#[test]
fn identifies_rows_by_id() {
    let check = |lines: &[u8], ids: &[&str]| {
        let expected: BTreeSet<i64> = ids.iter().map(|id| hash_text(id)).collect();
        assert_eq!(row_hashes(lines), expected);
    };
    check(b"{\"uuid\":\"a\",\"type\":\"user\"}\n{\"type\":\"user\",\"uuid\":\"b\"}\n", &["a", "b"]);
    // As when they are judged: a power failure can leave zero bytes.
    check(b"{\"uuid\":\"a\"}\n\n\0\0{\"uuid\":\"b\"}\n", &["a", "b"]);
    check(b"{\"type\":\"summary\"}\nno json\n{\"uuid\":null}\n[1]\n", &[]);
}

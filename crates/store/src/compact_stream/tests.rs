use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

fn stream(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("stream.jsonl");
    fs::write(&path, content).expect("written");
    (dir, path)
}

fn names(dir: &tempfile::TempDir) -> usize {
    fs::read_dir(dir.path()).expect("listing").count()
}

/// Checks a compaction that drops the lines starting with `-`.
fn check(content: &[u8], expected: &[u8]) {
    let (dir, path) = stream(content);
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    let times = FileTimes::new().set_modified(modified);
    File::options().write(true).open(&path).and_then(|file| file.set_times(times)).expect("time");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("mode");
    compact(&path, |line| !line.starts_with(b"-")).expect("compacted");
    assert!(fs::read(&path).expect("read") == expected);
    let metadata = fs::metadata(&path).expect("metadata");
    assert_eq!(metadata.modified().expect("time"), modified);
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    assert_eq!(names(&dir), 1);
}

#[test]
fn drops_rejected_lines() {
    check(b"", b"");
    check(b"a\n-b\nc\n", b"a\nc\n");
    check(b"-a\n-b\n", b"");
    check(b"a\nb\n", b"a\nb\n");
    check(b"\n\n-\n\xff\0\r\n", b"\n\n\xff\0\r\n");
    // A torn last line is always kept.
    check(b"-a\n-torn", b"-torn");
}

#[test]
fn keeps_long_lines_unfiltered() {
    let limit = FILTERED_LINE_BYTES_MAX as usize;
    for length in [BUFFER_BYTES - 1, BUFFER_BYTES, limit - 1, limit, limit + 1, 2 * limit, 64 << 20] {
        let long = [b"-".repeat(length), b"\n".to_vec()].concat();
        let content = [b"-\na\n", &long[..], b"-\nb\n"].concat();
        let is_kept = length + 1 > limit;
        check(&content, &[&b"a\n"[..], if is_kept { &long } else { b"" }, b"b\n"].concat());
    }
}

#[test]
fn writes_nothing_without_dropped_lines() {
    let (_dir, path) = stream(b"a\nb\n-torn");
    let file = File::open(&path).expect("a file");
    let full = |_| Err(io::ErrorKind::StorageFull.into());
    let target = copy(&file, full, |line| !line.starts_with(b"-")).expect("nothing is written");
    assert!(target.is_none());
}

#[test]
fn does_not_touch_file_without_dropped_lines() {
    use std::os::unix::fs::MetadataExt;
    let (dir, path) = stream(b"a\nb\n");
    let before = fs::metadata(&path).expect("metadata").ino();
    compact(&path, |_| true).expect("compacted");
    assert_eq!(fs::metadata(&path).expect("metadata").ino(), before);
    assert_eq!(names(&dir), 1);
}

#[test]
fn leaves_growing_stream_unchanged() {
    let (dir, path) = stream(b"-a\nb\n");
    let mut agent = File::options().append(true).open(&path).expect("stream");
    let error = compact(&path, |line| {
        agent.write_all(b"-c\n").expect("written");
        line == b"b"
    });
    assert!(matches!(error, Err(StoreError::StreamStillGrowing { .. })));
    assert_eq!(fs::read(&path).expect("read"), b"-a\nb\n-c\n-c\n");
    assert_eq!(names(&dir), 1);
}

#[test]
fn panicking_filter_loses_nothing() {
    let (dir, path) = stream(b"-a\nb\n");
    let filter = |line: &[u8]| -> bool {
        assert!(line != b"b", "a filter with a defect");
        false
    };
    let result = std::panic::catch_unwind(|| compact(&path, filter).is_ok());
    assert!(result.is_err());
    assert_eq!(fs::read(&path).expect("read"), b"-a\nb\n");
    assert_eq!(names(&dir), 1);
}

#[test]
fn missing_stream_is_an_error() {
    let (_dir, path) = stream(b"");
    let missing = path.with_file_name("none");
    let error = compact(&missing, |_| true).expect_err("missing");
    assert_eq!(error.to_string(), format!("cannot compact {}: no such file or directory", missing.display()));
}

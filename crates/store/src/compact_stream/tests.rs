use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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

fn check(content: &[u8], dropped: &[Range<u64>], expected: &[u8]) {
    let (dir, path) = stream(content);
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    let times = FileTimes::new().set_modified(modified);
    File::options().write(true).open(&path).and_then(|file| file.set_times(times)).expect("time");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("mode");
    compact(&path, dropped).expect("compacted");
    assert_eq!(fs::read(&path).expect("read"), expected);
    let metadata = fs::metadata(&path).expect("metadata");
    assert_eq!(metadata.modified().expect("time"), modified);
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    assert_eq!(names(&dir), 1);
}

#[test]
fn drops_ranges() {
    check(b"", &[], b"");
    check(b"a\n-b\nc\n", &[2..3, 3..5], b"a\nc\n");
    check(b"-a\n-b\n", &[0..3, 3..6], b"");
    check(b"-\n\xff\0\r\n-\n\n", &[0..2, 6..8], b"\xff\0\r\n\n");
    check(b"-a\n-torn", &[0..1, 1..3], b"-torn");
}

#[test]
fn does_not_touch_file_without_ranges() {
    let (dir, path) = stream(b"a\nb\n");
    let before = fs::metadata(&path).expect("metadata").ino();
    compact(&path, &[]).expect("compacted");
    assert_eq!(fs::metadata(&path).expect("metadata").ino(), before);
    assert_eq!(names(&dir), 1);
}

#[test]
fn missing_stream_is_an_error() {
    let (_dir, path) = stream(b"");
    let missing = path.with_file_name("none");
    let error = compact(&missing, &[0..1, 1..2]).expect_err("missing");
    assert_eq!(error.to_string(), format!("cannot compact {}: no such file or directory", missing.display()));
}

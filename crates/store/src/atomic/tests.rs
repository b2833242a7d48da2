use super::*;
use std::os::unix::fs::PermissionsExt;

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("listing");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn content_is_replaced_and_private() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("status.json");
    for durability in [Durability::Process, Durability::Power] {
        for content in ["long content", "short"] {
            replace(&path, content.as_bytes(), durability).expect("replaced");
            assert_eq!(fs::read_to_string(&path).expect("read"), content);
        }
    }
    assert_eq!(fs::metadata(&path).expect("metadata").permissions().mode() & 0o777, 0o600);
    assert_eq!(names(dir.path()), ["status.json"]);
}

#[test]
fn failure_leaves_only_the_old_file() {
    let dir = tempfile::tempdir().expect("temporary directory");
    // A directory that is not empty cannot be replaced by a file, so the rename fails.
    let path = dir.path().join("occupied");
    fs::create_dir(&path).expect("directory");
    fs::write(path.join("old"), "old").expect("file");
    let error = replace(&path, b"new", Durability::Process).expect_err("a directory is there");
    assert_eq!(error.to_string(), format!("cannot write {}: is a directory", path.display()));
    assert_eq!(names(dir.path()), ["occupied"]);
    assert_eq!(names(&path), ["old"]);

    let error = replace(&dir.path().join("none/x"), b"new", Durability::Power).expect_err("no directory");
    assert!(error.to_string().ends_with("none/x: no such file or directory"), "{error}");
}

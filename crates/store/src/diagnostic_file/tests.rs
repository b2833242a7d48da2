//! Tests the names of diagnostic files.

use super::write_diagnostic;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn files_never_replace_each_other() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let dir = folder.path().join("diagnostic");
    let mut names = Vec::new();
    for text in ["one", "two", "three"] {
        let path = write_diagnostic(&dir, "20260102_030405_wait", text).expect("the folder can be written");
        assert_eq!(fs::read_to_string(&path).expect("it was written"), text);
        assert_eq!(mode(&path), 0o600);
        names.push(path.file_name().expect("it has a name").to_string_lossy().into_owned());
    }
    assert_eq!(
        names,
        ["20260102_030405_wait.txt", "20260102_030405_wait_2.txt", "20260102_030405_wait_3.txt"]
    );
    assert_eq!(mode(&dir), 0o700);
}

#[test]
fn rejects_symlinked_directory() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let (dir, elsewhere) = (folder.path().join("diagnostic"), folder.path().join("elsewhere"));
    fs::create_dir(&elsewhere).expect("the folder can be written");
    symlink(&elsewhere, &dir).expect("the folder can be written");
    write_diagnostic(&dir, "note", "text").expect_err("it is a symbolic link");
    assert_eq!(fs::read_dir(&elsewhere).expect("it is there").count(), 0);
    write_diagnostic(&folder.path().join("no/such"), "note", "text").expect_err("its parent is not there");
}

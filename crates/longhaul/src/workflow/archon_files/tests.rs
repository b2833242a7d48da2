use super::{archive, has_hints, iteration_numbers};
use std::fs;

#[test]
fn template_of_hints_is_no_hint() {
    for (text, expected) in [
        ("", false),
        ("# User Hints\n\n<!-- write\nhere -->\n", false),
        ("# User Hints\n\nUse induction.\n", true),
        ("<!-- a --> b <!-- c", true),
    ] {
        assert_eq!(has_hints(text), expected, "{text}");
    }
}

#[test]
fn reports_are_archived_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let dirs = (dir.path().join("results"), dir.path().join("results/archive/iter-002"));
    fs::create_dir(&dirs.0).expect("a directory");
    for name in ["A.lean.md", "notes.txt"] {
        fs::write(dirs.0.join(name), name).expect("a file");
    }
    archive(&dirs).expect("the directory is writable");
    archive(&dirs).expect("the directory is writable");
    assert!(dirs.1.join("A.lean.md").exists() && dirs.0.join("notes.txt").exists());
    assert!(!dirs.0.join("A.lean.md").exists());
}

#[test]
fn archived_report_is_never_overwritten() {
    let dir = tempfile::tempdir().expect("a directory");
    let dirs = (dir.path().join("results"), dir.path().join("results/archive/iter-002"));
    fs::create_dir(&dirs.0).expect("a directory");
    for text in ["first", "second", "third"] {
        fs::write(dirs.0.join("A.lean.md"), text).expect("a file");
        archive(&dirs).expect("the directory is writable");
    }
    let archived =
        ["A.lean.md", "A.lean.2.md", "A.lean.3.md"].map(|name| fs::read_to_string(dirs.1.join(name)));
    assert_eq!(archived.map(|text| text.expect("a file")), ["first", "second", "third"]);
}

#[test]
fn iterations_continue_after_the_existing_ones() {
    let logs = tempfile::tempdir().expect("a directory");
    for name in ["iter-002", "iter-010", "iter-x", "other"] {
        fs::create_dir(logs.path().join(name)).expect("a directory");
    }
    assert_eq!(iteration_numbers(logs.path()), [2, 10]);
    assert_eq!(iteration_numbers(&logs.path().join("none")), [] as [u32; 0]);
}

//! Skipped tests: a test whose requirements are missing on this machine prints the reason and writes a note.

use serde_json::json;
use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Names the file in which `cargo xtask test` collects the notes, one JSON line each, to list them at its
/// end.
const NOTES_VARIABLE: &str = "LONGHAUL_TEST_SKIPPED";

/// Reports a skipped test with its reason and the way to enable it.
///
/// If `CI` is set and no file collects the notes, the test fails instead. Otherwise a skipped test would look
/// like a passed one.
pub fn skip_test(description: &str, reason: &str, remedy: &str) {
    let notes = env::var_os(NOTES_VARIABLE);
    assert!(notes.is_some() || env::var_os("CI").is_none(), "{description}: {reason}; {remedy}");
    // Bypasses the capture of the test harness, so that the skip is visible.
    let _ = writeln!(io::stderr(), "skipped: {description}; {reason}; {remedy}");
    if let Some(notes) = notes {
        let mut file =
            OpenOptions::new().append(true).create(true).open(notes).expect("the file of notes is writable");
        // One write, because several threads append to the file.
        file.write_all(note(description, reason, remedy).as_bytes()).expect("the file of notes is writable");
    }
}

fn note(description: &str, reason: &str, remedy: &str) -> String {
    format!("{}\n", json!({ "description": description, "reason": reason, "remedy": remedy }))
}

#[test]
fn note_has_the_collected_format() {
    // `xtask/src/test/skipped.rs` tests the reading side.
    assert_eq!(
        note("a report in a browser", "there is no Chromium", "install chromium"),
        "{\"description\":\"a report in a browser\",\"reason\":\"there is no Chromium\",\"remedy\":\"install chromium\"}\n"
    );
}

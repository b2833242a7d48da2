//! What is not tried for want of something on this machine: said aloud, and noted for whoever collects it.

use serde_json::json;
use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Names the file in which `cargo xtask test` collects it, a JSON line each; it tells of all of them at its end.
const NOTES: &str = "LONGHAUL_TEST_SKIPPED";

/// Says that something is not tried here, why, and what to do about that.
///
/// Where `CI` is set and nobody collects, the test fails instead: there, one that is left out looks like one that passed.
pub fn skip_test(what: &str, why: &str, remedy: &str) {
    let notes = env::var_os(NOTES);
    assert!(notes.is_some() || env::var_os("CI").is_none(), "{what}: {why}; {remedy}");
    // Past the test harness's capture: nobody may take this for a pass.
    let _ = writeln!(io::stderr(), "left out: {what}; {why}; {remedy}");
    if let Some(notes) = notes {
        let mut file = OpenOptions::new().append(true).create(true).open(notes).expect("notes can be taken");
        // At once: tests of several threads write to it.
        file.write_all(note(what, why, remedy).as_bytes()).expect("notes can be taken");
    }
}

fn note(what: &str, why: &str, remedy: &str) -> String {
    format!("{}\n", json!({ "description": what, "reason": why, "remedy": remedy }))
}

#[test]
fn a_note_is_what_is_collected() {
    // The other half is in `xtask/src/test/omitted.rs`.
    assert_eq!(
        note("a report in a browser", "there is no Chromium", "install chromium"),
        "{\"remedy\":\"install chromium\",\"what\":\"a report in a browser\",\"why\":\"there is no Chromium\"}\n"
    );
}

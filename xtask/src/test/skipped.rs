//! Tests that were skipped because this machine lacks a requirement. They add notes, one JSON line each, to
//! the file that `LONGHAUL_TEST_SKIPPED` names (`crates/cli/tests/it/skipped.rs`); this module reads and
//! prints them.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct SkippedTest {
    /// Description of the skipped part.
    pub description: String,
    /// Missing requirement.
    pub reason: String,
    /// How to provide it.
    pub remedy: String,
}

/// Names the file that collects the notes.
pub const NOTES_VARIABLE: &str = "LONGHAUL_TEST_SKIPPED";

/// Adds a note on a test of another command, which `cargo xtask test` starts.
///
/// # Errors
/// Returns an error if no file collects notes in CI, because the skipped test would look like a passed one.
pub fn note_skipped(description: &str, reason: &str, remedy: &str) -> io::Result<()> {
    println!("skipped: {description}; {reason}; {remedy}");
    let Some(file) = env::var_os(NOTES_VARIABLE) else {
        let is_seen = env::var_os("CI").is_none();
        let error = || io::Error::other(format!("{description} was skipped: {reason}; {remedy}"));
        return is_seen.then_some(()).ok_or_else(error);
    };
    let [description, reason, remedy] = [description, reason, remedy].map(str::to_owned);
    let note = serde_json::to_string(&SkippedTest { description, reason, remedy })? + "\n";
    OpenOptions::new().append(true).open(file)?.write_all(note.as_bytes())
}

/// Reads the notes in this file, without duplicates.
///
/// # Errors
/// Returns an error if the file cannot be read or contains other lines, because skipped tests would be
/// missed.
pub fn read_notes(file: &Path) -> io::Result<Vec<SkippedTest>> {
    let mut notes = BTreeSet::new();
    for line in fs::read_to_string(file)?.lines() {
        let note = serde_json::from_str(line);
        notes.insert(note.map_err(|error| {
            io::Error::other(format!("cannot read the notes on skipped tests: {error}: {line}"))
        })?);
    }
    Ok(notes.into_iter().collect())
}

/// Renders the notes for people: for each missing requirement its remedy and the skipped tests.
pub fn render(skipped: &[SkippedTest]) -> String {
    if skipped.is_empty() {
        return "nothing was skipped\n".to_owned();
    }
    let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for SkippedTest { description, reason, remedy } in skipped {
        reasons.entry((reason, remedy)).or_default().push(description);
    }
    let mut text = format!("skipped: {}\n", skipped.len());
    for ((reason, remedy), descriptions) in reasons {
        writeln!(text, "  {reason}: {remedy}").expect("writing to a string cannot fail");
        for description in descriptions {
            writeln!(text, "    {description}").expect("writing to a string cannot fail");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SkippedTest, read_notes, render};
    use std::fs;

    #[test]
    fn groups_notes_by_reason() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let check = |notes: &str, expected: &str| {
            fs::write(file.path(), notes).expect("the test owns the file");
            assert_eq!(render(&read_notes(file.path()).expect("valid notes")), expected);
        };
        check("", "nothing was skipped\n");
        // As `crates/cli/tests/it/skipped.rs` writes it.
        let browser = r#"{"remedy":"install chromium","description":"a report in a browser","reason":"there is no Chromium"}"#;
        let network =
            r#"{"remedy":"install socat","description":"no network","reason":"a sandbox needs socat"}"#;
        let another =
            r#"{"remedy":"install socat","description":"some hosts","reason":"a sandbox needs socat"}"#;
        check(
            &format!("{browser}\n"),
            "skipped: 1\n  there is no Chromium: install chromium\n    a report in a browser\n",
        );
        check(
            &[another, browser, network, another, ""].join("\n"),
            "skipped: 3\n  a sandbox needs socat: install socat\n    no network\n    some hosts\n  \
             there is no Chromium: install chromium\n    a report in a browser\n",
        );
    }

    #[test]
    fn malformed_note_is_an_error() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), "{\"description\":\"cut o").expect("the test owns the file");
        let result = read_notes(file.path())
            .map(|notes: Vec<SkippedTest>| notes.len())
            .map_err(|error| error.to_string());
        assert!(
            result
                .expect_err("the note is truncated")
                .starts_with("cannot read the notes on skipped tests: ")
        );
    }
}

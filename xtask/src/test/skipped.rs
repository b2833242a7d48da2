//! What tests did not try for want of something on this machine. They note it, a JSON line each, in a file that
//! `LONGHAUL_TEST_LEFT_OUT` names (`crates/cli/tests/it/left_out.rs`); here it is read and told.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

/// Something that was not tried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct SkippedTest {
    /// What.
    pub description: String,
    /// What there is not.
    pub reason: String,
    /// What to do about that.
    pub remedy: String,
}

/// What was noted in this file, each once.
///
/// # Errors
/// That the file cannot be read, or holds something else: then nobody knows what was left out.
pub fn collected(file: &Path) -> io::Result<Vec<SkippedTest>> {
    let mut notes = BTreeSet::new();
    for line in fs::read_to_string(file)?.lines() {
        let note = serde_json::from_str(line);
        notes.insert(
            note.map_err(|error| io::Error::other(format!("read what was left out: {error}: {line}")))?,
        );
    }
    Ok(notes.into_iter().collect())
}

/// All of it for people: for each thing that is wanting what to do, and what was not tried for it.
pub fn told(omitted: &[SkippedTest]) -> String {
    if omitted.is_empty() {
        return "nothing was left out\n".to_owned();
    }
    let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for SkippedTest { description: what, reason: why, remedy } in omitted {
        reasons.entry((why, remedy)).or_default().push(what);
    }
    let mut text = format!("left out: {}\n", omitted.len());
    for ((why, remedy), whats) in reasons {
        writeln!(text, "  {why}: {remedy}").expect("a string takes all");
        for what in whats {
            writeln!(text, "    {what}").expect("a string takes all");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SkippedTest, collected, told};
    use std::fs;

    #[test]
    fn notes_are_told_by_what_is_wanting_each_once() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let check = |notes: &str, expected: &str| {
            fs::write(file.path(), notes).expect("it is ours");
            assert_eq!(told(&collected(file.path()).expect("they are notes")), expected);
        };
        check("", "nothing was left out\n");
        // As `crates/cli/tests/it/left_out.rs` writes it.
        let browser =
            r#"{"remedy":"install chromium","what":"a report in a browser","why":"there is no Chromium"}"#;
        let network = r#"{"remedy":"install socat","what":"no network","why":"a sandbox needs socat"}"#;
        let another = r#"{"remedy":"install socat","what":"some hosts","why":"a sandbox needs socat"}"#;
        check(
            &format!("{browser}\n"),
            "left out: 1\n  there is no Chromium: install chromium\n    a report in a browser\n",
        );
        check(
            &[another, browser, network, another, ""].join("\n"),
            "left out: 3\n  a sandbox needs socat: install socat\n    no network\n    some hosts\n  \
             there is no Chromium: install chromium\n    a report in a browser\n",
        );
    }

    #[test]
    fn what_is_no_note_is_not_passed_over() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), "{\"what\":\"cut o").expect("it is ours");
        let told = collected(file.path())
            .map(|notes: Vec<SkippedTest>| notes.len())
            .map_err(|error| error.to_string());
        assert!(told.expect_err("it is cut").starts_with("read what was left out: "));
    }
}

//! Reads the row ids of a transcript. Forked, copied and repaired sessions contain rows that were judged in
//! another file.

use crate::UserError;
use serde::Deserialize;
use std::borrow::Cow;

/// Types of rows that have no session and no message (Claude Code 2.1.330 and before): titles and file
/// snapshots.
const MESSAGELESS_TYPES: &[&str] =
    &["summary", "file-history-snapshot", "custom-title", "ai-title", "agent-name", "last-prompt", "tag"];

const HINT: &str =
    "name a session file of Claude Code, or the stream that it prints in its format stream-json";

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow, default)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

/// Returns the ids of the rows. Lines that are not rows or have no id are skipped.
pub fn row_ids(bytes: &[u8]) -> impl Iterator<Item = String> {
    lines(bytes).filter_map(row_id)
}

/// Returns the lines without the rows that were judged.
pub(super) fn remove_judged(bytes: &[u8], mut is_judged: impl FnMut(&str) -> bool) -> Vec<u8> {
    let unjudged = lines(bytes).filter(|line| row_id(line).is_none_or(|id| !is_judged(&id)));
    unjudged.collect::<Vec<_>>().concat()
}

/// Verifies that bytes without messages are lines of a transcript.
pub(super) fn check_messageless(bytes: &[u8]) -> Result<(), UserError> {
    let mut rows = lines(bytes).filter_map(row).peekable();
    if bytes.trim_ascii().is_empty() {
        Ok(())
    } else if rows.peek().is_none() {
        Err(UserError::new("it does not consist of lines of JSON", HINT))
    } else if rows.all(|row| row.kind.is_some_and(|kind| MESSAGELESS_TYPES.contains(&&*kind))) {
        Ok(())
    } else {
        let error = "its lines have an unknown format: it may belong to another tool";
        Err(UserError::new(error, HINT))
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

fn row_id(line: &[u8]) -> Option<String> {
    row(line)?.uuid.map(Cow::into_owned)
}

/// Parses the row of a line. A power failure can leave zero bytes around it.
fn row(line: &[u8]) -> Option<Row<'_>> {
    let is_padding = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let first = line.iter().position(|byte| !is_padding(byte))?;
    let last = line.iter().rposition(|byte| !is_padding(byte))?;
    let text = std::str::from_utf8(line.get(first..=last)?).ok()?;
    serde_json::from_str(text).ok()
}

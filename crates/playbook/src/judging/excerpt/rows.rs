//! The rows of a transcript, by their ids: forked, copied and repaired sessions bring rows again that were judged in
//! another file.

use super::ExcerptError;
use serde::Deserialize;
use std::borrow::Cow;
use std::ops::Range;

/// Types of rows that name no session and hold no message (Claude Code 2.1.330 and before): titles, and what was known
/// of files.
const WORDLESS: &[&str] =
    &["summary", "file-history-snapshot", "custom-title", "ai-title", "agent-name", "last-prompt", "tag"];

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow, default)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

/// The ids of the rows in these bytes, each with where its line is, its newline included. Lines that are no rows, or
/// have no id, are passed over.
pub fn row_ids(bytes: &[u8]) -> impl Iterator<Item = (String, Range<usize>)> {
    lines(bytes).filter_map(|(line, range)| Some((row(line)?.uuid?.into_owned(), range)))
}

/// The bytes without the lines of rows whose ids are judged.
pub(super) fn without(bytes: &[u8], mut is_judged: impl FnMut(&str) -> bool) -> Cow<'_, [u8]> {
    let mut fresh = Cow::Borrowed(bytes);
    let mut kept_to = 0;
    for (id, range) in row_ids(bytes) {
        if is_judged(&id) {
            if let Cow::Borrowed(_) = fresh {
                fresh = Cow::Owned(Vec::with_capacity(bytes.len()));
            }
            fresh.to_mut().extend_from_slice(&bytes[kept_to..range.start]);
            kept_to = range.end;
        }
    }
    if let Cow::Owned(fresh) = &mut fresh {
        fresh.extend_from_slice(&bytes[kept_to..]);
    }
    fresh
}

/// Whether these bytes, which hold no message, are lines of a transcript all the same.
pub(super) fn without_a_word(bytes: &[u8]) -> Result<(), ExcerptError> {
    let mut rows = lines(bytes).filter_map(|(line, _)| row(line)).peekable();
    if bytes.trim_ascii().is_empty() {
        Ok(())
    } else if rows.peek().is_none() {
        Err(ExcerptError::NotLines)
    } else if rows.all(|row| row.kind.is_some_and(|kind| WORDLESS.contains(&&*kind))) {
        Ok(())
    } else {
        Err(ExcerptError::UnknownFormat)
    }
}

/// Each line, and where it is with its newline.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (&[u8], Range<usize>)> {
    let mut start = 0;
    bytes.split_inclusive(|&byte| byte == b'\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end;
        (line, range)
    })
}

/// The row in a line. Bytes of zero around it are left by a machine that lost power.
fn row(line: &[u8]) -> Option<Row<'_>> {
    let is_padding = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let first = line.iter().position(|byte| !is_padding(byte))?;
    let last = line.iter().rposition(|byte| !is_padding(byte))?;
    let text = std::str::from_utf8(line.get(first..=last)?).ok()?;
    serde_json::from_str(text).ok()
}

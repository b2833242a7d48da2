//! Writes recordings that the scripted agent replays.

use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a recorded success to `file`, with more lines before its one answer. `line` returns each of them for
/// its index and the session.
pub fn write(
    root: &Path,
    file: &Path,
    lines: usize,
    line: impl Fn(usize, &Value) -> String,
) -> io::Result<()> {
    let recorded = fs::read_to_string(root.join("crates/agent/fixtures/claude/success-session-state.jsonl"))?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    let mut is_written = false;
    for recorded_line in recorded.lines() {
        // After the lines that start the turn, before the answer that ends it.
        if !is_written && recorded_line.contains("\"type\":\"assistant\"") {
            is_written = true;
            let session = &serde_json::from_str::<Value>(recorded_line)?["session_id"];
            for index in 0..lines {
                writeln!(out, "{}", line(index, session))?;
            }
        }
        writeln!(out, "{recorded_line}")?;
    }
    out.flush()
}

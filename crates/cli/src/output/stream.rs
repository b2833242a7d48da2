//! `--output-format stream-json`: forwards the agent's events as they arrive and inserts Longhaul's, line by
//! line. It never forwards the result of an attempt as type `result`, because a reader would take it for the
//! result of the run.

use super::events::line;
use super::out;
use longhaul::{Observer, StepView};
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{Record, RunId, Step};
use longhaul_store::JournalEntry;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Type of the result of one exchange of an attempt.
const ATTEMPT_RESULT: &str = "attempt_result";

/// Prints both streams on stdout.
#[derive(Default)]
pub struct Stream {
    run: String,
    /// Number of records so far.
    seq: u64,
    /// An incomplete line.
    partial: Vec<u8>,
}

impl Observer for Stream {
    fn on_start(&mut self, run: &RunId, _dir: &Path) {
        self.run = run.to_string();
    }

    fn on_replay(&mut self, entry: &JournalEntry) {
        self.seq += entry.records.len() as u64;
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        let mut stdout = out::printer_of_bytes();
        for record in &step.records {
            if matches!(record, Record::AttemptStarted { .. }) {
                // A killed agent leaves a line that nothing completes.
                self.partial.clear();
            }
            self.seq += 1;
            let _ = stdout.write_all(&line::stream_line(&self.run, self.seq, view.at, record));
        }
    }

    fn on_output(&mut self, bytes: &[u8], _messages: &[TranscriptMessage]) {
        // Whole lines only, so that Longhaul's lines never end up inside the agent's.
        self.partial.extend_from_slice(bytes);
        if let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') {
            let mut stdout = out::printer_of_bytes();
            for line in self.partial[..=end].split_inclusive(|byte| *byte == b'\n') {
                let _ = stdout.write_all(&forwarded(line));
            }
            self.partial.drain(..=end);
        }
    }
}

#[derive(Deserialize)]
struct LineType<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

/// Returns a line of the agent as printed: unchanged, unless it is a result.
fn forwarded(line: &[u8]) -> Cow<'_, [u8]> {
    let is_result = serde_json::from_slice::<LineType<'_>>(line).is_ok_and(|line| line.r#type == "result");
    is_result.then(|| with_type(line, ATTEMPT_RESULT)).flatten().map_or(Cow::Borrowed(line), Cow::Owned)
}

/// Replaces the type of an event. All other values keep their text.
fn with_type(line: &[u8], r#type: &str) -> Option<Vec<u8>> {
    let mut event: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(line).ok()?;
    event.insert("type".to_owned(), to_raw_value(r#type).ok()?);
    let mut line = serde_json::to_vec(&event).ok()?;
    line.push(b'\n');
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::forwarded;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(str::from_utf8(&forwarded(line.as_bytes())), Ok(expected));
    }

    #[test]
    fn result_of_an_attempt_has_another_type() {
        check(
            "{\"is_error\":false,\"type\": \"result\",\"total_cost_usd\":0.10,\"usage\":{\"type\":\"result\"}}\r\n",
            "{\"is_error\":false,\"total_cost_usd\":0.10,\"type\":\"attempt_result\",\"usage\":{\"type\":\"result\"}}\n",
        );
        check("{\"type\":\"r\\u0065sult\"}\n", "{\"type\":\"attempt_result\"}\n");
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        let line = |name: &str| format!("{{\"output\":{deep},\"type\":\"{name}\"}}\n");
        check(&line("result"), &line("attempt_result"));
    }

    #[test]
    fn other_lines_are_unchanged() {
        for line in [
            "{\"type\": \"assistant\", \"message\": {\"type\": \"result\"}}\n",
            "{\"type\":[\"result\"]}\n",
            "{\"result\":\"type\"}\n",
            "\"result\"\n",
            "a line of a broken wrapper: \"type\":\"result\"\n",
            "\n",
        ] {
            check(line, line);
        }
    }
}

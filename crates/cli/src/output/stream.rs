//! `--output-format stream-json`: forwards the agent's events as they arrive and inserts Longhaul's, line by
//! line. It never forwards the result of an attempt as type `result`, because a reader would take it for the
//! result of the run.

use super::events::line;
use super::out;
use longhaul::{Observer, StepView};
use longhaul_agent::{Dialect, dialect_named};
use longhaul_core::{Record, RunId, Step};
use longhaul_store::{JournalEntry, RunDir};
use memchr::memchr_iter;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Type of the result of one exchange of an attempt.
const ATTEMPT_RESULT: &str = "attempt_result";

/// Prints both streams on stdout.
pub struct Stream {
    run: String,
    /// `None` before the start, and for an unknown agent.
    dialect: Option<Box<dyn Dialect>>,
    /// Number of records so far.
    seq: u64,
    /// An incomplete line.
    partial: Vec<u8>,
}

impl Stream {
    pub fn new() -> Stream {
        Stream { run: String::new(), dialect: None, seq: 0, partial: Vec::new() }
    }
}

impl Observer for Stream {
    fn on_start(&mut self, run: &RunId, dir: &Path) {
        self.run = run.to_string();
        let plan = RunDir::from_path(dir.to_owned()).and_then(|dir| dir.plan().ok());
        self.dialect = plan.and_then(|plan| dialect_named(&plan.spec.agent.name));
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
            let line = line::record_line(Some(line::TYPE), &self.run, self.seq, view.at, record);
            let _ = stdout.write_all(&line);
        }
    }

    fn on_bytes(&mut self, bytes: &[u8]) {
        // Whole lines only, so that Longhaul's lines never end up inside the agent's.
        self.partial.extend_from_slice(bytes);
        let mut stdout = out::printer_of_bytes();
        // Unchanged lines are written together.
        let (mut unchanged, mut offset) = (0, 0);
        for end in memchr_iter(b'\n', &self.partial) {
            if let Some(result) = attempt_result(self.dialect.as_deref(), &self.partial[offset..=end]) {
                let _ = stdout.write_all(&self.partial[unchanged..offset]);
                let _ = stdout.write_all(&result);
                unchanged = end + 1;
            }
            offset = end + 1;
        }
        let _ = stdout.write_all(&self.partial[unchanged..offset]);
        self.partial.drain(..offset);
    }
}

/// Returns a result with another type, or `None` for another line. All other values keep their text.
fn attempt_result(dialect: Option<&dyn Dialect>, line: &[u8]) -> Option<Vec<u8>> {
    dialect.filter(|dialect| dialect.is_result(line))?;
    let mut event: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(line).ok()?;
    event.insert("type".to_owned(), to_raw_value(ATTEMPT_RESULT).ok()?);
    let mut line = serde_json::to_vec(&event).ok()?;
    line.push(b'\n');
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::attempt_result;
    use longhaul_agent::default_dialect;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let result = attempt_result(Some(&*default_dialect()), line.as_bytes());
        assert_eq!(result, expected.map(|line| line.as_bytes().to_vec()), "{line}");
    }

    #[test]
    fn result_of_an_attempt_has_another_type() {
        check(
            "{\"is_error\":false,\"type\": \"result\",\"total_cost_usd\":0.10,\"usage\":{\"type\":\"result\"}}\r\n",
            Some(
                "{\"is_error\":false,\"total_cost_usd\":0.10,\"type\":\"attempt_result\",\"usage\":{\"type\":\"result\"}}\n",
            ),
        );
        check("{\"type\":\"r\\u0065sult\"}\n", Some("{\"type\":\"attempt_result\"}\n"));
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        let line = |name: &str| format!("{{\"output\":{deep},\"type\":\"{name}\"}}\n");
        check(&line("result"), Some(&line("attempt_result")));
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
            check(line, None);
        }
    }
}

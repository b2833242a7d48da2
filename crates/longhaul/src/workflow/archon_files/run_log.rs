//! The log of one run in Archon's rows, written while the run works. It is derived from the transcript of the run: after
//! a crash, the rows of the run are written again.

use crate::RunReport;
use crate::clock::calendar_now;
use longhaul_agent::transcript_message::{EventKind, MessageOrigin, TranscriptMessage};
use longhaul_core::{Moment, Outcome, OutcomeKind, Rfc3339, RunId, SessionId, Span};
use longhaul_store::{
    Durability, Home, LedgerSpend, RunDir, StoreError, if_exists, read_lines, read_lines_from,
    read_regular_to_string, remove_if_exists, replace, spend_by_model,
};
use longhaul_workflow::archon::{LogEvent, LogRow, SessionEnd, ShellLevel};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub(super) struct RunLog {
    path: PathBuf,
    run: RunId,
    /// Whether the log had rows of this run: from before an earlier end, or from a dead supervisor.
    is_continued: bool,
    dir: Option<RunDir>,
    /// Offset of the first message of the transcript without a row.
    offset: u64,
    /// Time of the last row, for messages without a time.
    at: Moment,
    api_time: ApiTime,
}

impl RunLog {
    /// Opens the log, which other runs may share, and removes the rows of this run, because all are written again.
    pub(super) fn open(path: PathBuf, run: RunId) -> Result<RunLog, StoreError> {
        let text = if_exists(read_regular_to_string(&path)).map_err(StoreError::io("read", &path))?;
        let text = text.unwrap_or_default();
        let others = without_rows_of(&text, &run);
        let is_continued = others.len() < text.len();
        if is_continued {
            replace(&path, others.as_bytes(), Durability::Process)?;
        }
        let (at, api_time) = (calendar_now(), ApiTime::default());
        let mut log = RunLog { path, run, is_continued, dir: None, offset: 0, at, api_time };
        log.shell(ShellLevel::Info, &start_message(&log.run))?;
        Ok(log)
    }

    pub(super) fn update(&mut self, home: &Home) -> Result<(), StoreError> {
        if self.dir.is_none() {
            self.dir = home.run_with_id(&self.run)?;
        }
        let Some(dir) = &self.dir else { return Ok(()) };
        let (mut rows, mut at) = (Vec::new(), self.at);
        self.offset = read_lines_from(&dir.transcript_path(), self.offset, |text| {
            if let Ok(message) = serde_json::from_slice::<TranscriptMessage>(text) {
                let stated = message.timestamp.clone().and_then(|text| Rfc3339::try_from(text).ok());
                at = stated.map_or(at, |stated| stated.0);
                add_row(&mut rows, at, &message);
                self.api_time.add(&message);
            }
            ControlFlow::Continue(())
        })?;
        self.at = at;
        if rows.is_empty() { Ok(()) } else { self.add(&rows) }
    }

    /// Adds the end of the run: `session_end` if and only if its agent's last result is not an error.
    pub(super) fn end(&mut self, report: &RunReport) -> Result<(), StoreError> {
        let at = report.finished_at;
        if report.last_result.as_ref().is_some_and(|result| !result.is_error) {
            let tokens = report.usage.tokens;
            let event = LogEvent::SessionEnd(SessionEnd {
                session_id: report.session.as_ref().map_or("", SessionId::as_str),
                total_cost_usd: report.usage.total_cost().into(),
                duration_ms: report.clocks.wall(at),
                duration_api_ms: self.api_time.total(),
                num_turns: report.usage.turns,
                input_tokens: tokens.input,
                output_tokens: tokens.output,
                cache_read_input_tokens: tokens.cache_read,
                cache_creation_input_tokens: tokens.cache_write,
                model_usage: self.model_usage(),
                summary: report.result.as_deref().unwrap_or_default(),
            });
            self.add(&line(&LogRow { ts: at.into(), event }))?;
        }
        let Outcome { kind, .. } = report.outcome;
        if kind != OutcomeKind::Done {
            let reason = report.errors.first().map_or(String::new(), |error| format!(": {error}"));
            let row = format!("run {} finished as {kind}{reason}", self.run);
            self.shell(ShellLevel::Error, &row)?;
        }
        Ok(())
    }

    /// Adds the agent's own messages of all attempts to the file next to the log. A run that continued may have added
    /// some of them before: then the file is written again, with all runs of this workflow in the log.
    pub(super) fn write_raw(&self, home: &Home, workflow: &RunId) -> Result<(), StoreError> {
        let path = self.path.with_extension("raw.jsonl");
        let mut runs = vec![self.run.clone()];
        if self.is_continued {
            let log = read_regular_to_string(&self.path).map_err(StoreError::io("read", &self.path))?;
            runs = log.lines().filter_map(started_run).filter(|run| is_run_of(run, workflow)).collect();
            remove_if_exists(&path)?;
        }
        let mut raw = open_to_append(&path).map_err(StoreError::io("write", &path))?;
        for run in runs {
            let Some(dir) = home.run_with_id(&run)? else { continue };
            for attempt in dir.attempts().unwrap_or_default() {
                let mut result = Ok(());
                read_lines(&attempt.stream_path(), |text| {
                    result = raw.write_all(text).and_then(|()| raw.write_all(b"\n"));
                    if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                result.map_err(StoreError::io("write", &path))?;
            }
        }
        Ok(())
    }

    /// Returns the usage of the run by model, in Claude Code's form.
    fn model_usage(&self) -> Value {
        let usage = |(model, spend): (String, LedgerSpend)| {
            let usage = json!({
                "inputTokens": spend.tokens.input,
                "outputTokens": spend.tokens.output,
                "cacheReadInputTokens": spend.tokens.cache_read,
                "cacheCreationInputTokens": spend.tokens.cache_write,
                "costUSD": (spend.cost + spend.estimated_cost).as_dollars(),
            });
            (model, usage)
        };
        Value::Object(self.dir.iter().flat_map(spend_by_model).map(usage).collect())
    }

    fn shell(&mut self, level: ShellLevel, message: &str) -> Result<(), StoreError> {
        let event = LogEvent::Shell { level, message };
        self.add(&line(&LogRow { ts: self.at.into(), event }))
    }

    fn add(&mut self, rows: &[u8]) -> Result<(), StoreError> {
        // Opened each time, because another run that shares the log may have replaced it.
        let written = open_to_append(&self.path).and_then(|mut file| file.write_all(rows));
        written.map_err(StoreError::io("write", &self.path))
    }
}

/// The time of requests of each session. A result states that of its whole session so far.
#[derive(Default)]
struct ApiTime(BTreeMap<String, Span>);

impl ApiTime {
    /// Adds a message. Messages that are no such result change nothing.
    fn add(&mut self, message: &TranscriptMessage) {
        let stated = message.outcome.as_ref().and_then(|result| result.duration_api_ms);
        if let (Some(session), Some(stated)) = (&message.session_id, stated) {
            let time = self.0.entry(session.clone()).or_default();
            *time = Span(stated).max(*time);
        }
    }

    fn total(&self) -> Option<Span> {
        self.0.values().copied().reduce(|sum, span| sum + span)
    }
}

pub(super) fn line(row: &LogRow<'_>) -> Vec<u8> {
    let mut line = serde_json::to_vec(row).expect("a row is always JSON");
    line.push(b'\n');
    line
}

fn open_to_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn start_message(run: &RunId) -> String {
    format!("run {run} started")
}

/// Returns the run that starts with this row.
fn started_run(row: &str) -> Option<RunId> {
    let row: Value = serde_json::from_str(row).ok()?;
    let message = row["message"].as_str().filter(|_| row["event"] == "shell")?;
    let run = message.strip_prefix("run ")?.strip_suffix(" started")?;
    (!run.contains(' ')).then(|| run.into())
}

/// Returns whether the id is that of a run of this workflow. Agents can change the log, so a name in it is no proof.
fn is_run_of(run: &RunId, workflow: &RunId) -> bool {
    let rest = run.as_str().strip_prefix(workflow.as_str());
    rest.is_some_and(|rest| rest.starts_with('-') && !rest.contains('/'))
}

/// Returns the rows of all other runs: those of a run end where the next one starts.
fn without_rows_of(text: &str, run: &RunId) -> String {
    let mut is_own = false;
    let others = text.split_inclusive('\n').filter(|row| {
        is_own = started_run(row).map_or(is_own, |started| started == *run);
        !is_own
    });
    others.collect()
}

/// Adds the row of a message. Prompts, notes, results and blank texts have none.
fn add_row(rows: &mut Vec<u8>, at: Moment, message: &TranscriptMessage) {
    let input: Value = message
        .input
        .as_ref()
        .and_then(|input| serde_json::from_str(input.get()).ok())
        .unwrap_or_else(|| json!({}));
    let content = message.text();
    let event = match message.kind {
        EventKind::Thinking => LogEvent::Thinking { content: content.trim() },
        EventKind::Text if message.origin == MessageOrigin::Model => {
            LogEvent::Text { content: content.trim() }
        }
        EventKind::ToolCall => {
            LogEvent::ToolCall { tool: message.tool.as_deref().unwrap_or_default(), input: &input }
        }
        EventKind::ToolResult => LogEvent::ToolResult { content },
        EventKind::Text | EventKind::Prompt | EventKind::Note | EventKind::Summary | EventKind::Result => {
            return;
        }
    };
    if !matches!(event, LogEvent::Thinking { content: "" } | LogEvent::Text { content: "" }) {
        rows.extend(line(&LogRow { ts: at.into(), event }));
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ApiTime, EventKind, Home, MessageOrigin, Moment, RunId, RunLog, Span, TranscriptMessage, add_row,
        without_rows_of,
    };
    use longhaul_agent::transcript_message::ResultDetails;
    use longhaul_core::{Preset, RunSpec};
    use longhaul_store::{Day, Placement, Plan};
    use std::fs;

    #[test]
    fn rows_of_a_run_end_where_the_next_one_starts() {
        let row = |message: &str| format!("{{\"event\":\"shell\",\"message\":\"{message}\"}}\n");
        let rows_of = |run: &str| {
            let failed = format!("run {run} finished as failed: the server was not started");
            row(&format!("run {run} started")) + "{\"event\":\"text\"}\n" + &row(&failed)
        };
        let [first, second, third] = ["w-1-prover-1", "w-1-prover-2", "w-1-prover-3"].map(rows_of);
        let log = format!("{first}{second}{third}");
        let check = |run: &str, expected: String| assert_eq!(without_rows_of(&log, &run.into()), expected);
        check("w-1-prover-1", format!("{second}{third}"));
        check("w-1-prover-2", format!("{first}{third}"));
        check("w-1-prover-3", format!("{first}{second}"));
        check("w-1-prover-4", log.clone());
    }

    #[test]
    fn raw_messages_of_a_run_that_ends_twice_occur_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = Home::open(Some(dir.path().join("home")), |_| None).expect("a home");
        let log = dir.path().join("prover.jsonl");
        let end_attempt = |run: &RunId, number: u32, text: &str| {
            let run_log = RunLog::open(log.clone(), run.clone()).expect("the log is writable");
            let run_dir = home.run_with_id(run).expect("the home is readable").expect("the run exists");
            let attempt = run_dir.attempt(number).create().expect("a new attempt");
            fs::write(attempt.stream_path(), text).expect("the attempt is writable");
            run_log.write_raw(&home, &"w".into()).expect("the file is writable");
        };
        let runs = ["w-1-prover-1", "w-1-prover-2"].map(RunId::from);
        let day: Day = "2025-11-22".parse().expect("a date");
        for run in &runs {
            let program = std::env::current_exe().expect("a path");
            let spec = RunSpec::new(program, dir.path(), "p", Preset::Default.policy());
            let plan = Plan::new(spec, Moment(7), "4b1d".to_owned());
            let placement = Placement { id: Some(run.clone()), ..Placement::default() };
            home.create_run_at(&placement, &day, 7, &plan).expect("a new run");
        }
        end_attempt(&runs[0], 1, "a\n");
        end_attempt(&runs[1], 1, "b\n");
        end_attempt(&runs[0], 2, "c\n");
        let raw = fs::read_to_string(dir.path().join("prover.raw.jsonl")).expect("a file");
        assert_eq!(raw, "b\na\nc\n");
    }

    #[test]
    fn texts_of_the_model_are_trimmed() {
        let check = |kind: EventKind, text: &str, expected: &str| {
            let message = TranscriptMessage {
                content: Some(text.to_owned()),
                ..TranscriptMessage::new(kind, MessageOrigin::Model, 1)
            };
            let mut rows = Vec::new();
            add_row(&mut rows, Moment(0), &message);
            let row: serde_json::Value = serde_json::from_slice(&rows).unwrap_or_default();
            assert_eq!(row["content"].as_str().unwrap_or("no row"), expected);
        };
        check(EventKind::Thinking, "  It is a ring.\n", "It is a ring.");
        check(EventKind::Text, " Done.", "Done.");
        check(EventKind::Text, " \n", "no row");
        check(EventKind::Prompt, "Prove it.", "no row");
    }

    #[test]
    fn last_results_of_all_sessions_add_up() {
        let total = |results: &[(&str, Option<u64>)]| {
            let mut time = ApiTime::default();
            for (session, duration_api_ms) in results {
                time.add(&TranscriptMessage {
                    session_id: Some((*session).to_owned()),
                    outcome: Some(ResultDetails {
                        duration_api_ms: *duration_api_ms,
                        ..ResultDetails::default()
                    }),
                    ..TranscriptMessage::new(EventKind::Result, MessageOrigin::Agent, 1)
                });
            }
            time.add(&TranscriptMessage::new(EventKind::Text, MessageOrigin::Model, 1));
            time.total()
        };
        assert_eq!(total(&[("a", Some(900)), ("a", Some(1_500)), ("b", Some(40))]), Some(Span(1_540)));
        assert_eq!(total(&[("a", None)]), None);
    }
}

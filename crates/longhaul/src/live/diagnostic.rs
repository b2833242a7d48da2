//! Writes diagnostic texts for people, one for each noteworthy event of a run. Such an event is a failed
//! attempt, a stop and its cause, a wait, a resume strategy, a takeover, or the outcome. No code reads the
//! texts, and a failed write never fails the run.
//!
//! The run's request enables them, or a file `.claude/diagnostic_mode` in the agent's working directory. The
//! file is checked when an attempt starts. The texts are written to the run's `diagnostic/`. If the file
//! enables them, they are also written to `.claude/diagnostic/`.

mod notes;
mod secrets;

use super::subscriber::{Subscriber, WorldView};
use crate::Environment;
use crate::file_end::tail;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{FoundAttempt, Moment, Policy, Record, Run, Step};
use longhaul_store::{AttemptExit, RunDir, rfc3339, write_diagnostic};
use notes::DiagnosticNote;
use secrets::Secrets;
use std::path::{Path, PathBuf};

/// File that enables diagnostics for a project, relative to the agent's working directory.
const FLAG: &str = ".claude/diagnostic_mode";
/// Directory of a project's diagnostics, relative to the agent's working directory.
const PROJECT_DIR: &str = ".claude/diagnostic";
// A run of a week that waits every five minutes stays below this. More files would clutter a project.
const NOTES_MAX: u32 = 4_000;
// The last messages of a crashing agent fit in less. The attempt's `stderr.log` has the full text.
const STDERR_BYTES_MAX: u64 = 4 * 1024;

pub(crate) struct Diagnostic {
    requested: bool,
    flagged: bool,
    dir: RunDir,
    cwd: PathBuf,
    secrets: Secrets,
    remaining_notes: u32,
}

impl Diagnostic {
    pub(crate) fn new(requested: bool, dir: &RunDir, cwd: &Path, environment: &Environment) -> Diagnostic {
        let flagged = cwd.join(FLAG).is_file();
        let secrets = Secrets::new(environment);
        Diagnostic {
            requested,
            flagged,
            dir: dir.clone(),
            cwd: cwd.to_owned(),
            secrets,
            remaining_notes: NOTES_MAX,
        }
    }

    fn is_on(&self) -> bool {
        (self.requested || self.flagged) && self.remaining_notes > 0
    }

    fn write(&mut self, run: &Run, at: Moment, note: DiagnosticNote, spawn_error: Option<&str>) {
        self.remaining_notes = self.remaining_notes.saturating_sub(1);
        let stem = format!("{}_{}", file_stamp(at), note.name);
        let text = self.text(run, at, &note, spawn_error);
        // A failing recorder never fails the work it records.
        let _ = write_diagnostic(&self.dir.diagnostic_path(), &stem, &text);
        if self.flagged {
            let _ = write_diagnostic(&self.cwd.join(PROJECT_DIR), &stem, &text);
        }
    }

    fn text(&self, run: &Run, at: Moment, note: &DiagnosticNote, spawn_error: Option<&str>) -> String {
        let state = run.state();
        let attempt = self.dir.attempt(state.attempts());
        let mut lines = vec![
            ("at", rfc3339(at)),
            ("run", self.dir.id().to_string()),
            ("attempt", state.attempts().to_string()),
            ("session", state.session.as_ref().map_or("none".to_owned(), ToString::to_string)),
            ("directory", self.cwd.display().to_string()),
        ];
        lines.extend(note.lines.iter().cloned());
        let mut text = format!("{}\n\n", note.title);
        if note.is_ending {
            // Without an exit file, no supervisor observed the end, or there was no process.
            let exit =
                attempt.read::<AttemptExit>().ok().flatten().map(|observed| notes::wire_text(&observed.exit));
            lines.push(("exit", exit.unwrap_or_else(|| "unobserved".to_owned())));
            lines.extend(spawn_error.map(|error| ("start", error.to_owned())));
        }
        for (name, value) in lines {
            text.push_str(&format!("{name:<11}{value}\n"));
        }
        let stderr = if note.is_ending { tail(&attempt.stderr_path(), STDERR_BYTES_MAX).ok() } else { None };
        let stderr = stderr.as_deref().unwrap_or_default().trim_end();
        if !stderr.is_empty() {
            text.push_str(&format!("\nthe end of {}:\n{stderr}\n", attempt.stderr_path().display()));
        }
        self.secrets.redact(&text)
    }
}

impl Subscriber for Diagnostic {
    fn on_step(&mut self, run: &Run, _policy: &Policy, view: &WorldView<'_>, step: &Step) {
        for record in &step.records {
            if let Record::AttemptStarted { .. } = record {
                self.flagged = self.cwd.join(FLAG).is_file();
            }
            if self.is_on() {
                notes::describe_record(record, run)
                    .into_iter()
                    .for_each(|note| self.write(run, view.at, note, view.spawn_error));
            }
        }
    }

    fn on_takeover(&mut self, run: &Run, at: Moment, found: &FoundAttempt) {
        if self.is_on() {
            self.write(run, at, notes::describe_takeover(found), None);
        }
    }
}

/// Formats the moment for file names, in local time: `20261122_150838`.
fn file_stamp(at: Moment) -> String {
    let timestamp = Timestamp::from_millisecond(at.0 as i64).unwrap_or(Timestamp::MAX);
    timestamp.to_zoned(TimeZone::system()).strftime("%Y%m%d_%H%M%S").to_string()
}

#[cfg(test)]
mod tests;

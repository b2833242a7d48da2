//! Texts for people about what happened in a run, one for each noteworthy event: an attempt that failed, a stop and its
//! reason, a wait, a rung of the ladder, a recovery, the outcome. Nothing reads them, and what cannot be written is left
//! out: no work fails for its diagnosis.
//!
//! They are asked for by the run itself, or by a file `.claude/diagnostic_mode` in the directory that the agent works
//! in, which is looked for when an attempt starts. They are in the run's `diagnostic/`; where that file asked for them,
//! the same texts are in `.claude/diagnostic/`, too.

mod notes;
mod secrets;

use crate::Environment;
use crate::live::tail_of;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{FoundAttempt, Moment, Record, Run, Step};
use longhaul_store::{RunDir, rfc3339, write_diagnostic};
use notes::DiagnosticNote;
use secrets::Secrets;
use std::path::{Path, PathBuf};

/// The file by which a project asks for texts, below the directory that the agent works in.
const FLAG: &str = ".claude/diagnostic_mode";
/// Where they are then.
const PROJECT_DIR: &str = ".claude/diagnostic";
// A run of a week that waits every five minutes stays below; more would fill a project.
const NOTES_MAX: u32 = 4_000;
// The last words of an agent that dies fit in less; whoever wants all of them finds them in the attempt's `stderr.log`.
const STDERR_BYTES_MAX: usize = 4 * 1024;

/// What leaves the texts of one supervisor.
pub(crate) struct Diagnostic {
    /// Whether the run asked for them.
    follow_ups: bool,
    /// Whether the project does.
    flagged: bool,
    dir: RunDir,
    cwd: PathBuf,
    secrets: Secrets,
    remaining_bytes: u32,
}

impl Diagnostic {
    pub(crate) fn new(asked: bool, dir: &RunDir, cwd: &Path, environment: &Environment) -> Diagnostic {
        let flagged = cwd.join(FLAG).is_file();
        let secrets = Secrets::new(environment);
        Diagnostic {
            follow_ups: asked,
            flagged,
            dir: dir.clone(),
            cwd: cwd.to_owned(),
            secrets,
            remaining_bytes: NOTES_MAX,
        }
    }

    /// A step was made and written down.
    pub(crate) fn stepped(&mut self, run: &Run, at: Moment, step: &Step, spawn_error: Option<&str>) {
        for record in &step.records {
            if let Record::AttemptStarted { .. } = record {
                self.flagged = self.cwd.join(FLAG).is_file();
            }
            if self.is_on() {
                notes::of(record, run).into_iter().for_each(|note| self.leave(run, at, note, spawn_error));
            }
        }
    }

    /// A new supervisor took the run over.
    pub(crate) fn recovered(&mut self, run: &Run, at: Moment, found: &FoundAttempt) {
        if self.is_on() {
            self.leave(run, at, notes::of_recovery(found), None);
        }
    }

    fn is_on(&self) -> bool {
        (self.follow_ups || self.flagged) && self.remaining_bytes > 0
    }

    fn leave(&mut self, run: &Run, at: Moment, note: DiagnosticNote, spawn_error: Option<&str>) {
        self.remaining_bytes = self.remaining_bytes.saturating_sub(1);
        let stem = format!("{}_{}", stamp(at), note.name);
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
            // No exit file: nobody saw the end, or there was no process.
            let exit = attempt.exit().ok().flatten().map(|seen| notes::word(&seen.exit));
            lines.push(("exit", exit.unwrap_or_else(|| "unseen".to_owned())));
            lines.extend(spawn_error.map(|error| ("start", error.to_owned())));
        }
        for (name, value) in lines {
            text.push_str(&format!("{name:<11}{value}\n"));
        }
        let stderr = if note.is_ending { tail_of(&attempt.stderr_path()) } else { String::new() };
        let stderr = end_of(stderr.trim_end(), STDERR_BYTES_MAX);
        if !stderr.is_empty() {
            text.push_str(&format!("\nthe end of {}:\n{stderr}\n", attempt.stderr_path().display()));
        }
        self.secrets.hidden_in(&text)
    }
}

/// The end of a text, in whole lines if there are any.
fn end_of(text: &str, bytes_max: usize) -> &str {
    let least = text.len().saturating_sub(bytes_max);
    let start = (least..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let end = &text[start..];
    match end.split_once('\n') {
        Some((_, lines)) if start > 0 => lines,
        Some(_) | None => end,
    }
}

/// The moment as names of files have it, in local time: `20261122_150838`.
fn stamp(at: Moment) -> String {
    let timestamp = Timestamp::from_millisecond(at.0 as i64).unwrap_or(Timestamp::MAX);
    timestamp.to_zoned(TimeZone::system()).strftime("%Y%m%d_%H%M%S").to_string()
}

#[cfg(test)]
mod tests;

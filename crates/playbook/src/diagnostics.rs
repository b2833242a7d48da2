//! Writes diagnostics for people: the questions to a judge and its errors, with the file names and lines of
//! the ACE playbook hooks.
//!
//! A project enables them with a file `.claude/diagnostic_mode`. The program never reads them and ignores
//! write errors.

use crate::judge::RequestEvent;
use crate::judging::JudgeQuestion;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{GiveUpReason, Moment, Span};
use longhaul_store::write_diagnostic;
use std::path::{Path, PathBuf};

const RULE: &str = "================================================================================";
// The file name also has a date; file systems allow 255 bytes.
const NAME_CHARS_MAX: usize = 100;

/// Writes the diagnostics of one project.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    dir: PathBuf,
    zone: TimeZone,
}

/// Returns whether diagnostics can have this name. It becomes part of a file name.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    !name.trim().is_empty() && name.chars().count() <= NAME_CHARS_MAX && name.chars().all(is_plain)
}

/// Returns the names of a question: the function of the hooks that asks it, the file names for failed requests
/// and for answers, and the prefix of the headings.
fn names(question: JudgeQuestion) -> [&'static str; 4] {
    match question {
        JudgeQuestion::Reflector => ["run_reflector", "retry_reflector", "reflector", "REFLECTOR "],
        JudgeQuestion::Curator => ["run_curator", "retry_curator", "curator", "CURATOR "],
        JudgeQuestion::Keypoints => ["extract_keypoints", "retry_extract_keypoints", "reflection", ""],
    }
}

impl Diagnostics {
    /// Creates the diagnostics of a project, with file names in this time zone.
    pub fn in_project(project: &Path, zone: TimeZone) -> Diagnostics {
        Diagnostics { dir: project.join(".claude"), zone }
    }

    /// Writes a file if the project enables diagnostics. Never overwrites one.
    pub fn write(&self, at: Moment, name: &str, text: &str) {
        if !self.dir.join("diagnostic_mode").exists() || !is_name(name) {
            return;
        }
        let at = Timestamp::from_millisecond(at.0.cast_signed()).unwrap_or(Timestamp::MAX);
        let stem = format!("{}_{name}", at.to_zoned(self.zone.clone()).strftime("%Y%m%d_%H%M%S"));
        // Diagnostics never cause a failure.
        let _ = write_diagnostic(&self.dir.join("diagnostic"), &stem, text);
    }

    /// Writes a question and its answer, to a file of this name or of the question's own.
    pub fn write_answer(
        &self,
        at: Moment,
        question: JudgeQuestion,
        name: Option<&str>,
        prompt: &str,
        answer: &str,
    ) {
        let [_, _, own_name, heading] = names(question);
        let text = format!("# {heading}PROMPT\n{prompt}\n\n{RULE}\n\n# {heading}RESPONSE\n{answer}\n");
        self.write(at, name.unwrap_or(own_name), &text);
    }

    /// Writes a failed request, or one that succeeded after others failed.
    pub fn write_request(&self, at: Moment, question: JudgeQuestion, event: RequestEvent<'_>) {
        let [function, retries, ..] = names(question);
        if let Some(line) = line(function, event) {
            self.write(at, retries, &line);
        }
    }
}

/// Returns the line that the hooks write, or `None` if the first request succeeded.
fn line(function: &str, event: RequestEvent<'_>) -> Option<String> {
    Some(match event {
        RequestEvent::Answered { request: ..=1 } => return None,
        RequestEvent::Answered { request } => {
            format!("{function}() succeeded on attempt {request} after {} retries.", request - 1)
        }
        RequestEvent::Retrying { request, requests_max, error, wait } => format!(
            "Retry attempt {request}/{requests_max} failed: {}: {error}. Next attempt in {}s",
            error.class(),
            tenths(wait)
        ),
        RequestEvent::GivenUp { reason: GiveUpReason::RetriesExhausted, requests_max, .. } => {
            format!("All {requests_max} attempts failed for {function}(). Returning empty result.")
        }
        RequestEvent::GivenUp { reason: GiveUpReason::NotRetryable, error, .. } => {
            format!(
                "Non-retryable error in {function}(): {}: {error}. Returning empty result.",
                error.class()
            )
        }
        // The hooks have no time budget and therefore no line for it.
        RequestEvent::GivenUp { reason: GiveUpReason::OutOfTime, request, requests_max, error } => format!(
            "Out of time after attempt {request}/{requests_max} in {function}(): {}: {error}. Returning empty result.",
            error.class()
        ),
    })
}

fn tenths(span: Span) -> String {
    let tenths = span.millis().saturating_add(50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests;

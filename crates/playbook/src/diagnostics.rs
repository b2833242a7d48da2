//! Texts for people about what a judge was asked and what went wrong, in the places and the lines of the ACE playbook hooks:
//! a project asks for them by a file `.claude/diagnostic_mode`. Nothing reads them, and what cannot be written is left out.

use crate::judge::{RequestEvent, RequestObserver};
use crate::judging::JudgeQuestion;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{GiveUpReason, Moment, Span};
use longhaul_store::write_diagnostic;
use std::path::{Path, PathBuf};

/// Stands between a prompt and its answer.
const RULE: &str = "================================================================================";
// The name of a file with a date before it; systems allow 255 bytes.
const NAME_CHARS_MAX: usize = 100;

/// What leaves the texts of one project.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// The project's `.claude`.
    dir: PathBuf,
    zone: TimeZone,
}

/// Who is asked, as texts about it have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The function of the hooks that asks.
    pub function: &'static str,
    /// The name of texts about requests that failed.
    pub retries: &'static str,
    /// The name of texts with an answer, where nobody chose another.
    pub answer: &'static str,
    /// What the headings of such a text begin with.
    heading: &'static str,
}

/// The one question about a whole transcript.
pub const KEYPOINTS: Asked = Asked {
    function: "extract_keypoints",
    retries: "retry_extract_keypoints",
    answer: "reflection",
    heading: "",
};
/// The question what helped.
const REFLECTOR: Asked = Asked {
    function: "run_reflector",
    retries: "retry_reflector",
    answer: "reflector",
    heading: "REFLECTOR ",
};
/// The question what the playbook is to say.
const CURATOR: Asked =
    Asked { function: "run_curator", retries: "retry_curator", answer: "curator", heading: "CURATOR " };

/// Whether texts can be named so: it becomes a part of a file's name.
pub fn is_name(name: &str) -> bool {
    let is_plain = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.' | ' ');
    !name.trim().is_empty() && name.chars().count() <= NAME_CHARS_MAX && name.chars().all(is_plain)
}

impl Asked {
    /// Who is asked this.
    pub(crate) fn new(question: JudgeQuestion) -> Asked {
        match question {
            JudgeQuestion::Reflector => REFLECTOR,
            JudgeQuestion::Curator => CURATOR,
            JudgeQuestion::Keypoints => KEYPOINTS,
        }
    }
}

impl Diagnostics {
    /// Those of a project, named by the time of this zone.
    pub fn of_project(project: &Path, zone: TimeZone) -> Diagnostics {
        Diagnostics { dir: project.join(".claude"), zone }
    }

    /// Leaves a text, if the project asks for texts. Never one in the place of another.
    pub fn write(&self, at: Moment, name: &str, text: &str) {
        if !self.dir.join("diagnostic_mode").exists() || !is_name(name) {
            return;
        }
        let at = Timestamp::from_millisecond(at.0.cast_signed()).unwrap_or(Timestamp::MAX);
        let stem = format!("{}_{name}", at.to_zoned(self.zone.clone()).strftime("%Y%m%d_%H%M%S"));
        // Nothing fails for its diagnosis.
        let _ = write_diagnostic(&self.dir.join("diagnostic"), &stem, text);
    }

    /// A question was answered so.
    pub fn answered(&self, at: Moment, asked: Asked, name: &str, prompt: &str, answer: &str) {
        let heading = asked.heading;
        let text = format!("# {heading}PROMPT\n{prompt}\n\n{RULE}\n\n# {heading}RESPONSE\n{answer}\n");
        self.write(at, name, &text);
    }

    /// Who tells of requests that failed.
    pub fn request_observer(&self, asked: Asked) -> RetryDiagnostics {
        RetryDiagnostics { diagnostics: self.clone(), asked }
    }
}

/// Tells of requests that failed.
#[derive(Clone, Debug)]
pub struct RetryDiagnostics {
    diagnostics: Diagnostics,
    asked: Asked,
}

impl RequestObserver for RetryDiagnostics {
    fn on_request(&self, at: Moment, asking: &RequestEvent<'_>) {
        if let Some(line) = line(self.asked.function, asking) {
            self.diagnostics.write(at, self.asked.retries, &line);
        }
    }
}

/// What the hooks say of it; nothing if all went well.
fn line(function: &str, asking: &RequestEvent<'_>) -> Option<String> {
    Some(match *asking {
        RequestEvent::Answered { request: ..=1 } => return None,
        RequestEvent::Answered { request } => {
            format!("{function}() succeeded on attempt {request} after {} retries.", request - 1)
        }
        RequestEvent::Retrying { request, of, error, wait } => format!(
            "Retry attempt {request}/{of} failed: {}: {error}. Next attempt in {}s",
            error.class(),
            tenths(wait)
        ),
        RequestEvent::GivenUp { reason: GiveUpReason::RetriesExhausted, of, .. } => {
            format!("All {of} attempts failed for {function}(). Returning empty result.")
        }
        RequestEvent::GivenUp { reason: GiveUpReason::NotRetryable, error, .. } => {
            format!(
                "Non-retryable error in {function}(): {}: {error}. Returning empty result.",
                error.class()
            )
        }
        // The hooks know no time budget, and have no line for it.
        RequestEvent::GivenUp { reason: GiveUpReason::OutOfTime, request, of, error } => format!(
            "Out of time after attempt {request}/{of} in {function}(): {}: {error}. Returning empty result.",
            error.class()
        ),
    })
}

/// Seconds with one decimal, the nearest one.
fn tenths(span: Span) -> String {
    let tenths = span.millis().saturating_add(50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests;

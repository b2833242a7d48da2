//! Errors of workflow files: position, excerpt and hint.

use longhaul_core::did_you_mean;
use std::fmt::{self, Display};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Characters of a line that an excerpt shows; a longer line is cut around the error.
const EXCERPT_CHARS_MAX: usize = 100;

/// An error in a workflow file. `Display` is what failed, with its position and an excerpt with a caret;
/// [`hint`](WorkflowFileError::hint) is what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowFileError {
    message: String,
    excerpt: String,
    hint: String,
    option: Option<OptionError>,
}

/// The option or parameter that an error is about, by the name that the caller passed or must pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// `from` names no phase.
    From(String),
    /// `only` names no phase.
    Only(String),
    /// `skip` names something else than a phase.
    Skip(String),
    /// `skip` names every phase.
    SkipsAll,
    /// The file has no such parameter.
    UnknownParameter(String),
    /// A required parameter has no value.
    MissingParameter(String),
}

impl WorkflowFileError {
    /// Creates an error that has no position in the file.
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> WorkflowFileError {
        WorkflowFileError { message: message.into(), excerpt: String::new(), hint: hint.into(), option: None }
    }

    /// Adds the option that the error is about.
    pub(crate) fn about(self, option: OptionError) -> WorkflowFileError {
        WorkflowFileError { option: Some(option), ..self }
    }

    /// Returns the option that the error is about, or `None` if it is only about the file.
    pub fn option(&self) -> Option<&OptionError> {
        self.option.as_ref()
    }

    /// Returns what to do about the error.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl std::error::Error for WorkflowFileError {}

impl Display for WorkflowFileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.message, self.excerpt)
    }
}

/// The text of a file with its path, for positions of errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceText {
    pub path: Arc<Path>,
    pub text: Arc<str>,
}

impl SourceText {
    pub fn new(path: &Path, text: &str) -> SourceText {
        SourceText { path: path.into(), text: text.into() }
    }

    /// Creates an error at these bytes.
    pub fn error(
        &self,
        span: Range<usize>,
        message: impl Display,
        hint: impl Into<String>,
    ) -> WorkflowFileError {
        let (number, line) = self.line(span.start);
        let text = &self.text[line.clone()];
        let column = self.text[line.start..span.start].chars().count();
        let width = self.text[span.start..span.end.clamp(span.start, line.end)].chars().count();
        WorkflowFileError {
            message: format!("cannot read {}:{number}:{}: {message}", self.path.display(), column + 1),
            excerpt: excerpt(number, text, column, width),
            hint: hint.into(),
            option: None,
        }
    }

    /// Creates an error at the first occurrence of `word` in this line, or at its first character.
    pub fn error_on_line(
        &self,
        number: usize,
        word: &str,
        message: impl Display,
        hint: impl Into<String>,
    ) -> WorkflowFileError {
        let lines = self.text.split_inclusive('\n').take(number.saturating_sub(1));
        let start = lines.map(str::len).sum();
        let (_, line) = self.line(start);
        let text = &self.text[line.clone()];
        let found = text.find(word).filter(|_| !word.is_empty());
        let start = line.start + found.unwrap_or(text.len() - text.trim_start().len());
        let end = if found.is_some() { start + word.len() } else { line.end };
        self.error(start..end, message, hint)
    }

    /// Returns the number of the line with this byte, starting at 1.
    pub fn line_number(&self, offset: usize) -> usize {
        self.line(offset).0
    }

    /// Returns the line with this byte: its number and its range without the line break.
    fn line(&self, offset: usize) -> (usize, Range<usize>) {
        let (before, after) = self.text.split_at(offset);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = offset + after.find('\n').unwrap_or(after.len());
        (1 + before.matches('\n').count(), start..end)
    }
}

/// Returns the line with carets below the `width` characters at `column`, which counts from 0.
fn excerpt(number: usize, line: &str, column: usize, width: usize) -> String {
    // The caret stays within the window, with some text before it.
    let skipped = if column < EXCERPT_CHARS_MAX { 0 } else { column - EXCERPT_CHARS_MAX / 2 };
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let shown: String = line.chars().skip(skipped).take(EXCERPT_CHARS_MAX).map(visible).collect();
    let column = column - skipped;
    let width = width.min(shown.chars().count().saturating_sub(column)).max(1);
    let (number, margin) = (number.to_string(), " ".repeat(number.to_string().len()));
    format!(
        "\n{margin} |\n{number} | {}\n{margin} | {}{}",
        shown.trim_end(),
        " ".repeat(column),
        "^".repeat(width)
    )
}

/// Returns the similar names, or all of them.
pub(crate) fn suggestion(kind: &str, name: &str, known: &[&str]) -> String {
    let near = did_you_mean(name, known.iter().copied());
    match (near.as_slice(), known) {
        ([], []) => format!("there are no {kind}"),
        ([], known) => format!("the {kind} are {}", known.join(", ")),
        (near, _) => format!("did you mean {}?", near.join(" or ")),
    }
}

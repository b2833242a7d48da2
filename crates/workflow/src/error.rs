//! Errors of workflow files: position, excerpt and hint.

use std::fmt;
use std::path::PathBuf;

/// An error in a workflow file. `Display` is what failed, with its position and an excerpt with a caret;
/// [`hint`](WorkflowFileError::hint) is what to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowFileError {
    path: PathBuf,
    line: usize,
    column: usize,
    message: String,
    excerpt: String,
    hint: String,
}

impl WorkflowFileError {
    /// Returns what to do about the error.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl std::error::Error for WorkflowFileError {}

impl fmt::Display for WorkflowFileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkflowFileError { path, line, column, message, excerpt, .. } = self;
        write!(out, "cannot read {}:{line}:{column}: {message}\n{excerpt}", path.display())
    }
}

//! Prompts with variables.

use longhaul_core::{Span, Usd};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The values of the variables of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct PromptContext<'a> {
    /// Id of the workflow.
    pub workflow: &'a str,
    /// Number of the iteration, starting at 1.
    pub iteration: u32,
    /// Maximum number of iterations.
    pub iterations_max: u32,
    /// Item and its number, starting at 1, in a phase with items.
    pub item: Option<(&'a Value, u32)>,
    /// Text of `--focus`.
    pub focus: Option<&'a str>,
    /// Texts of `longhaul hint` that no phase has received.
    pub hints: &'a [String],
    /// Last result of each phase; with items, a list with `null` for each run without a result.
    pub results: &'a BTreeMap<String, Value>,
    /// Remaining budget of the workflow. `None` is unlimited.
    pub remaining_budget: Option<Usd>,
    /// Remaining working time of the workflow. `None` is unlimited.
    pub remaining_time: Option<Span>,
    /// Parameters of the workflow: [`WorkflowFile::parameters`](crate::WorkflowFile::parameters).
    pub parameters: &'a BTreeMap<String, String>,
    /// Directory whose files `read` returns.
    pub project_dir: &'a Path,
}

/// A prompt with variables, checked when the file was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate {
    source: String,
    path: PathBuf,
}

impl PromptTemplate {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is missing, if a file cannot be read, or if the prompt becomes too long.
    pub fn render(&self, context: &PromptContext<'_>) -> Result<String, TemplateError> {
        let _ = (context, &self.path, &self.source);
        todo!()
    }

    /// Returns whether the prompt uses `hints`.
    pub fn uses_hints(&self) -> bool {
        todo!()
    }
}

/// A prompt that could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot render the prompt at {}:{line}: {reason}", path.display())]
pub struct TemplateError {
    /// File of the template.
    pub path: PathBuf,
    /// Line in that file, starting at 1.
    pub line: usize,
    /// Cause.
    pub reason: String,
}

//! Prompts with variables, in the syntax of Jinja. A template reads files of the project, and never anything else.

mod check;
mod environment;

use crate::error::SourceText;
use environment::{environment, undefined_error};
use longhaul_core::{Span, Usd};
use minijinja::value::Serde;
use minijinja::{ErrorKind, Value as Variable, context};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use check::PromptScope;

/// Size limit of a rendered prompt: more than any context window holds.
const PROMPT_BYTES_MAX: usize = 1 << 20;

/// The values of the variables of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct PromptContext<'a> {
    /// Id of the workflow.
    pub workflow: &'a str,
    /// Number of the iteration, starting at 1.
    pub iteration: u32,
    /// Maximum number of iterations.
    pub iterations_max: u32,
    /// Item, in a phase with items.
    pub item: Option<PromptItem<'a>>,
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

/// The item of a run.
#[derive(Clone, Copy, Debug)]
pub struct PromptItem<'a> {
    /// Its value.
    pub value: &'a Value,
    /// Its number, starting at 1.
    pub number: u32,
    /// Its name for files, which no other item has: see [`slugs`](crate::archon::slugs).
    pub slug: &'a str,
}

impl PromptContext<'_> {
    fn variables(&self) -> Variable {
        let remaining = context! {
            budget_usd => self.remaining_budget.map(Usd::as_dollars),
            seconds => self.remaining_time.map(|time| time.millis() / 1000),
        };
        let variables = context! {
            workflow => self.workflow,
            iteration => self.iteration,
            iterations_max => self.iterations_max,
            focus => self.focus.unwrap_or_default(),
            hints => self.hints.to_vec(),
            results => Variable::from(Serde(self.results)),
            parameters => Variable::from(Serde(self.parameters)),
            remaining,
        };
        match self.item {
            None => variables,
            Some(PromptItem { value, number, slug }) => {
                let item = Variable::from(Serde(value));
                context! { item, item_number => number, item_slug => slug, ..variables }
            }
        }
    }
}

/// A prompt with variables, checked when the file was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate {
    template: String,
    source: SourceText,
    /// First and last line of the template in the file. Escapes in a TOML string make the lines between inexact.
    lines: (usize, usize),
    uses_hints: bool,
}

impl PromptTemplate {
    /// Renders the prompt.
    ///
    /// # Errors
    /// Returns an error if a value is missing, if a file cannot be read, or if the prompt is empty or too long.
    pub fn render(&self, context: &PromptContext<'_>) -> Result<String, TemplateError> {
        let environment = environment(context.project_dir);
        let template = environment.template_from_str(&self.template);
        let rendered = template.and_then(|template| template.render(context.variables()));
        let prompt = rendered.map_err(|error| self.error(error.line(), reason(&error, &self.template)))?;
        if prompt.trim().is_empty() {
            return Err(self.error(None, "the prompt is empty".to_owned()));
        }
        if prompt.len() > PROMPT_BYTES_MAX {
            let reason = format!("the prompt is larger than {} KiB", PROMPT_BYTES_MAX / 1024);
            return Err(self.error(None, reason));
        }
        Ok(prompt)
    }

    /// Returns the template as text.
    pub fn text(&self) -> &str {
        &self.template
    }

    /// Returns whether the prompt uses `hints`.
    pub fn uses_hints(&self) -> bool {
        self.uses_hints
    }

    fn error(&self, line: Option<usize>, reason: String) -> TemplateError {
        TemplateError { path: self.source.path.to_path_buf(), line: self.file_line(line), reason }
    }

    fn file_line(&self, line: Option<usize>) -> usize {
        let index = line.unwrap_or(1).saturating_sub(1);
        (self.lines.0 + index).min(self.lines.1)
    }
}

/// Returns what failed, for people.
fn reason(error: &minijinja::Error, template: &str) -> String {
    let detail = error.detail().map(str::to_owned);
    match error.kind() {
        ErrorKind::UndefinedError => undefined_error(error, template),
        ErrorKind::OutOfFuel => "the template does too much work: use fewer or smaller loops".to_owned(),
        // The detail says it all.
        ErrorKind::InvalidOperation
        | ErrorKind::UnknownFilter
        | ErrorKind::UnknownTest
        | ErrorKind::UnknownFunction => detail.unwrap_or_else(|| error.kind().to_string()),
        kind => detail.map_or_else(|| kind.to_string(), |detail| format!("{kind}: {detail}")),
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

#[cfg(test)]
mod tests;

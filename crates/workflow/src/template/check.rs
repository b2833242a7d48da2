//! Checks a template before any run starts: syntax, variables, filters and functions.

use super::environment::{bare_environment, invalid};
use super::{PromptTemplate, reason};
use crate::WorkflowFileError;
use crate::error::{SourceText, suggestion};
use crate::project_file::check_path;
use minijinja::value::{Enumerator, Kwargs, Object, Rest, Serde};
use minijinja::{ErrorKind, Value as Variable, context};
use regex::Regex;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

const VARIABLES: [&str; 11] = [
    "workflow",
    "iteration",
    "iterations_max",
    "item",
    "item_number",
    "item_slug",
    "focus",
    "hints",
    "results",
    "remaining",
    "parameters",
];
const REMAINING: [&str; 2] = ["budget_usd", "seconds"];
const FUNCTIONS: [&str; 2] = ["read", "stage"];

/// The names that a prompt can use.
pub struct PromptScope<'a> {
    /// Names of all phases.
    pub phases: &'a [&'a str],
    /// Parameters of the workflow.
    pub parameters: &'a BTreeMap<String, String>,
    /// Whether the phase has items.
    pub has_items: bool,
}

impl PromptScope<'_> {
    /// Checks a template. `lines` are its first and last line in the file.
    ///
    /// # Errors
    /// Returns the first error.
    pub fn check(
        &self,
        template: String,
        source: SourceText,
        lines: (usize, usize),
    ) -> Result<PromptTemplate, WorkflowFileError> {
        let mut prompt = PromptTemplate { template, source, lines, uses_hints: false };
        let environment = bare_environment();
        let compiled = environment.template_from_str(&prompt.template);
        let compiled = compiled.map_err(|error| engine_error(&prompt, &error))?;
        let mut names: Vec<String> = compiled.undeclared_variables(true).into_iter().collect();
        names.sort_unstable();
        let known: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
        for name in &names {
            self.check_name(&prompt, name, &known)?;
        }
        for is_true in [true, false] {
            self.try_render(&prompt, is_true)?;
        }
        prompt.uses_hints = names.iter().any(|name| name.split('.').next() == Some("hints"));
        Ok(prompt)
    }

    /// Checks a name with its attributes, such as `results.plan.tasks`.
    fn check_name(
        &self,
        prompt: &PromptTemplate,
        name: &str,
        functions: &[&str],
    ) -> Result<(), WorkflowFileError> {
        let mut parts = name.split('.');
        let (variable, attribute) = (parts.next().unwrap_or_default(), parts.next());
        let fails = |word: &str, message: String, hint: String| Err(name_error(prompt, word, message, hint));
        if matches!(variable, "item" | "item_number" | "item_slug") && !self.has_items {
            let message = format!("the phase has no items, so that `{variable}` does not exist");
            return fails(variable, message, "add `fan_out` to the phase, or remove the variable".to_owned());
        }
        if !VARIABLES.contains(&variable) && !FUNCTIONS.contains(&variable) && !functions.contains(&variable)
        {
            let message = format!("there is no variable `{variable}`");
            return fails(variable, message, suggestion("variables", variable, &VARIABLES));
        }
        let (kind, attributes): (_, Vec<&str>) = match variable {
            "results" => ("phase", self.phases.to_vec()),
            "parameters" => ("parameter", self.parameters.keys().map(String::as_str).collect()),
            "remaining" => ("value", REMAINING.to_vec()),
            _ => return Ok(()),
        };
        match attribute {
            Some(attribute) if !attributes.contains(&attribute) => {
                let message = format!("there is no {kind} `{attribute}` in `{variable}`");
                // `results.my-plan` is a subtraction.
                let dashed = attributes.iter().find(|name| name.starts_with(&format!("{attribute}-")));
                let hint = match dashed {
                    Some(name) => format!("a name with `-` needs brackets: `{variable}[\"{name}\"]`"),
                    None => suggestion(&format!("{kind}s"), attribute, &attributes),
                };
                fails(attribute, message, hint)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Renders the template with samples, to find unknown filters, tests and functions. `is_true` selects the
    /// branches.
    fn try_render(&self, prompt: &PromptTemplate, is_true: bool) -> Result<(), WorkflowFileError> {
        let sample = move || Variable::from_object(Sample { is_true });
        let mut environment = bare_environment();
        for function in FUNCTIONS {
            environment.add_function(function, move |arguments: Rest<Variable>, _: Kwargs| {
                // A sample stands for every path.
                let path = arguments.first().and_then(Variable::as_str);
                // The sample of an empty variable is no path.
                let path = path.filter(|path| !path.is_empty());
                let outside = path.and_then(|path| check_path(Path::new(path)).err());
                outside.map_or_else(|| Ok(sample()), |reason| Err(invalid(reason).with_source(PathOutside)))
            });
        }
        let variables = context! {
            workflow => "kxhfgg",
            iteration => if is_true { 2 } else { 1 },
            iterations_max => 2,
            item => sample(),
            item_number => 1,
            item_slug => "item",
            focus => if is_true { "focus" } else { "" },
            hints => if is_true { vec!["hint"] } else { Vec::new() },
            results => sample(),
            remaining => context! { budget_usd => is_true.then_some(1.5), seconds => is_true.then_some(60) },
            parameters => Variable::from(Serde(self.parameters)),
        };
        let rendered = environment.template_from_str(&prompt.template).and_then(|it| it.render(variables));
        match rendered {
            // Other errors can be due to the samples.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction
                ) || error.source().is_some_and(|source| source.is::<PathOutside>()) =>
            {
                Err(engine_error(prompt, &error))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// Marks the error of a path that leads out of the project.
#[derive(Debug, Error)]
#[error("the path leads out of the project")]
struct PathOutside;

/// A value that has every attribute, for trial.
#[derive(Debug)]
struct Sample {
    is_true: bool,
}

impl Object for Sample {
    fn get_value(self: &Arc<Self>, _: &Variable) -> Option<Variable> {
        Some(Variable::from_object(Sample { is_true: self.is_true }))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(vec![Variable::from_object(Sample { is_true: self.is_true })])
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.is_true
    }

    fn render(self: &Arc<Self>, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("sample")
    }
}

/// Returns an error of the template engine at its line of the file.
fn engine_error(prompt: &PromptTemplate, error: &minijinja::Error) -> WorkflowFileError {
    let word = error.range().and_then(|range| prompt.template.get(range)).unwrap_or_default();
    let message = format!("the template is wrong: {}", reason(error, &prompt.template));
    let hint = "see the templates of Jinja: `{{ variable }}`, `{% if … %} … {% endif %}`, `{% raw %}` for braces as text";
    prompt.source.error_on_line(prompt.file_line(error.line()), word, message, hint)
}

/// Returns an error at the first use of `word` in a tag of the template.
fn name_error(prompt: &PromptTemplate, word: &str, message: String, hint: String) -> WorkflowFileError {
    let line =
        position(&prompt.template, word).map(|offset| 1 + prompt.template[..offset].matches('\n').count());
    prompt.source.error_on_line(prompt.file_line(line), word, message, hint)
}

/// Returns the offset of the first `word` within `{{ … }}` or `{% … %}`.
fn position(template: &str, word: &str) -> Option<usize> {
    let tags = Regex::new(r"(?s)\{[{%].*?[%}]\}").expect("a regular expression");
    let word = Regex::new(&format!(r"\b{}\b", regex::escape(word))).expect("a regular expression");
    tags.find_iter(template).find_map(|tag| Some(tag.start() + word.find(tag.as_str())?.start()))
}

//! Parameters of a workflow: values that its file declares and a user replaces. A required parameter has an empty
//! default.

use crate::error::{SourceText, suggestion};
use crate::{OptionError, WorkflowFileError};
use regex::{Captures, Regex};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

#[derive(Clone, Debug, Default)]
pub struct Parameters {
    pub values: BTreeMap<String, String>,
    spans: BTreeMap<String, Range<usize>>,
}

impl Parameters {
    /// Checks the table `[parameters]` and replaces values with those of the command line.
    pub fn new(
        source: &SourceText,
        table: &BTreeMap<Spanned<String>, String>,
        settings: &[(String, String)],
    ) -> Result<Parameters, WorkflowFileError> {
        let mut parameters = Parameters::default();
        for (key, value) in table {
            let name = key.get_ref();
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !name.chars().all(is_word) || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let message = format!("`{name}` cannot be the name of a parameter");
                let hint = "use letters, digits and `_`, so that `{{ parameters.NAME }}` works";
                return Err(source.error(key.span(), message, hint));
            }
            parameters.values.insert(name.clone(), value.clone());
            parameters.spans.insert(name.clone(), key.span());
        }
        for (name, value) in settings {
            let Some(known) = parameters.values.get_mut(name) else {
                let names: Vec<&str> = parameters.values.keys().map(String::as_str).collect();
                let path = source.path.display();
                let message = format!("there is no parameter `{name}` in {path}");
                let error = WorkflowFileError::new(message, suggestion("parameters", name, &names));
                return Err(error.about(OptionError::UnknownParameter(name.clone())));
            };
            known.clone_from(value);
        }
        Ok(parameters)
    }

    /// Replaces each `{{ parameters.NAME }}` of a text that has a value. Other braces stay, because commands use
    /// them.
    pub fn replace_in(
        &self,
        text: &str,
        source: &SourceText,
        span: Range<usize>,
    ) -> Result<String, WorkflowFileError> {
        let pattern = Regex::new(r"\{\{\s*parameters\.(\w+)\s*\}\}").expect("a regular expression");
        if let Some(unknown) = pattern.captures_iter(text).find(|found| !self.values.contains_key(&found[1]))
        {
            let names: Vec<&str> = self.values.keys().map(String::as_str).collect();
            let message = format!("there is no parameter `{}`", &unknown[1]);
            return Err(source.error(span, message, suggestion("parameters", &unknown[1], &names)));
        }
        let value = |found: &Captures<'_>| {
            let value = self.values.get(&found[1]).filter(|value| !value.trim().is_empty());
            value.map_or_else(|| found[0].to_owned(), String::clone)
        };
        Ok(pattern.replace_all(text, value).into_owned())
    }

    /// Rejects an empty parameter.
    pub fn require(&self, source: &SourceText) -> Result<(), WorkflowFileError> {
        let Some((name, _)) = self.values.iter().find(|(_, value)| value.trim().is_empty()) else {
            return Ok(());
        };
        let span = self.spans.get(name).cloned().unwrap_or_default();
        let message = format!("the parameter `{name}` has no value");
        let error = source.error(span, message, "give it a value");
        Err(error.about(OptionError::MissingParameter(name.clone())))
    }
}

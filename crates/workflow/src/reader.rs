//! Reads tables of a workflow file: unknown keys, wrong types and numbers out of range are errors with a position.

use crate::WorkflowFileError;
use crate::error::{SourceText, suggestion};
use crate::parameters::Parameters;
use crate::sibling_files::SiblingFiles;
use crate::toml_values::in_order;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A value of the file with its position.
pub struct Located<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// The file, the files that it names, and the parameters that its texts can contain.
#[derive(Clone, Copy)]
pub struct FileContext<'a> {
    pub source: &'a SourceText,
    pub files: &'a SiblingFiles,
    pub parameters: &'a Parameters,
}

/// A table of the file with known keys only.
pub struct TableReader<'a> {
    pub file: FileContext<'a>,
    /// Name of the table in errors, such as `[repeat]`.
    title: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
}

impl<'a> TableReader<'a> {
    pub fn new(
        file: FileContext<'a>,
        title: impl Into<String>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
    ) -> TableReader<'a> {
        TableReader { file, title: title.into(), table, span }
    }

    /// Rejects other keys than these.
    pub fn with_keys(self, keys: &[&str]) -> Result<TableReader<'a>, WorkflowFileError> {
        for (key, _) in in_order(self.table) {
            let name = key.get_ref().as_ref();
            if !keys.contains(&name) {
                let message = format!("there is no key `{name}` in {}", self.title);
                let hint = suggestion(&format!("keys of {}", self.title), name, keys);
                return Err(self.file.source.error(key.span(), message, hint));
            }
        }
        Ok(self)
    }

    /// Returns an error about the whole table.
    pub fn error(&self, message: impl Display, hint: impl Into<String>) -> WorkflowFileError {
        self.file.source.error(self.span.clone(), format!("{}: {message}", self.title), hint)
    }

    pub fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    /// Returns the position of a key, or of the table without it.
    pub fn key_span(&self, key: &str) -> Range<usize> {
        self.table.get_key_value(key).map_or(self.span.clone(), |(key, _)| key.span())
    }

    /// Returns a text as it is written.
    pub fn text(&self, key: &str) -> Result<Option<Located<String>>, WorkflowFileError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let DeValue::String(text) = value.get_ref() else {
            return Err(self.type_error(key, value, "a string"));
        };
        if text.trim().is_empty() {
            let message = format!("`{key}` is empty");
            return Err(self.file.source.error(value.span(), message, "write a text between the quotes"));
        }
        Ok(Some(Located { value: text.clone().into_owned(), span: value.span() }))
    }

    /// Returns a text with its parameters replaced.
    pub fn text_with_parameters(&self, key: &str) -> Result<Option<Located<String>>, WorkflowFileError> {
        let Some(Located { value, span }) = self.text(key)? else { return Ok(None) };
        let value = self.file.parameters.replace_in(&value, self.file.source, span.clone())?;
        Ok(Some(Located { value, span }))
    }

    /// Returns a text with a checked form, such as a regular expression.
    pub fn parsed_text<T>(
        &self,
        key: &str,
        hint: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<Located<T>>, WorkflowFileError> {
        let Some(Located { value, span }) = self.text(key)? else { return Ok(None) };
        match parse(&value) {
            Ok(value) => Ok(Some(Located { value, span })),
            Err(error) => Err(self.file.source.error(span, format!("`{key}` is wrong: {error}"), hint)),
        }
    }

    /// Returns an amount, which can be a number or a text. `none` is zero; a typed zero could mean either, so it is
    /// an error.
    pub fn amount<T: Default + PartialEq>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, WorkflowFileError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = match value.get_ref() {
            DeValue::String(text) => self.file.parameters.replace_in(text, self.file.source, value.span())?,
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            _ => return Err(self.type_error(key, value, "an amount, like 10 or \"2h\"")),
        };
        // A parameter without a value is an error later.
        if text == "none" || text.starts_with("{{") {
            return Ok(Some(T::default()));
        }
        let error = match parse(&text) {
            Ok(amount) if amount == T::default() => "it is zero".to_owned(),
            Ok(amount) => return Ok(Some(amount)),
            Err(error) => error,
        };
        let hint = "write an amount above zero, or \"none\"";
        Err(self.file.source.error(value.span(), format!("`{key}` is wrong: {error}"), hint))
    }

    /// Returns a whole number in this range.
    pub fn count(&self, key: &str, range: RangeInclusive<u32>) -> Result<Option<u32>, WorkflowFileError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let DeValue::Integer(number) = value.get_ref() else {
            return Err(self.type_error(key, value, &expected));
        };
        match u32::from_str_radix(&number.as_str().replace('_', ""), number.radix()) {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            Ok(_) | Err(_) => {
                let message = format!("`{key}` of {} is out of range", self.title);
                Err(self.file.source.error(value.span(), message, format!("write {expected}")))
            }
        }
    }

    /// Returns a table with any keys.
    pub fn table(&self, key: &str) -> Result<Option<TableReader<'a>>, WorkflowFileError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.type_error(key, value, "a table, like { key = \"value\" }"));
        };
        // The excerpt of an error about the table shows its key.
        Ok(Some(TableReader::new(self.file, format!("`{key}`"), table, self.key_span(key))))
    }

    /// Returns the entries in the order of the file, for tables whose keys are names.
    pub fn entries(&self) -> Vec<(&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>)> {
        in_order(self.table)
    }

    /// Returns a list of texts.
    pub fn texts(&self, key: &str) -> Result<Vec<Located<String>>, WorkflowFileError> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let error = |value| self.type_error(key, value, "a list of strings, like [\"a\", \"b\"]");
        let DeValue::Array(elements) = value.get_ref() else { return Err(error(value)) };
        elements
            .iter()
            .map(|element| match element.get_ref() {
                DeValue::String(text) => {
                    Ok(Located { value: text.clone().into_owned(), span: element.span() })
                }
                _ => Err(error(element)),
            })
            .collect()
    }

    pub fn type_error(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> WorkflowFileError {
        let message = format!("`{key}` of {} must be {expected}", self.title);
        let found = value.get_ref().type_str();
        self.file.source.error(value.span(), message, format!("it is of the type {found}: write {expected}"))
    }
}

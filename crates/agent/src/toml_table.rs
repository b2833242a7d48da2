//! Reads TOML tables that users may write, and reports errors with their line.

use serde::de::DeserializeOwned;
use std::fmt::Display;
use toml::Spanned;

/// An error in a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct TableError {
    /// Line number, starting at 1.
    pub line: usize,
    /// Description on one line, with what is expected.
    pub cause: String,
}

impl TableError {
    pub(crate) fn at_offset(text: &str, offset: usize, cause: impl Display) -> TableError {
        let before = text.as_bytes().iter().take(offset);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        let cause = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        TableError { line, cause }
    }
}

pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, TableError> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        TableError::at_offset(text, offset, error.message())
    })
}

/// Converts each part of a table. An error gets the line of its part.
pub(crate) fn convert_each<T, U, E: Display>(
    text: &str,
    parts: Vec<Spanned<T>>,
    make: impl Fn(T) -> Result<U, E>,
) -> Result<Vec<U>, TableError> {
    let convert = |part: Spanned<T>| {
        let offset = part.span().start;
        make(part.into_inner()).map_err(|error| TableError::at_offset(text, offset, error))
    };
    parts.into_iter().map(convert).collect()
}

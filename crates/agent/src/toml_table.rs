//! Reading a table that people write too: what is wrong with one is said with its line.

use serde::de::DeserializeOwned;
use std::fmt::Display;
use toml::Spanned;

/// Why a table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it, and what is expected, on one line.
    pub cause: String,
}

impl TableError {
    /// The error of what stands at this place of the text, in bytes.
    pub(crate) fn at(text: &str, place: usize, cause: impl Display) -> TableError {
        let before = text.as_bytes().iter().take(place);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        let cause = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        TableError { line, cause }
    }
}

/// Reads a whole table.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, TableError> {
    toml::from_str(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        TableError::at(text, place, error.message())
    })
}

/// Makes something of each part of a table; an error is that of the part's line.
pub(crate) fn each<T, U, E: Display>(
    text: &str,
    parts: Vec<Spanned<T>>,
    make: impl Fn(T) -> Result<U, E>,
) -> Result<Vec<U>, TableError> {
    let one = |part: Spanned<T>| {
        let place = part.span().start;
        make(part.into_inner()).map_err(|error| TableError::at(text, place, error))
    };
    parts.into_iter().map(one).collect()
}

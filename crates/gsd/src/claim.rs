//! Values with the place that states them, and the decision between contradictory ones.

use crate::Warning;
use std::fmt::{self, Display};

pub(crate) const STATE: &str = "STATE.md";
pub(crate) const ROADMAP: &str = "ROADMAP.md";
pub(crate) const REQUIREMENTS: &str = "REQUIREMENTS.md";

/// A path below `.planning`, and a line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub file: String,
    pub line: Option<usize>,
}

impl Source {
    pub(crate) fn new(file: &str, line: usize) -> Source {
        Source { file: file.to_owned(), line: Some(line) }
    }

    pub(crate) fn directory(path: &str) -> Source {
        Source { file: path.to_owned(), line: None }
    }

    pub(crate) fn warning(&self, text: impl Into<String>) -> Warning {
        Warning { file: self.file.clone(), line: self.line, text: text.into() }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// A value that one place states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim<T> {
    pub value: T,
    pub source: Source,
}

impl<T> Claim<T> {
    pub(crate) fn new(value: T, source: Source) -> Claim<T> {
        Claim { value, source }
    }
}

/// Returns the first claim. Each later claim with another value becomes a warning.
pub(crate) fn reconcile<T: PartialEq + Display>(
    subject: &str,
    claims: impl IntoIterator<Item = Claim<T>>,
    warnings: &mut Vec<Warning>,
) -> Option<Claim<T>> {
    let mut claims = claims.into_iter();
    let winner = claims.next()?;
    for other in claims.filter(|other| other.value != winner.value) {
        let text = format!("{subject} is {} here, but {} in {}", other.value, winner.value, winner.source);
        let warning = other.source.warning(text);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    Some(winner)
}

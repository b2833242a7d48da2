//! Conditions of `until`.

use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The condition of `until`.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A shell command exits with 0.
    Command(String),
    /// A file of the project matches a regular expression.
    FileMatches(FileCondition),
    /// A value in the last result of a phase.
    Result(ResultCondition),
}

/// A file of the project matches a regular expression.
#[derive(Clone, Debug)]
pub struct FileCondition {
    path: PathBuf,
    regex: Regex,
}

impl FileCondition {
    /// Returns whether the file matches. A missing file does not.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is too large or is outside the project.
    pub fn holds(&self, project_dir: &Path) -> Result<bool, String> {
        let _ = (project_dir, &self.path, &self.regex);
        todo!()
    }
}

/// A value in the last result of a phase equals a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultCondition {
    /// Name of the phase.
    pub phase: String,
    /// JSON pointer to the value.
    pub pointer: String,
    /// Required value.
    pub equals: Value,
}

impl ResultCondition {
    /// Returns whether the value is as required: for a phase with items, in each result.
    ///
    /// # Errors
    ///
    /// Returns an error if the phase has no result, or if it has no such value.
    pub fn holds(&self, results: &BTreeMap<String, Value>) -> Result<bool, String> {
        let _ = results;
        todo!()
    }
}

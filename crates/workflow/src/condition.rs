//! Conditions of `until`. Commands are run elsewhere.

use crate::archon::{Stage, stated_progress};
use crate::project_file::read_project_file;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Size limit of the file of a condition. Notes of an agent grow, but never to this size.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The condition of `until`.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A shell command exits with 0.
    Command(String),
    /// A file of the project matches a regular expression.
    FileMatches(FileCondition),
    /// An Archon project is in a stage.
    Stage(StageCondition),
    /// A value in the last result of a phase.
    Result(ResultCondition),
}

/// A file of the project matches a regular expression.
#[derive(Clone, Debug)]
pub struct FileCondition {
    /// Path, relative to the project directory.
    pub(crate) path: PathBuf,
    /// Regular expression; it matches anywhere in the file.
    pub(crate) regex: Regex,
}

impl FileCondition {
    /// Returns whether the file matches. A missing file does not.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is too large or is outside the project.
    pub fn holds(&self, project_dir: &Path) -> Result<bool, String> {
        let text = read_project_file(project_dir, &self.path, FILE_BYTES_MAX)?;
        Ok(text.is_some_and(|text| self.regex.is_match(&text)))
    }
}

/// An Archon project is in a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageCondition {
    /// Path of `PROGRESS.md`, relative to the project directory.
    pub(crate) path: PathBuf,
    pub(crate) stage: Stage,
}

impl StageCondition {
    /// Returns whether the project is in the stage. A file that states no stage is not in it: an agent wrote the file.
    ///
    /// # Errors
    /// Returns an error if the file is missing or cannot be read.
    pub fn holds(&self, project_dir: &Path) -> Result<bool, String> {
        let stated = stated_progress(project_dir, &self.path)?;
        Ok(stated.is_ok_and(|progress| progress.stage == self.stage))
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
    /// Returns whether the value is as required: for a phase with items, in the result of each. A missing result
    /// or value is not.
    pub fn holds(&self, results: &BTreeMap<String, Value>) -> bool {
        let is_met = |result: &Value| result.pointer(&self.pointer) == Some(&self.equals);
        match results.get(&self.phase) {
            Some(Value::Array(runs)) => !runs.is_empty() && runs.iter().all(is_met),
            Some(result) => is_met(result),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FileCondition, ResultCondition, Stage, StageCondition};
    use regex::Regex;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use std::fs;

    #[test]
    fn file_matches() {
        let project = tempfile::tempdir().expect("a directory");
        let regex = Regex::new("(?m)^COMPLETE$").expect("a regular expression");
        let condition = FileCondition { path: "PROGRESS.md".into(), regex };
        assert_eq!(condition.holds(project.path()), Ok(false), "the file is missing");
        for (text, expected) in [("# Notes\nCOMPLETE\n", true), ("not COMPLETE\n", false), ("", false)] {
            fs::write(project.path().join("PROGRESS.md"), text).expect("a file");
            assert_eq!(condition.holds(project.path()), Ok(expected), "{text}");
        }
        let outside = FileCondition { path: "../PROGRESS.md".into(), ..condition };
        assert!(outside.holds(project.path()).is_err());
    }

    #[test]
    fn stage_is_stated() {
        let project = tempfile::tempdir().expect("a directory");
        let condition = StageCondition { path: "PROGRESS.md".into(), stage: Stage::Complete };
        assert!(condition.holds(project.path()).is_err(), "the file is missing");
        for (stage, expected) in
            [("COMPLETE", true), ("prover", false), ("formalization complete; verification complete", false)]
        {
            let text = format!("## Current Stage\n{stage}\n");
            fs::write(project.path().join("PROGRESS.md"), text).expect("a file");
            assert_eq!(condition.holds(project.path()), Ok(expected), "{stage}");
        }
    }

    #[test]
    fn result_equals() {
        let condition =
            ResultCondition { phase: "review".into(), pointer: "/complete".into(), equals: json!(true) };
        let check = |result: Value, expected: bool| {
            let results = BTreeMap::from([("review".to_owned(), result.clone())]);
            assert_eq!(condition.holds(&results), expected, "{result}");
        };
        check(json!({ "complete": true }), true);
        check(json!({ "complete": false }), false);
        check(json!({ "complete": "true" }), false);
        check(json!({}), false);
        check(json!([{ "complete": true }, { "complete": true }]), true);
        check(json!([{ "complete": true }, null]), false);
        check(json!([]), false);
        assert!(!condition.holds(&BTreeMap::new()));
    }
}

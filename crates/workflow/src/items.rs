//! Items of a phase: where they come from.

use serde_json::Value;
use std::path::Path;

/// The source of the items of a phase.
#[derive(Clone, Debug)]
pub enum ItemSource {
    /// A list in the file.
    List(Vec<Value>),
    /// The output lines of a shell command.
    Lines(String),
    /// Files of the project.
    Glob(GlobPattern),
    /// An array in the result of an earlier phase.
    Pointer {
        /// Index of the phase.
        phase: usize,
        /// JSON pointer to the array.
        pointer: String,
    },
}

/// A checked glob pattern.
#[derive(Clone, Debug)]
pub struct GlobPattern(String);

impl GlobPattern {
    /// Returns the matching files, relative to the project directory and sorted.
    ///
    /// # Errors
    ///
    /// Returns an error if a directory cannot be read.
    pub fn items(&self, project_dir: &Path) -> Result<Vec<Value>, String> {
        let _ = project_dir;
        todo!()
    }
}

/// Returns one item for each line that is not blank. A line that is a JSON object is that object.
pub fn items_from_lines(output: &str) -> Vec<Value> {
    let _ = output;
    todo!()
}

/// Returns the items of the array at this JSON pointer. If `result` is the list of results of a phase with items,
/// the pointer applies to each of them.
///
/// # Errors
///
/// Returns an error if there is no array.
pub fn items_from_pointer(result: &Value, pointer: &str) -> Result<Vec<Value>, String> {
    let _ = (result, pointer);
    todo!()
}

/// Returns an item as text, for people and for the journal: a string as it is, other values as compact JSON.
pub fn item_text(item: &Value) -> String {
    item.as_str().map_or_else(|| item.to_string(), str::to_owned)
}

//! Items of a phase: from a list, the lines of a command, files, or a result. Commands are run elsewhere.

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use longhaul_core::shorten;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Source of the items of a phase.
#[derive(Clone, Debug)]
pub enum ItemSource {
    /// A list in the file.
    List(Vec<Value>),
    /// The output lines of a shell command: [`items_from_lines`].
    Lines(String),
    /// Files of the project.
    Glob(GlobPattern),
    /// The files that the plan of an Archon project assigns, in this file of the project:
    /// [`archon::assignment`](crate::archon::assignment).
    Objectives(PathBuf),
    /// An array in the result of an earlier phase: [`items_from_pointer`].
    Pointer {
        /// Index of the phase.
        phase: usize,
        /// JSON pointer to the array.
        pointer: String,
    },
}

/// A checked glob pattern, as in a shell with `**`: `*` matches within one path component. A pattern that ends
/// with `/` matches directories.
#[derive(Clone, Debug)]
pub struct GlobPattern {
    pattern: String,
    matcher: GlobMatcher,
    /// Whether a component of the pattern starts with a dot: only then are hidden files visited.
    names_hidden: bool,
}

impl GlobPattern {
    /// Checks a pattern.
    ///
    /// # Errors
    /// Returns why it is invalid.
    pub fn new(pattern: &str) -> Result<GlobPattern, String> {
        crate::project_file::check_path(Path::new(pattern))?;
        let path = pattern.trim_start_matches("./").trim_end_matches('/');
        let glob = GlobBuilder::new(path).literal_separator(true).build();
        let glob = glob.map_err(|error| error.kind().to_string())?;
        Ok(GlobPattern {
            pattern: pattern.to_owned(),
            matcher: glob.compile_matcher(),
            names_hidden: path.split('/').any(|part| part.starts_with('.')),
        })
    }

    /// Returns the pattern.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns the matching paths, relative to the project directory and sorted. As in ripgrep, hidden files and
    /// files that git ignores do not match, and links are not followed.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be read, or if a path is not UTF-8.
    pub fn items(&self, project_dir: &Path) -> Result<Vec<Value>, String> {
        let wants_directories = self.pattern.ends_with('/');
        let mut items = Vec::new();
        // The user's global ignore file would make the items depend on the machine.
        let walk = WalkBuilder::new(project_dir)
            .hidden(!self.names_hidden)
            .git_global(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build()
            // The first entry is the directory itself.
            .skip(1);
        for entry in walk {
            let entry = entry.map_err(|error| error.to_string())?;
            let is_candidate = entry
                .file_type()
                .is_some_and(|kind| if wants_directories { kind.is_dir() } else { kind.is_file() });
            let Ok(path) = entry.path().strip_prefix(project_dir) else { continue };
            if is_candidate && self.matcher.is_match(path) {
                let path =
                    path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()))?;
                items.push(path.to_owned());
            }
        }
        items.sort_unstable();
        Ok(items.into_iter().map(Value::String).collect())
    }
}

/// Returns one item for each line that is not blank. A line with a JSON object is that object, every other line is
/// a text.
pub fn items_from_lines(output: &str) -> Vec<Value> {
    let lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    let item = |line: &str| match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(_) | Err(_) => Value::String(line.to_owned()),
    };
    lines.map(item).collect()
}

/// Returns the items of the array at this JSON pointer. If `result` is the list of results of a phase with items,
/// the pointer applies to each of them, and runs without a result (`null`) have no items.
///
/// # Errors
/// Returns an error if there is no array.
pub fn items_from_pointer(result: &Value, pointer: &str) -> Result<Vec<Value>, String> {
    let mut items = Vec::new();
    for result in single_results(result) {
        match result.pointer(pointer) {
            Some(Value::Array(values)) => items.extend(values.iter().cloned()),
            Some(value) => return Err(format!("`{pointer}` of the result is no array: {}", start_of(value))),
            None => return Err(format!("the result has no `{pointer}`: {}", start_of(result))),
        }
    }
    Ok(items)
}

/// Returns the results of a phase: the one, or those of its items without `null`. A result is always an object,
/// so an array is a list of results.
pub(crate) fn single_results(result: &Value) -> Vec<&Value> {
    match result {
        Value::Array(results) => results.iter().filter(|result| !result.is_null()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => vec![result],
    }
}

/// Returns an item as text, for people and for the journal: a string as it is, other values as compact JSON.
pub fn item_text(item: &Value) -> String {
    item.as_str().map_or_else(|| item.to_string(), str::to_owned)
}

/// Returns the first characters of a value, for errors.
pub(crate) fn start_of(value: &Value) -> String {
    shorten(&value.to_string(), 120)
}

#[cfg(test)]
mod tests {
    use super::{GlobPattern, items_from_lines, items_from_pointer};
    use serde_json::{Value, json};
    use std::fs;

    #[test]
    fn lines_are_items() {
        let output = "a.lean\r\n\n  b c.lean \n{\"id\": 1}\n[1]\n7\n{broken\n";
        let expected = json!(["a.lean", "b c.lean", { "id": 1 }, "[1]", "7", "{broken"]);
        assert_eq!(Value::Array(items_from_lines(output)), expected);
        assert!(items_from_lines("\n \n").is_empty());
    }

    #[test]
    fn pointer_selects_an_array() {
        let check = |result: Value, pointer: &str, expected: Result<Value, &str>| {
            let items = items_from_pointer(&result, pointer).map(Value::Array);
            assert_eq!(items, expected.map_err(str::to_owned), "{result} {pointer}");
        };
        check(json!({ "a": { "b": [1, "x"] } }), "/a/b", Ok(json!([1, "x"])));
        check(json!({ "a": [] }), "/a", Ok(json!([])));
        check(json!([{ "a": [1] }, null, { "a": [2, 3] }]), "/a", Ok(json!([1, 2, 3])));
        check(json!({ "a": 1 }), "/a", Err("`/a` of the result is no array: 1"));
        check(json!({ "a": 1 }), "/b", Err("the result has no `/b`: {\"a\":1}"));
        check(json!([{ "a": [1] }, {}]), "/a", Err("the result has no `/a`: {}"));
    }

    #[test]
    fn glob_matches_visible_files() {
        let project = tempfile::tempdir().expect("a directory");
        let files =
            ["a.lean", "b.txt", "x/b.lean", "x/y/c.lean", ".lake/d.lean", "out/e.lean", ".git/f.lean"];
        for file in files {
            let path = project.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "").expect("a file");
        }
        fs::write(project.path().join(".gitignore"), "out/\n").expect("a file");
        std::os::unix::fs::symlink("..", project.path().join("x/loop")).expect("a link");
        let check = |pattern: &str, expected: Value| {
            let items = GlobPattern::new(pattern).and_then(|glob| glob.items(project.path()));
            assert_eq!(items.map(Value::Array), Ok(expected), "{pattern}");
        };
        check("*.lean", json!(["a.lean"]));
        check("./*.lean", json!(["a.lean"]));
        check("**/*.lean", json!(["a.lean", "x/b.lean", "x/y/c.lean"]));
        check("x/*.{lean,txt}", json!(["x/b.lean"]));
        check("*/", json!(["x"]));
        check(".lake/*", json!([".lake/d.lean"]));
        check("none/*", json!([]));
        for pattern in ["", "/etc/*", "../*", "[", "a{b"] {
            assert!(GlobPattern::new(pattern).is_err(), "{pattern}");
        }
    }
}

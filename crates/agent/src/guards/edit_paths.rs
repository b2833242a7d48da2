//! Edit paths: the only files that the agent's editing tools may change. Commands of `Bash` are not covered, because
//! no rule can know what they write. Never accesses the file system.

use super::GuardedCall;
use crate::snapshot::truncate_to_bytes;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Tools that change the file in one of these fields.
const EDITING_TOOLS: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];
const PATH_FIELDS: [&str; 2] = ["file_path", "notebook_path"];
// The reason must fit into one write to a pipe.
const REASON_BYTES_MAX: usize = 600;

/// The only files and directories that editing tools may change. The default allows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditPaths {
    texts: Vec<String>,
    paths: Vec<PathBuf>,
    cwd: PathBuf,
}

impl EditPaths {
    /// Creates the list for an agent that works in `cwd`. Relative paths start there.
    pub fn new(texts: &[String], cwd: &Path) -> EditPaths {
        // Without paths the directory does not matter.
        if texts.is_empty() {
            return EditPaths::default();
        }
        let paths = texts.iter().map(|text| resolved(cwd, text)).collect();
        EditPaths { texts: texts.to_vec(), paths, cwd: cwd.to_owned() }
    }

    /// Returns whether an absolute path may be changed.
    pub fn allows(&self, path: &Path) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|allowed| path.starts_with(allowed))
    }

    /// Returns why a call is denied, or `None` if it edits nothing or an allowed path.
    pub(super) fn denial(&self, call: &GuardedCall<'_>) -> Option<String> {
        if self.paths.is_empty() || !EDITING_TOOLS.contains(&call.tool) {
            return None;
        }
        let input = call.input();
        let path = input.and_then(|input| PATH_FIELDS.iter().find_map(|field| input.get(field)));
        let Some(path) = path.and_then(Value::as_str) else {
            return Some("This call names no file that this run may edit".to_owned());
        };
        let dir = if call.cwd.is_empty() { self.cwd.as_path() } else { Path::new(call.cwd) };
        let edited = resolved(dir, path);
        if self.allows(&edited) {
            return None;
        }
        let reason = format!("This run may edit only {}, not {path}", self.texts.join(", "));
        Some(truncate_to_bytes(&reason, REASON_BYTES_MAX).to_string())
    }
}

/// Returns an absolute path without `.` and `..`.
fn resolved(dir: &Path, path: &str) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in dir.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => resolved.push(component),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::EditPaths;
    use crate::{GuardedCall, Guards, Verdict};
    use std::path::Path;

    #[test]
    fn only_listed_paths_are_edited() {
        let texts = ["A/B.lean", ".archon/task_results/A_B.lean.md"].map(str::to_owned);
        let edit_paths = EditPaths::new(&texts, Path::new("/project"));
        let guards = Guards { edit_paths, ..Guards::default() };
        let check = |tool: &str, input: &str, is_allowed: bool| {
            let verdict = guards.verdict(&GuardedCall::new(tool, input).in_context("/project", true));
            assert_eq!(verdict == Verdict::Allow, is_allowed, "{tool} {input}: {verdict:?}");
        };
        check("Edit", r#"{"file_path":"/project/A/B.lean"}"#, true);
        check("Write", r#"{"file_path":"A/./x/../B.lean"}"#, true);
        check("Write", r#"{"file_path":".archon/task_results/A_B.lean.md"}"#, true);
        check("Write", r#"{"file_path":".archon/PROGRESS.md"}"#, false);
        check("Edit", r#"{"file_path":"/project/A/B.lean2"}"#, false);
        check("MultiEdit", r#"{"file_path":"A/B.lean/../C.lean"}"#, false);
        check("NotebookEdit", r#"{"notebook_path":"/project/n.ipynb"}"#, false);
        check("Write", "{}", false);
        check("Write", "{broken", false);
        check("Read", r#"{"file_path":"/project/C.lean"}"#, true);
        check("Bash", r#"{"command":"cat C.lean"}"#, true);
    }

    #[test]
    fn empty_list_allows_all() {
        let guards = Guards { edit_paths: EditPaths::new(&[], Path::new("/project")), ..Guards::default() };
        assert!(guards.is_empty());
        assert_eq!(guards.verdict(&GuardedCall::new("Write", "{}")), Verdict::Allow);
    }
}

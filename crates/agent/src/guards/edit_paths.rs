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
        let Some(path) = edited_path(call) else {
            return Some("This call names no file that this run may edit".to_owned());
        };
        let dir = if call.cwd.is_empty() { self.cwd.as_path() } else { Path::new(call.cwd) };
        if self.allows(&resolved(dir, path)) {
            return None;
        }
        let reason = format!("This run may edit only {}, not {path}", self.texts.join(", "));
        Some(truncate_to_bytes(&reason, REASON_BYTES_MAX).to_string())
    }
}

/// Returns why a call is denied that edits a file whose hooks or MCP servers the agent starts, without a tool call.
pub(super) fn denial_of_settings(call: &GuardedCall<'_>) -> Option<String> {
    let path = edited_path(call).filter(|_| EDITING_TOOLS.contains(&call.tool))?;
    // Some file systems ignore case.
    let lower = path.to_ascii_lowercase();
    let edited = resolved(Path::new(call.cwd), &lower);
    let name = edited.file_name()?.to_str()?;
    let is_in_claude_dir = edited.parent().is_some_and(|dir| dir.ends_with(".claude"));
    let is_settings = is_in_claude_dir && name.starts_with("settings") && name.ends_with(".json");
    let reason = format!("The agent starts the commands in {path}, so this run may not edit it");
    (is_settings || name == ".mcp.json").then(|| truncate_to_bytes(&reason, REASON_BYTES_MAX).to_string())
}

fn edited_path<'a>(call: &'a GuardedCall<'_>) -> Option<&'a str> {
    let input = call.input()?;
    PATH_FIELDS.iter().find_map(|field| input.get(field)).and_then(Value::as_str)
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
    fn settings_that_start_commands_are_not_edited_if_commands_are_guarded() {
        let deny_bash = Guards { deny_tools: vec!["Bash".parse().expect("a pattern")], ..Guards::default() };
        let check = |tool: &str, field: &str, path: &str, is_denied: bool| {
            let input = format!(r#"{{"{field}":"{path}"}}"#);
            let call = GuardedCall::new(tool, &input).in_context("/project", true);
            assert_eq!(matches!(deny_bash.verdict(&call), Verdict::Deny(_)), is_denied, "{tool} {path}");
            assert_eq!(Guards::default().verdict(&call), Verdict::Allow);
        };
        check("Write", "file_path", "/project/.claude/settings.local.json", true);
        check("Edit", "file_path", ".claude/x/../Settings.json", true);
        check("NotebookEdit", "notebook_path", ".mcp.json", true);
        check("Read", "file_path", ".mcp.json", false);
        check("Write", "file_path", ".claude/agents/settings.md", false);
        check("Write", "file_path", "settings.json", false);
    }

    #[test]
    fn empty_list_allows_all() {
        let guards = Guards { edit_paths: EditPaths::new(&[], Path::new("/project")), ..Guards::default() };
        assert!(guards.is_empty());
        assert_eq!(guards.verdict(&GuardedCall::new("Write", "{}")), Verdict::Allow);
    }
}

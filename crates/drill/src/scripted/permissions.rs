//! Decides which tools a permission mode allows without asking. The module is pure.

use super::init::STRUCTURED_OUTPUT;
use super::questions::ASK_USER_QUESTION;
use serde_json::Value;

pub(super) fn allows(mode: &str, tool: &str) -> bool {
    match mode {
        // Every mode requires a person to answer a question.
        _ if tool == ASK_USER_QUESTION => false,
        _ if tool == STRUCTURED_OUTPUT => true,
        "bypassPermissions" => true,
        "acceptEdits" => tool != "Bash",
        _ => tool == "Read",
    }
}

/// Returns the text of a denial (Claude Code 2.1.330).
pub(super) fn denial(tool: &str, input: &Value) -> String {
    match input["file_path"].as_str() {
        Some(path) => {
            format!("Claude requested permissions to write to {path}, but you haven't granted it yet.")
        }
        None => format!("Claude requested permissions to use {tool}, but you haven't granted it yet."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bypass_mode_allows_all_tools() {
        let allowed = |mode: &str| {
            ["AskUserQuestion", "Bash", "Edit", "Read", "Write"]
                .iter()
                .filter(|tool| allows(mode, tool))
                .copied()
                .collect::<Vec<_>>()
        };
        assert_eq!(allowed("bypassPermissions"), ["Bash", "Edit", "Read", "Write"]);
        assert_eq!(allowed("acceptEdits"), ["Edit", "Read", "Write"]);
        assert_eq!(allowed("default"), ["Read"]);
        assert_eq!(allowed("plan"), ["Read"]);
    }
}

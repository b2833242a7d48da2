//! A tool call as guards see it: the tool's name, and its input on demand. Most guards need only the name,
//! and an input may be a whole file.

use serde_json::Value;
use std::cell::OnceCell;

/// A tool call that an agent is about to make.
#[derive(Clone, Debug)]
pub struct GuardedCall<'a> {
    /// The tool, as the agent names it.
    pub tool: &'a str,
    /// The agent's absolute working directory at that time, or empty if it is not stated.
    pub(crate) cwd: &'a str,
    /// Whether the agent bypasses permissions, so that the call needs no other permission.
    pub(crate) bypasses_permissions: bool,
    /// The raw JSON of the input.
    json: &'a str,
    parsed: OnceCell<Option<Value>>,
}

impl<'a> GuardedCall<'a> {
    /// Creates a call of this tool with its input as JSON.
    pub fn new(tool: &'a str, json: &'a str) -> GuardedCall<'a> {
        GuardedCall { tool, cwd: "", bypasses_permissions: false, json, parsed: OnceCell::new() }
    }

    /// Sets the absolute directory in which the call is made, and whether the agent bypasses permissions. A
    /// modified call needs no other permission, so for any other agent a modification would grant one.
    #[must_use]
    pub(crate) fn in_context(self, cwd: &'a str, bypasses_permissions: bool) -> GuardedCall<'a> {
        GuardedCall { cwd, bypasses_permissions, ..self }
    }

    /// Returns the input, parsed on first use. `None` if it is missing or invalid; a guard that needs the
    /// input then denies the call.
    pub fn input(&self) -> Option<&Value> {
        self.parsed.get_or_init(|| serde_json::from_str(self.json).ok()).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::GuardedCall;
    use serde_json::{Value, json};

    #[test]
    fn parses_input_or_returns_none() {
        let check = |json: &str, expected: Option<Value>| {
            assert_eq!(GuardedCall::new("Bash", json).input(), expected.as_ref(), "{json}");
        };
        check(r#"{"command":"ls"}"#, Some(json!({ "command": "ls" })));
        check("{}", Some(json!({})));
        // Missing, truncated, too deeply nested, or with half a surrogate pair.
        check("", None);
        check(r#"{"command":"#, None);
        check(&("[".repeat(1000) + &"]".repeat(1000)), None);
        check(r#"{"command":"\ud83d"}"#, None);
    }
}

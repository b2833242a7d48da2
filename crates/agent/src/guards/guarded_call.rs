//! A tool call as a guard sees it: the tool's name, and its input for those who ask for it. Most guards judge by
//! the name alone, and an input may be a whole file.

use serde_json::Value;
use std::cell::OnceCell;

/// A tool call that an agent is about to make.
#[derive(Clone, Debug)]
pub struct GuardedCall<'a> {
    /// The tool, by the agent's own name for it.
    pub tool: &'a str,
    /// Where the agent is by then, absolute; empty if it does not say.
    pub(crate) cwd: &'a str,
    /// Whether the agent asks nobody else.
    pub(crate) is_free: bool,
    /// The input as it is on the wire, unread.
    json: &'a str,
    read: OnceCell<Option<Value>>,
}

impl<'a> GuardedCall<'a> {
    /// A call of this tool, with its input as JSON.
    pub fn new(tool: &'a str, json: &'a str) -> GuardedCall<'a> {
        GuardedCall { tool, cwd: "", is_free: false, json, read: OnceCell::new() }
    }

    /// Made by an agent that asks nobody else, if `is_free` says so: what is amended needs no other permission, so that
    /// an agent with permissions of its own would be given one.
    #[must_use]
    pub fn in_free_mode(self, is_free: bool) -> GuardedCall<'a> {
        GuardedCall { is_free, ..self }
    }

    /// Made in this folder, absolute: the agent changes its folder.
    #[must_use]
    pub fn in_dir(self, cwd: &'a str) -> GuardedCall<'a> {
        GuardedCall { cwd, ..self }
    }

    /// What the tool is called with, read when it is first wanted. Nothing if it cannot be read, as where it is
    /// missing: a guard that must know it denies the call then.
    pub fn input(&self) -> Option<&Value> {
        self.read.get_or_init(|| serde_json::from_str(self.json).ok()).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::GuardedCall;
    use serde_json::{Value, json};

    #[test]
    fn an_input_is_read_as_it_was_written_or_not_at_all() {
        let check = |json: &str, expected: Option<Value>| {
            assert_eq!(GuardedCall::new("Bash", json).input(), expected.as_ref(), "{json}");
        };
        check(r#"{"command":"ls"}"#, Some(json!({ "command": "ls" })));
        check("{}", Some(json!({})));
        // It is missing, torn, deeper than anything a tool takes, or holds half a sign.
        check("", None);
        check(r#"{"command":"#, None);
        check(&("[".repeat(1000) + &"]".repeat(1000)), None);
        check(r#"{"command":"\ud83d"}"#, None);
    }
}

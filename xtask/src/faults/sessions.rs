//! The agent's own session files below a home: how many there are, and whether their conversation has branches.
//! Two agents that went on with one session at once leave two branches, of which the next resume drops one.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Rows that make up the conversation; the others only accompany it.
const CONVERSATION: &[&str] = &["user", "assistant", "attachment", "system"];

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    pub files: usize,
    /// Rows that more than one row of the conversation follows.
    pub branches: usize,
}

/// Reads the session files of the agent whose home this is.
pub fn read(home: &Path) -> Sessions {
    let folders = fs::read_dir(home.join(".claude/projects")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let mut sessions = Sessions::default();
    for file in files.filter(|file| file.path().extension().is_some_and(|extension| extension == "jsonl")) {
        sessions.files += 1;
        sessions.branches += branches(&fs::read_to_string(file.path()).unwrap_or_default());
    }
    sessions
}

fn branches(session: &str) -> usize {
    let mut followers = BTreeMap::<String, u32>::new();
    for row in session.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let talk = row["type"].as_str().is_some_and(|kind| CONVERSATION.contains(&kind));
        if let (true, Some(parent)) = (talk, row["parentUuid"].as_str()) {
            *followers.entry(parent.to_owned()).or_default() += 1;
        }
    }
    followers.values().filter(|count| **count > 1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_conversation_branches() {
        let check = |kinds_and_parents: &[(&str, &str)], expected: usize| {
            let row = |(kind, parent): &(&str, &str)| {
                format!("{{\"type\":\"{kind}\",\"parentUuid\":\"{parent}\"}}\n")
            };
            let session: String = kinds_and_parents.iter().map(row).collect();
            assert_eq!(branches(&session), expected, "{session}");
        };
        check(&[("user", "a"), ("assistant", "b"), ("user", "c")], 0);
        check(&[("user", "a"), ("assistant", "b"), ("user", "b")], 1);
        check(&[("user", "a"), ("last-prompt", "b"), ("user", "b")], 0);
    }
}

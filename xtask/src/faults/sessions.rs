//! The agent's own session files in a home: their number, and branches in their conversation. Two agents
//! that continue one session at once leave two branches, and the next resume drops one of them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Types of rows that belong to the conversation.
const CONVERSATION: &[&str] = &["user", "assistant", "attachment", "system"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    pub files: usize,
    /// Rows that are followed by more than one row of the conversation.
    pub branches: usize,
}

pub fn read(home: &Path) -> Sessions {
    // The second one is the store of the scripted agent over the Agent Client Protocol.
    let stores = [".claude/projects", ".claude/acp/projects"].map(|store| fs::read_dir(home.join(store)));
    let folders = stores.into_iter().flatten().flatten().flatten();
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
        let is_conversation = row["type"].as_str().is_some_and(|kind| CONVERSATION.contains(&kind));
        if let (true, Some(parent)) = (is_conversation, row["parentUuid"].as_str()) {
            *followers.entry(parent.to_owned()).or_default() += 1;
        }
    }
    followers.values().filter(|count| **count > 1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_only_branches_of_the_conversation() {
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

//! Lists of attempts that guards must deny, and of legitimate calls that they must not.

use longhaul_agent::{BlockedPaths, GuardedCall, Guards, Verdict};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const ATTEMPTS: &str = include_str!("attempts.toml");
const HARMLESS: &str = include_str!("harmless.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    group: Vec<Group>,
}

/// Calls of one tool under the same guards.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    #[serde(default)]
    block: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    tool: String,
    /// A description, the call, and the reason for a known mistake.
    entries: Vec<Vec<String>>,
}

impl Group {
    /// The input of a call: a command for a tool that takes one, JSON for any other.
    fn input(&self, call: &str) -> Value {
        if self.tool == "Bash" {
            return json!({ "command": call });
        }
        serde_json::from_str(call).expect(call)
    }
}

impl Group {
    fn guards(&self) -> Guards {
        let urls = self.block.iter().map(|text| text.parse().expect(text));
        let paths =
            BlockedPaths::new(&self.paths, "/code/repo", "/home/dev").expect("the paths can be blocked");
        Guards { block_urls: urls.collect(), block_paths: paths, ..Guards::default() }
    }

    fn denies(&self, entry: &[String]) -> bool {
        let input = self.input(&entry[1]).to_string();
        matches!(self.guards().verdict(&GuardedCall::new(&self.tool, &input)), Verdict::Deny(_))
    }
}

/// Checks that a list's calls are denied or not, except for its known mistakes, and that at least
/// `correct_min` are correct.
fn check(list: &str, must_deny: bool, correct_min: usize) {
    let groups = toml::from_str::<List>(list).expect("the list can be read").group;
    let (mut calls, mut correct, mut wrong) = (BTreeSet::new(), 0, Vec::new());
    for group in &groups {
        assert!(!group.block.is_empty() || !group.paths.is_empty(), "{}", group.tool);
        for entry in &group.entries {
            let is_mistake = entry.len() == 3;
            assert!(is_mistake || entry.len() == 2, "{entry:?}");
            let call = (&group.block, &group.paths, &group.tool, group.input(&entry[1]).to_string());
            assert!(calls.insert(call), "{entry:?} occurs twice");
            correct += usize::from(!is_mistake);
            if group.denies(entry) != (must_deny != is_mistake) {
                let prefix = if is_mistake { "no longer a mistake: " } else { "" };
                wrong.push(format!("{prefix}{} ({}): {}", group.tool, entry[0], entry[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(correct >= correct_min, "{correct}");
}

#[test]
fn denies_attempts() {
    check(ATTEMPTS, true, 300);
}

#[test]
fn allows_legitimate_calls() {
    check(HARMLESS, false, 250);
}

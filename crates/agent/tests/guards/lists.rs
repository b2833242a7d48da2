//! The lists that the guards are judged by. They were written before the guards were.

use longhaul_agent::{BlockedPaths, Call, Guards, Verdict};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

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
    /// Why it was not among the first, if it was not.
    #[serde(default)]
    added: Option<String>,
    /// What it is, what is passed, and, of a known miss, why it is missed.
    entries: Vec<Vec<String>>,
}

impl Group {
    /// The input of a call: a command for a tool that takes one, JSON for any other.
    fn input(&self, passed: &str) -> Value {
        if self.tool == "Bash" {
            return json!({ "command": passed });
        }
        serde_json::from_str(passed).expect(passed)
    }
}

impl Group {
    fn guards(&self) -> Guards {
        let urls = self.block.iter().map(|text| text.parse().expect(text));
        let paths =
            BlockedPaths::new(&self.paths, "/code/repo", "/home/dev").expect("the paths can be blocked");
        Guards { block_urls: urls.collect(), block_paths: paths, ..Guards::default() }
    }

    /// The entries that are denied, and those that are not.
    fn judged(&self) -> (Vec<&Vec<String>>, Vec<&Vec<String>>) {
        let guards = self.guards();
        self.entries.iter().partition(|entry| {
            let input = self.input(&entry[1]).to_string();
            matches!(guards.verdict(&Call::new(&self.tool, &input)), Verdict::Deny(_))
        })
    }
}

fn told(group: &Group, entries: &[&Vec<String>]) -> Vec<String> {
    entries.iter().map(|entry| format!("{} ({}): {}", group.tool, entry[0], entry[1])).collect()
}

#[test]
fn what_is_harmless_passes() {
    let groups = groups(HARMLESS);
    let denied: Vec<String> = groups.iter().flat_map(|group| told(group, &group.judged().0)).collect();
    assert!(denied.is_empty(), "{} denied:\n{}", denied.len(), denied.join("\n"));
}

/// What is known to be missed is asserted as well: an entry loses its third word when it is caught.
#[test]
fn attempts_are_denied() {
    let mut wrong = Vec::new();
    for group in groups(ATTEMPTS) {
        let (denied, passed) = group.judged();
        let missed: Vec<_> = passed.into_iter().filter(|entry| entry.len() < 3).collect();
        wrong.extend(told(&group, &missed));
        let caught: Vec<_> = denied.into_iter().filter(|entry| entry.len() == 3).collect();
        wrong.extend(told(&group, &caught).iter().map(|told| format!("no miss any more: {told}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn groups(list: &str) -> Vec<Group> {
    toml::from_str::<List>(list).expect("the list can be read").group
}

#[test]
fn the_lists_are_long_and_each_entry_is_a_call_of_its_own() {
    let check = |list: &str, words: RangeInclusive<usize>| {
        let groups = groups(list);
        let mut calls = BTreeSet::new();
        let mut first = 0;
        for group in &groups {
            assert!(!group.block.is_empty() || !group.paths.is_empty(), "{}", group.tool);
            for entry in &group.entries {
                assert!(words.contains(&entry.len()), "{entry:?}");
                let call = (&group.block, &group.paths, &group.tool, group.input(&entry[1]).to_string());
                assert!(calls.insert(call), "{entry:?} is there twice");
                first += usize::from(group.added.is_none());
            }
        }
        assert!(first >= 150, "{first}");
    };
    check(ATTEMPTS, 2..=3);
    check(HARMLESS, 2..=2);
}

//! Finds, inserts and removes the hooks in Claude Code's settings.
//!
//! Format, seen with 2.1.330:
//!
//! ```text
//! {"hooks": {"<event>": [{"matcher": "…", "hooks": [
//!     {"type": "command", "command": "…", "timeout": 10}
//! ]}]}}
//! ```

use super::spans::{Item, find_item, insert_item, items, remove_item};
use crate::hooks::HookEvent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// Default name of the program.
const PROGRAM_NAME: &str = "longhaul";
/// Scripts of the ACE playbook hooks, as its installer names them.
const ACE: [&str; 4] = ["user_prompt_inject.py", "session_end.py", "precompact.py", "subagent_stop.py"];

/// A hook to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEntry {
    /// Event that triggers it.
    pub event: HookEvent,
    /// Shell command.
    pub command: String,
}

/// An installed hook of any program.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) event: String,
    matcher: Option<String>,
    pub(super) command: String,
    timeout: Option<f64>,
    /// Path to the hook: the items and the index in the settings, in `hooks`, in the event and in its group.
    path: [(Vec<Item>, usize); 4],
}

#[derive(Serialize)]
struct Group<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    matcher: Option<&'a str>,
    hooks: [Command<'a>; 1],
}

#[derive(Serialize)]
struct Command<'a> {
    #[serde(rename = "type")]
    class: &'static str,
    command: &'a str,
    timeout: u32,
}

/// The parts of an installed hook that are read.
#[derive(Default, Deserialize)]
struct HookFields {
    #[serde(default)]
    command: String,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    matcher: Option<String>,
}

// The agent waits this long for a hook, and Longhaul's hooks take milliseconds. Without a timeout, all hooks
// at the end of a session share 1.5 seconds, which is too short under load (2.1.330).
const TIMEOUT_S: u32 = 10;

impl Entry {
    /// Returns whether it calls Longhaul at any path, under its default name or `program_name`.
    pub(super) fn is_longhaul(&self, program_name: &str) -> bool {
        HookEvent::ALL.iter().any(|event| {
            let called = format!(" hook {event}");
            let Some((program, flags)) = self.command.split_once(&called) else { return false };
            let file = program.trim().rsplit('/').next().unwrap_or_default().trim_matches(['\'', '"']);
            [PROGRAM_NAME, program_name].contains(&file) && (flags.is_empty() || flags.starts_with(' '))
        })
    }

    /// Returns whether it is one of the ACE playbook hooks.
    pub(super) fn is_ace(&self) -> bool {
        ACE.iter().any(|script| self.command.contains(&format!(".claude/hooks/{script}")))
    }

    /// Returns whether it equals the requested hook.
    pub(super) fn matches(&self, requested: &HookEntry) -> bool {
        self.event == requested.event.as_str()
            && self.command == requested.command
            && self.matcher.as_deref() == requested.event.matcher()
            && self.timeout == Some(f64::from(TIMEOUT_S))
    }

    /// Returns the settings without it and without containers that held only it.
    pub(super) fn remove_from(&self, text: &str) -> String {
        let alone = self.path.iter().rev().take_while(|(items, _)| items.len() == 1).count();
        let level = (self.path.len() - 1).saturating_sub(alone);
        let (items, index) = &self.path[level];
        remove_item(text, items, *index)
    }
}

/// Returns every hook of these settings. Values of an unexpected form are skipped.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut found = Vec::new();
    let Some(root) = items(text, &(0..text.len())) else { return found };
    let Some((hooks_index, hooks)) = find_item(&root, "hooks") else { return found };
    let Some(events) = items(text, &hooks.value) else { return found };
    for (event_index, event) in events.iter().enumerate() {
        let groups = elements(text, &event.value);
        for (group_index, group) in groups.iter().enumerate() {
            let fields: HookFields = serde_json::from_str(&text[group.value.clone()]).unwrap_or_default();
            let members = items(text, &group.value).unwrap_or_default();
            let commands = find_item(&members, "hooks")
                .map(|(_, inner)| elements(text, &inner.value))
                .unwrap_or_default();
            for (command_index, command) in commands.iter().enumerate() {
                let HookFields { command, timeout, .. } =
                    serde_json::from_str(&text[command.value.clone()]).unwrap_or_default();
                let path = [
                    (root.clone(), hooks_index),
                    (events.clone(), event_index),
                    (groups.clone(), group_index),
                    (commands.clone(), command_index),
                ];
                let matcher = fields.matcher.clone();
                found.push(Entry { event: event.name.clone(), matcher, command, timeout, path });
            }
        }
    }
    found
}

/// Returns the settings with one more hook, or a description of a value of an unexpected type.
pub(super) fn insert(text: &str, requested: &HookEntry) -> Result<String, String> {
    let command = Command { class: "command", command: &requested.command, timeout: TIMEOUT_S };
    let group = Group { matcher: requested.event.matcher(), hooks: [command] };
    let event = requested.event.as_str();
    let root = items(text, &(0..text.len())).filter(|_| text.trim_start().starts_with('{'));
    let root = root.ok_or("the content is not an object")?;
    let Some((_, hooks)) = find_item(&root, "hooks") else {
        let trimmed = text.len() - text.trim_start().len()..text.trim_end().len();
        return Ok(insert_item(text, &trimmed, &root, Some("hooks"), &BTreeMap::from([(event, [group])])));
    };
    let is_object = text[hooks.value.clone()].starts_with('{');
    let events = items(text, &hooks.value).filter(|_| is_object);
    let events = events.ok_or("`hooks` is not an object")?;
    let Some((_, groups)) = find_item(&events, event) else {
        return Ok(insert_item(text, &hooks.value, &events, Some(event), &[group]));
    };
    let is_array = text[groups.value.clone()].starts_with('[');
    let inner = items(text, &groups.value).filter(|_| is_array);
    let inner = inner.ok_or_else(|| format!("`hooks.{event}` is not an array"))?;
    Ok(insert_item(text, &groups.value, &inner, None, &group))
}

/// Returns the elements of an array, or an empty list if the value is not an array.
fn elements(text: &str, range: &Range<usize>) -> Vec<Item> {
    if text[range.clone()].starts_with('[') { items(text, range).unwrap_or_default() } else { Vec::new() }
}

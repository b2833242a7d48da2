//! The hooks in Claude Code's settings: which there are, whose they are, and how one is put there or taken out.
//!
//! `{"hooks": {"<event>": [{"matcher": "…", "hooks": [{"type": "command", "command": "…", "timeout": 10}]}]}}`, seen with 2.1.330.

use super::spans::{Item, items, named, with, without};
use crate::hooks::HookEvent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// What we are called where nobody has called us otherwise.
const OUR_NAME: &str = "longhaul";
/// The scripts of the ACE playbook hooks, where its installer puts them.
const ACE: [&str; 4] = ["user_prompt_inject.py", "session_end.py", "precompact.py", "subagent_stop.py"];

/// A hook as it is to be in the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEntry {
    /// When it is called.
    pub event: HookEvent,
    /// What is called, as a shell reads it.
    pub command: String,
}

/// Somebody's hook in the settings.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) event: String,
    matcher: Option<String>,
    pub(super) command: String,
    timeout: Option<f64>,
    /// The settings, `hooks`, the event, its group: in each what there is and which of them leads to this one.
    path: [(Vec<Item>, usize); 4],
}

/// What the settings have where something else is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnexpectedShape {
    pub(super) path: String,
    pub(super) expected: &'static str,
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

/// What is read of somebody's hook.
#[derive(Default, Deserialize)]
struct Read {
    #[serde(default)]
    command: String,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    matcher: Option<String>,
}

// The agent waits for a hook as long, and ours takes milliseconds. Without a number a session's end has 1.5 seconds for all hooks
// together, which a machine under load may need (2.1.330).
const TIMEOUT_S: u32 = 10;

impl Entry {
    /// Whether it calls us, at whatever path: a program of this name or of our own.
    pub(super) fn is_ours(&self, program_name: &str) -> bool {
        HookEvent::ALL.iter().any(|event| {
            let called = format!(" hook {event}");
            let Some((program, flags)) = self.command.split_once(&called) else { return false };
            let file = program.trim().rsplit('/').next().unwrap_or_default().trim_matches(['\'', '"']);
            [OUR_NAME, program_name].contains(&file) && (flags.is_empty() || flags.starts_with(' '))
        })
    }

    /// Whether it is one of the ACE playbook hooks.
    pub(super) fn is_ace(&self) -> bool {
        ACE.iter().any(|script| self.command.contains(&format!(".claude/hooks/{script}")))
    }

    /// Whether it is exactly what is wanted.
    pub(super) fn is(&self, wanted: &HookEntry) -> bool {
        self.event == wanted.event.as_str()
            && self.command == wanted.command
            && self.matcher.as_deref() == wanted.event.matcher()
            && self.timeout == Some(f64::from(TIMEOUT_S))
    }

    /// The settings without it, and without what was there for it alone.
    pub(super) fn removed_from(&self, text: &str) -> String {
        let alone = self.path.iter().rev().take_while(|(items, _)| items.len() == 1).count();
        let level = (self.path.len() - 1).saturating_sub(alone);
        let (items, index) = &self.path[level];
        without(text, items, *index)
    }
}

/// Every hook of these settings. What is not of their form is nobody's, and left alone.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut found = Vec::new();
    let Some(root) = items(text, &(0..text.len())) else { return found };
    let Some((at_hooks, hooks)) = named(&root, "hooks") else { return found };
    let Some(events) = items(text, &hooks.value) else { return found };
    for (at_event, event) in events.iter().enumerate() {
        let groups = elements(text, &event.value);
        for (at_group, group) in groups.iter().enumerate() {
            let read: Read = serde_json::from_str(&text[group.value.clone()]).unwrap_or_default();
            let members = items(text, &group.value).unwrap_or_default();
            let commands =
                named(&members, "hooks").map(|(_, inner)| elements(text, &inner.value)).unwrap_or_default();
            for (at_command, command) in commands.iter().enumerate() {
                let Read { command, timeout, .. } =
                    serde_json::from_str(&text[command.value.clone()]).unwrap_or_default();
                let path = [
                    (root.clone(), at_hooks),
                    (events.clone(), at_event),
                    (groups.clone(), at_group),
                    (commands.clone(), at_command),
                ];
                let matcher = read.matcher.clone();
                found.push(Entry { event: event.name.clone(), matcher, command, timeout, path });
            }
        }
    }
    found
}

/// The settings with this one more.
pub(super) fn put(text: &str, wanted: &HookEntry) -> Result<String, UnexpectedShape> {
    let command = Command { class: "command", command: &wanted.command, timeout: TIMEOUT_S };
    let group = Group { matcher: wanted.event.matcher(), hooks: [command] };
    let event = wanted.event.as_str();
    let shape = |place: &str, expected| UnexpectedShape { path: place.to_owned(), expected };
    let root = items(text, &(0..text.len())).filter(|_| text.trim_start().starts_with('{'));
    let root = root.ok_or_else(|| shape("the whole", "an object"))?;
    let Some((_, hooks)) = named(&root, "hooks") else {
        let trimmed = text.len() - text.trim_start().len()..text.trim_end().len();
        return Ok(with(text, &trimmed, &root, Some("hooks"), &BTreeMap::from([(event, [group])])));
    };
    let is_object = text[hooks.value.clone()].starts_with('{');
    let events = items(text, &hooks.value).filter(|_| is_object);
    let events = events.ok_or_else(|| shape("`hooks`", "an object"))?;
    let Some((_, groups)) = named(&events, event) else {
        return Ok(with(text, &hooks.value, &events, Some(event), &[group]));
    };
    let is_array = text[groups.value.clone()].starts_with('[');
    let inner = items(text, &groups.value).filter(|_| is_array);
    let inner = inner.ok_or_else(|| shape(&format!("`hooks.{event}`"), "an array"))?;
    Ok(with(text, &groups.value, &inner, None, &group))
}

/// What is in an array; nothing if it is none.
fn elements(text: &str, place: &Range<usize>) -> Vec<Item> {
    if text[place.clone()].starts_with('[') { items(text, place).unwrap_or_default() } else { Vec::new() }
}

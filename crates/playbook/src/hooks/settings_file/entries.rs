//! Finds, inserts and removes the hooks in Claude Code's settings.
//!
//! Format, seen with 2.1.330:
//!
//! ```text
//! {"hooks": {"<event>": [{"matcher": "…", "hooks": [
//!     {"type": "command", "command": "…", "timeout": 10}
//! ]}]}}
//! ```

use crate::hooks::HookEvent;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstRootNode};
use jsonc_parser::json;
use serde::Deserialize;
use std::fmt;

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

/// Settings whose hooks can be added and removed.
#[derive(Debug)]
pub(super) struct Settings(CstRootNode);

/// An installed hook of any program.
#[derive(Debug)]
pub(super) struct Entry {
    event: String,
    matcher: Option<String>,
    pub(super) command: String,
    timeout: Option<f64>,
    /// `hooks`, the event, the group and the hook.
    path: [CstNode; 4],
}

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

impl Settings {
    /// Parses JSON. Two keys `hooks` are an error, because only one of them has an effect.
    pub(super) fn parse(text: &str) -> Result<Settings, String> {
        let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
        let members = root.object_value().map(|root| root.properties()).unwrap_or_default();
        if members.iter().filter(|member| member.decoded_name().as_deref() == Some("hooks")).count() > 1 {
            return Err("it has `hooks` twice".to_owned());
        }
        Ok(Settings(root))
    }

    /// Returns every hook. Values of an unexpected form are skipped.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut found = Vec::new();
        let Some(hooks) = self.0.object_value().and_then(|root| root.get("hooks")) else { return found };
        for event in hooks.object_value().map(|events| events.properties()).unwrap_or_default() {
            for group in elements(event.array_value()) {
                let matcher = fields(&group).matcher;
                for command in elements(group.as_object().and_then(|group| group.array_value("hooks"))) {
                    let HookFields { command: line, timeout, .. } = fields(&command);
                    found.push(Entry {
                        event: event.decoded_name().unwrap_or_default(),
                        matcher: matcher.clone(),
                        command: line,
                        timeout,
                        path: [hooks.clone().into(), event.clone().into(), group.clone(), command],
                    });
                }
            }
        }
        found
    }

    /// Adds a hook. The error describes a value of an unexpected type.
    pub(super) fn insert(&self, requested: &HookEntry) -> Result<(), String> {
        let event = requested.event.as_str();
        let root = self.0.object_value_or_create().ok_or("the content is not an object")?;
        let hooks = root.object_value_or_create("hooks").ok_or("`hooks` is not an object")?;
        let groups = hooks.array_value_or_create(event);
        let groups = groups.ok_or_else(|| format!("`hooks.{event}` is not an array"))?;
        let command = requested.command.as_str();
        let command = json!({"type": "command", "command": command, "timeout": TIMEOUT_S});
        let matcher = requested.event.matcher().map(|matcher| ("matcher".to_owned(), matcher.into()));
        let hooks = ("hooks".to_owned(), CstInputValue::Array(vec![command]));
        groups.ensure_multiline();
        groups.append(CstInputValue::Object(matcher.into_iter().chain([hooks]).collect()));
        Ok(())
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

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

    pub(super) fn is_ace(&self) -> bool {
        ACE.iter().any(|script| self.command.contains(&format!(".claude/hooks/{script}")))
    }

    pub(super) fn matches(&self, requested: &HookEntry) -> bool {
        self.event == requested.event.as_str()
            && self.command == requested.command
            && self.matcher.as_deref() == requested.event.matcher()
            && self.timeout == Some(f64::from(TIMEOUT_S))
    }

    /// Removes it from its settings, with containers that held only it.
    pub(super) fn remove(self) {
        let is_alone = |node: &&CstNode| {
            node.parent().is_some_and(|parent| parent.children_exclude_trivia_and_tokens().len() == 1)
        };
        let alone = self.path.iter().rev().take_while(is_alone).count();
        let outermost = self.path.len().saturating_sub(alone + 1);
        self.path[outermost].clone().remove();
    }
}

fn elements(array: Option<CstArray>) -> Vec<CstNode> {
    array.map(|array| array.elements()).unwrap_or_default()
}

fn fields(node: &CstNode) -> HookFields {
    node.to_serde_value().and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
}

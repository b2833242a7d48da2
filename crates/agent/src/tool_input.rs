//! Reads the arguments of tool calls. Values are parsed on demand, because one may be a whole file.

use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The most informative arguments, best first.
const ARGUMENTS: [&str; 10] = [
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "skill",
    "title",
    "description",
    "path",
];

/// The arguments of a tool call by name.
#[derive(Debug, Default)]
pub(crate) struct ToolInput<'a>(BTreeMap<String, &'a RawValue>);

/// The most informative argument of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolArgument {
    /// The command to run.
    Command(String),
    /// The file to write.
    ChangedFile(String),
    /// Any other argument: a file to read, a pattern, a URL.
    Other(String),
}

impl ToolInput<'_> {
    /// Parses arguments. Other JSON has none.
    pub(crate) fn parse(json: &str) -> ToolInput<'_> {
        ToolInput(serde_json::from_str(json).unwrap_or_default())
    }

    /// Returns an argument, if it is a text that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.0.get(name)?.get()).ok().filter(|text: &String| !text.is_empty())
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value.get() == "true")
    }

    /// Returns the most informative argument in a call of this tool.
    pub(crate) fn argument(&self, tool: &str) -> Option<ToolArgument> {
        let (name, text) = ARGUMENTS.iter().find_map(|name| Some((*name, self.text(name)?)))?;
        let changes_file = matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit");
        Some(match name {
            "command" => ToolArgument::Command(text),
            _ if changes_file => ToolArgument::ChangedFile(text),
            _ => ToolArgument::Other(text),
        })
    }
}

impl ToolArgument {
    /// Returns the argument as given.
    pub fn as_str(&self) -> &str {
        match self {
            ToolArgument::Command(text) | ToolArgument::ChangedFile(text) | ToolArgument::Other(text) => text,
        }
    }
}

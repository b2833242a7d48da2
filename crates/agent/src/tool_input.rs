//! Reads the arguments of tool calls. Values are parsed on demand, because one may be a whole file.

use crate::json_reader::{Reader, unquote};
use std::borrow::Cow;

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

/// The arguments of a tool call: names and values as JSON. The last one of a name counts.
#[derive(Debug, Default)]
pub(crate) struct ToolInput<'a>(Vec<(Cow<'a, str>, &'a str)>);

/// The most informative argument of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolArgument<'a> {
    /// The command to run.
    Command(Cow<'a, str>),
    /// The file to write.
    ChangedFile(Cow<'a, str>),
    /// Any other argument: a file to read, a pattern, a URL.
    Other(Cow<'a, str>),
}

impl<'a> ToolInput<'a> {
    /// Reads arguments from JSON. A value that is no object has none.
    pub(crate) fn parse(json: &'a str) -> ToolInput<'a> {
        let mut arguments = Vec::new();
        let read = Reader::new(json).object(|name, reader| {
            arguments.push((name, reader.value()?));
            Some(())
        });
        read.map(|()| ToolInput(arguments)).unwrap_or_default()
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rfind(|argument| argument.0 == name).map(|argument| argument.1)
    }

    /// Returns an argument, if it is a text that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        unquote(self.value(name)?).filter(|text| !text.is_empty())
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.value(name) == Some("true")
    }

    /// Returns the most informative argument in a call of this tool.
    pub(crate) fn argument(&self, tool: &str) -> Option<ToolArgument<'a>> {
        let (name, text) = ARGUMENTS.iter().find_map(|name| Some((*name, self.text(name)?)))?;
        let changes_file = matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit");
        Some(match name {
            "command" => ToolArgument::Command(text),
            _ if changes_file => ToolArgument::ChangedFile(text),
            _ => ToolArgument::Other(text),
        })
    }
}

impl ToolArgument<'_> {
    /// Returns the argument as given.
    pub fn as_str(&self) -> &str {
        match self {
            ToolArgument::Command(text) | ToolArgument::ChangedFile(text) | ToolArgument::Other(text) => text,
        }
    }
}

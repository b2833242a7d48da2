//! The arguments of a tool: derived from the flags of its command, and turned into the words of a call. Pure.

use super::ceilings::Ceilings;
use super::tools::{DETACHED, Effect, ServedTool, ToolDefinition};
use crate::config::keys::{ValueKind, kind, name};
use clap::{Arg, Command};
use longhaul_agent::did_you_mean;
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};
use std::iter;

/// The flags and the description of a command.
#[derive(Clone, Copy)]
pub struct ToolCommand<'a> {
    parent: Option<&'a Command>,
    leaf: &'a Command,
}

/// Returns the command that these words select.
pub fn command<'a>(root: &'a Command, words: &[&str]) -> ToolCommand<'a> {
    words.iter().fold(ToolCommand { parent: None, leaf: root }, |found, word| ToolCommand {
        parent: Some(found.leaf).filter(|parent| !std::ptr::eq(*parent, root)),
        leaf: found.leaf.find_subcommand(word).expect("the table names commands"),
    })
}

impl<'a> ToolCommand<'a> {
    pub fn filter_map<T>(self, select: impl Fn(&'a Arg) -> Option<T>) -> impl Iterator<Item = T> {
        self.leaf
            .get_arguments()
            .chain(self.parent.into_iter().flat_map(Command::get_arguments))
            .filter_map(select)
    }

    pub fn about(self) -> String {
        self.leaf.get_about().map(ToString::to_string).unwrap_or_default()
    }
}

/// An argument of a tool.
#[derive(Debug)]
pub struct Argument {
    pub name: String,
    /// `None` if it is positional.
    flag: Option<String>,
    /// Whether it follows `--`.
    is_last: bool,
    pub kind: ValueKind,
    about: String,
    values: Vec<String>,
    is_required: bool,
}

impl Argument {
    /// Returns the argument of a tool for this flag. `None` if the tool does not have it.
    pub fn new(arg: &Arg, tool: &ToolDefinition, ceilings: &Ceilings) -> Option<Argument> {
        let name = name(arg);
        let listed = tool.arguments.iter().find(|listed| listed.trim_end_matches('!') == name);
        // Flags that `-h` leaves out would fill the context of an agent.
        let is_common = tool.has_run_flags && !arg.is_hide_short_help_set();
        let is_offered = listed.is_some() || is_common && ceilings.permit_flag(&name, kind(arg));
        // `--idea` and IDEA have one name: the positional argument stands for both.
        let is_double = arg.get_long().is_some()
            && arg.get_id() != &*name
            && tool.stdin.is_some_and(|(stdin, _)| stdin == name);
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        (is_offered && !is_double && !arg.is_hide_set()).then(|| Argument {
            flag: arg.get_long().map(str::to_owned),
            is_last: arg.is_last_set(),
            kind: kind(arg),
            about: about(&name).map_or(help, str::to_owned) + &ceilings.note(&name),
            values: match ceilings.modes(&name) {
                Some(modes) => modes,
                None => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
            },
            is_required: listed.is_some_and(|listed| listed.ends_with('!')),
            name,
        })
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ValueKind::Switch => json!({ "type": "boolean" }),
            ValueKind::Count => json!({ "type": "integer", "minimum": 0 }),
            ValueKind::Amount => json!({ "type": ["number", "string"] }),
            ValueKind::Text | ValueKind::Path => json!({ "type": "string" }),
            ValueKind::List => json!({ "type": "array", "items": { "type": "string" } }),
        };
        schema["description"] = self.about.clone().into();
        if self.kind == ValueKind::Text && !self.values.is_empty() {
            schema["enum"] = self.values.clone().into();
        }
        schema
    }

    /// Returns the values of the argument as they are typed. A switch that is off has none.
    fn values(&self, value: &Value) -> Result<Vec<String>, String> {
        let expected = || {
            let expected = match self.kind {
                ValueKind::Switch => "true or false",
                ValueKind::Count => "a whole number",
                ValueKind::Amount => "a number or a string",
                ValueKind::Text | ValueKind::Path => "a string",
                ValueKind::List => "an array of strings",
            };
            format!("{}: expected {expected}, not {value}", self.name)
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match (self.kind, value) {
            (ValueKind::Switch, Value::Bool(is_on)) => {
                Ok(iter::repeat_n(String::new(), usize::from(*is_on)).collect())
            }
            (ValueKind::Count, Value::Number(number)) if number.is_u64() => Ok(vec![number.to_string()]),
            (ValueKind::Amount, Value::Number(number)) => Ok(vec![number.to_string()]),
            (ValueKind::Amount | ValueKind::Text | ValueKind::Path, Value::String(text)) => {
                Ok(vec![text.clone()])
            }
            (ValueKind::List, Value::Array(items)) => {
                items.iter().map(text).collect::<Option<_>>().ok_or_else(expected)
            }
            _ => Err(expected()),
        }
    }
}

/// Returns the description of an argument that a client passes in another way than a person.
fn about(name: &str) -> Option<&'static str> {
    Some(match name {
        "prompt" => "The task",
        "idea" => "The idea",
        "run" => "Id or name of a run or a workflow; `@` is the latest one",
        "permission_mode" => "The agent's permission mode",
        "budget" => "Maximum cost in dollars",
        _ => return None,
    })
}

/// Describes the arguments of a tool to a client.
pub fn input_schema(tool: &ServedTool) -> JsonObject {
    let mut properties: Map<String, Value> =
        tool.arguments.iter().map(|argument| (argument.name.clone(), argument.schema())).collect();
    if tool.definition.effect == Effect::Drives {
        let about = "false: wait for the end of the run, with progress, and cancel the run with the request [default: true]";
        properties.insert(DETACHED.to_owned(), json!({ "type": "boolean", "description": about }));
    }
    let required: Vec<&str> = tool
        .arguments
        .iter()
        .filter(|argument| argument.is_required)
        .map(|argument| argument.name.as_str())
        .collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let Value::Object(schema) = schema else { unreachable!("it is written as an object") };
    schema
}

/// A call of this program.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandCall {
    pub words: Vec<String>,
    pub stdin: Option<String>,
}

/// Returns the call of this program that a tool call stands for.
///
/// # Errors
/// Describes the first argument that is unknown, missing or of the wrong type.
pub fn command_call(tool: &ServedTool, arguments: &JsonObject) -> Result<CommandCall, String> {
    let definition = tool.definition;
    let known = || tool.arguments.iter().map(|argument| argument.name.as_str());
    if let Some(unknown) = arguments.keys().find(|name| !known().any(|known| known == name.as_str())) {
        let near = did_you_mean(unknown, known());
        let hint = if near.is_empty() { known().collect::<Vec<_>>().join(", ") } else { near.join(" or ") };
        return Err(format!("{unknown}: {} has no such argument; it has {hint}", definition.name));
    }
    let format = if definition.output.is_empty() { "text" } else { "json" };
    let mut words: Vec<String> = definition.command.iter().map(|word| (*word).to_owned()).collect();
    words.push(format!("--output-format={format}"));
    let (mut positional, mut last, mut stdin) = (Vec::new(), Vec::new(), None);
    for argument in &tool.arguments {
        let Some(value) = arguments.get(&argument.name).filter(|value| !value.is_null()) else {
            if argument.is_required {
                return Err(format!("{}: this argument is required", argument.name));
            }
            continue;
        };
        let values = argument.values(value)?;
        match (&definition.stdin, &argument.flag) {
            (Some((name, word)), _) if *name == argument.name => {
                stdin = values.into_iter().next();
                positional.push((*word).to_owned());
            }
            (_, Some(flag)) if argument.kind == ValueKind::Switch => {
                words.extend(values.iter().map(|_| format!("--{flag}")));
            }
            (_, Some(flag)) => words.extend(values.iter().map(|value| format!("--{flag}={value}"))),
            (_, None) if argument.is_last => last.extend(values),
            (_, None) => {
                // It could be taken for a flag.
                if let Some(value) = values.iter().find(|value| value.starts_with('-')) {
                    return Err(format!("{}: `{value}` starts with `-`", argument.name));
                }
                positional.extend(values);
            }
        }
    }
    words.extend(positional);
    if !last.is_empty() {
        words.push("--".to_owned());
        words.extend(last);
    }
    Ok(CommandCall { words, stdin })
}

#[cfg(test)]
mod tests;

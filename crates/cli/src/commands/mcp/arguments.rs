//! The arguments of a tool: their schema, and the words of a call. Pure.

use super::tools::{DETACHED, Effect, ToolDefinition};
use crate::config::keys::ValueKind;
use longhaul_agent::did_you_mean;
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// A tool that this server offers.
pub struct ServedTool {
    /// The words of its command, joined by `_`.
    pub name: String,
    pub definition: &'static ToolDefinition,
    pub arguments: Vec<Argument>,
    /// Description of its command.
    pub about: String,
}

/// An argument of a tool.
#[derive(Debug)]
pub struct Argument {
    pub name: String,
    /// `None` if it is positional.
    pub flag: Option<String>,
    /// Whether it follows `--`.
    pub is_last: bool,
    pub kind: ValueKind,
    pub about: String,
    /// The only possible values. Empty if there are others.
    pub choices: Vec<String>,
    pub is_required: bool,
}

impl Argument {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ValueKind::Switch => json!({ "type": "boolean" }),
            ValueKind::Count => json!({ "type": "integer", "minimum": 0 }),
            ValueKind::Amount => json!({ "type": ["number", "string"] }),
            ValueKind::Text | ValueKind::Path => json!({ "type": "string" }),
            ValueKind::List => json!({ "type": "array", "items": { "type": "string" } }),
        };
        schema["description"] = self.about.clone().into();
        if self.kind == ValueKind::Text && !self.choices.is_empty() {
            schema["enum"] = self.choices.clone().into();
        }
        schema
    }
}

pub fn input_schema(tool: &ServedTool, is_detached: bool) -> JsonObject {
    let mut properties: Map<String, Value> =
        tool.arguments.iter().map(|argument| (argument.name.clone(), argument.schema())).collect();
    if tool.definition.effect == Effect::Drives {
        let about = format!(
            "false: wait for the end of the run, with progress, and cancel the run with the request [default: {is_detached}]"
        );
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

/// Returns the call of this program that a tool call stands for. An error describes the first wrong argument.
pub fn command_call(tool: &ServedTool, arguments: &JsonObject) -> Result<CommandCall, String> {
    let definition = tool.definition;
    // The server takes it out of the arguments.
    let detached = (definition.effect == Effect::Drives).then_some(DETACHED);
    let known = || tool.arguments.iter().map(|argument| argument.name.as_str()).chain(detached);
    if let Some(unknown) = arguments.keys().find(|name| !known().any(|known| known == name.as_str())) {
        let near = did_you_mean(unknown, known());
        let hint = if near.is_empty() { known().collect::<Vec<_>>().join(", ") } else { near.join(" or ") };
        return Err(format!("{unknown}: {} has no such argument; it has {hint}", tool.name));
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
        let values = argument.kind.words(value).ok_or_else(|| {
            format!("{}: expected {}, not {value}", argument.name, argument.kind.expected())
        })?;
        match (&definition.stdin, &argument.flag) {
            (Some((name, word)), _) if *name == argument.name => {
                stdin = values.into_iter().next();
                positional.push((*word).to_owned());
            }
            (_, Some(flag)) if argument.kind == ValueKind::Switch => {
                let off = format!("--off={}", argument.name);
                words.push(if values.is_empty() { off } else { format!("--{flag}") });
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

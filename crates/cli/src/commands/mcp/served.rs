//! The tools that this server offers within its ceilings, and their descriptions for a client. Pure.

use super::arguments::{Argument, ServedTool, input_schema};
use super::ceilings::Ceilings;
use super::tools::{Effect, TOOLS, ToolDefinition};
use crate::args::Cli;
use crate::config::keys::{kind, name};
use crate::schemas;
use clap::{Arg, CommandFactory};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the argument of a tool for this flag. `None` if the tool does not have it.
fn argument(arg: &Arg, tool: &ToolDefinition, ceilings: &Ceilings) -> Option<Argument> {
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
        choices: match ceilings.modes(&name) {
            Some(modes) => modes,
            None => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
        },
        is_required: listed.is_some_and(|listed| listed.ends_with('!')),
        name,
    })
}

/// Returns the description of an argument that a client passes in another way than a person.
fn about(name: &str) -> Option<&'static str> {
    Some(match name {
        "prompt" => "The task",
        "idea" => "The idea",
        "run" => "Id or name of a run or a workflow; `@` is the latest one in the allowed directories",
        "permission_mode" => "The agent's permission mode",
        "budget" => "Maximum cost in dollars",
        _ => return None,
    })
}

pub fn served(ceilings: &Ceilings) -> Vec<ServedTool> {
    let mut root = Cli::command();
    // Only the flags of a built command include those of its parents.
    root.build();
    let tools = TOOLS.iter().filter(|tool| !tool.needs_bypass || ceilings.permits_everything());
    let tools = tools.map(|definition| {
        let command = definition
            .command
            .iter()
            .fold(&root, |command, word| command.find_subcommand(word).expect("the table names commands"));
        let arguments = command.get_arguments().filter_map(|arg| argument(arg, definition, ceilings));
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let name = definition.command.join("_").replace('-', "_");
        ServedTool { name, definition, arguments: arguments.collect(), about }
    });
    tools.collect()
}

/// Describes a tool. `is_detached` is the default of the argument `detached`.
pub fn describe(tool: &ServedTool, is_detached: bool) -> Tool {
    let definition = tool.definition;
    let note = match definition.effect {
        Effect::Drives if !is_detached => {
            ". Waits until the run finishes, because it would end with the run in which this server was started"
        }
        Effect::Drives => {
            ". Returns the id at once, and the run continues by itself: call `attach` to wait for its end, or \
                 `status` and `why` to look at it"
        }
        Effect::Follows => ". Waits until it finishes",
        Effect::Inspects | Effect::Stops => "",
    };
    let is_read_only = matches!(definition.effect, Effect::Inspects | Effect::Follows);
    let annotations = ToolAnnotations::new()
        .read_only(is_read_only)
        .destructive(!is_read_only)
        .idempotent(is_read_only || definition.effect == Effect::Stops)
        .open_world(definition.effect == Effect::Drives);
    let tool =
        Tool::new(tool.name.clone(), format!("{}{note}.", tool.about), input_schema(tool, is_detached));
    let tool = tool.with_annotations(annotations);
    match output_schema(definition.output) {
        Some(schema) => tool.with_raw_output_schema(Arc::new(schema)),
        None => tool,
    }
}

/// Returns the schema of a result that has one of these schemas. `None` if there are none.
fn output_schema(names: &[&str]) -> Option<JsonObject> {
    let texts = names.iter().filter_map(|name| schemas::text(name));
    let mut found: Vec<JsonObject> = texts.filter_map(|text| serde_json::from_str(text).ok()).collect();
    // Clients compile the schemas of all tools together, where an id must be unique.
    for schema in &mut found {
        schema.remove("$id");
    }
    if found.len() < 2 {
        return found.pop();
    }
    // References are relative to the whole, which therefore has the definitions of all.
    let mut definitions = BTreeMap::new();
    for schema in &mut found {
        schema.remove("$schema");
        if let Some(Value::Object(own)) = schema.remove("$defs") {
            definitions.extend(own);
        }
    }
    match json!({ "type": "object", "anyOf": found, "$defs": definitions }) {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

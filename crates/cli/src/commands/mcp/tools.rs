//! The table of tools: the command of each, its arguments and its effect. The descriptions, types and schemas come from
//! the command line and from `docs/schemas`.

use super::arguments::{Argument, command, input_schema};
use super::ceilings::Ceilings;
use crate::schemas;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The argument by which a call waits for the end of a run. It is no flag of a command.
pub const DETACHED: &str = "detached";
/// The argument that names a run or a workflow.
pub const RUN: &str = "run";

/// The effect of a tool on runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Prints something at once.
    Inspects,
    /// Waits until a run finishes, and changes nothing.
    Follows,
    /// Drives a run, in the background unless the client waits for it.
    Drives,
    /// Stops a run.
    Stops,
}

/// A tool, as the table lists it.
#[derive(Debug)]
pub struct ToolDefinition {
    pub name: &'static str,
    /// The words that select the command.
    pub command: &'static [&'static str],
    pub effect: Effect,
    /// Its arguments, by the names of their flags. The required ones end with `!`.
    pub arguments: &'static [&'static str],
    /// Whether it also has the flags of `longhaul run` that the ceilings permit.
    pub has_run_flags: bool,
    /// The argument that goes to stdin, and the word that makes the command read it there. Prompts may be long or
    /// private, and other users can read the arguments of a process.
    pub stdin: Option<(&'static str, &'static str)>,
    /// The argument that names the directory in which a run works.
    pub directory: Option<&'static str>,
    /// The schemas of its results. A tool without one returns text.
    pub output: &'static [&'static str],
    /// Whether the end of a long list or text matters more than its start.
    pub keeps_end: bool,
    /// Whether it exists only if every permission mode is allowed.
    pub needs_bypass: bool,
}

const BASE: ToolDefinition = ToolDefinition {
    name: "",
    command: &[],
    effect: Effect::Inspects,
    arguments: &[],
    has_run_flags: false,
    stdin: None,
    directory: None,
    output: &[],
    keeps_end: false,
    needs_bypass: false,
};

const GSD_CALL: ToolDefinition = ToolDefinition {
    effect: Effect::Drives,
    has_run_flags: true,
    directory: Some("project_dir"),
    output: &["run-detached", "run"],
    ..BASE
};

pub const TOOLS: &[ToolDefinition] = &[
    ToolDefinition {
        name: "run",
        command: &["run"],
        effect: Effect::Drives,
        arguments: &["prompt!", "cwd", "name", "key", "retry"],
        has_run_flags: true,
        stdin: Some(("prompt", "-")),
        directory: Some("cwd"),
        output: &["run-detached", "run"],
        ..BASE
    },
    ToolDefinition {
        name: "resume",
        command: &["resume"],
        effect: Effect::Drives,
        arguments: &["run!", "prompt", "repeat_task", "fork", "max_iterations", "add_budget", "add_time"],
        has_run_flags: true,
        stdin: Some(("prompt", "-")),
        output: &["run-detached", "run", "loop"],
        ..BASE
    },
    ToolDefinition {
        name: "recover",
        command: &["recover"],
        effect: Effect::Drives,
        arguments: &["run!"],
        output: &["run-detached", "run", "loop"],
        ..BASE
    },
    ToolDefinition {
        name: "attach",
        command: &["attach"],
        effect: Effect::Follows,
        arguments: &["run!"],
        output: &["run", "loop"],
        ..BASE
    },
    ToolDefinition {
        name: "cancel",
        command: &["cancel"],
        effect: Effect::Stops,
        arguments: &["run!", "now"],
        output: &["run", "loop"],
        ..BASE
    },
    ToolDefinition {
        name: "status",
        command: &["status"],
        arguments: &["workflow", "project"],
        directory: Some("project"),
        output: &["status"],
        ..BASE
    },
    ToolDefinition {
        name: "show",
        command: &["show"],
        arguments: &["run"],
        output: &["show", "show-workflow"],
        ..BASE
    },
    ToolDefinition {
        name: "why",
        command: &["why"],
        arguments: &["run"],
        output: &["why", "why-workflow"],
        keeps_end: true,
        ..BASE
    },
    ToolDefinition {
        name: "logs",
        command: &["logs"],
        arguments: &["run", "attempt", "since"],
        keeps_end: true,
        ..BASE
    },
    ToolDefinition {
        name: "diff",
        command: &["diff"],
        arguments: &["run", "stat", "name_only", "paths"],
        ..BASE
    },
    ToolDefinition {
        name: "cost",
        command: &["cost"],
        arguments: &["by", "since", "all"],
        output: &["cost"],
        ..BASE
    },
    ToolDefinition {
        name: "loop",
        command: &["loop"],
        effect: Effect::Drives,
        arguments: &[
            "file!",
            "project",
            "set",
            "focus",
            "from",
            "only",
            "skip",
            "no_review",
            "stage",
            "max_iterations",
            "max_parallel",
            "serial",
            "name",
        ],
        has_run_flags: true,
        directory: Some("project"),
        output: &["run-detached", "loop"],
        needs_bypass: true,
        ..BASE
    },
    ToolDefinition {
        name: "gsd_new_project",
        command: &["gsd", "new-project"],
        arguments: &["idea!", "project_dir", "again", "timeout", "total_timeout", "max_wait", "no_wait"],
        stdin: Some(("idea", "-")),
        ..GSD_CALL
    },
    ToolDefinition {
        name: "gsd_plan_phase",
        command: &["gsd", "plan-phase"],
        arguments: &["phase!", "project_dir", "again", "timeout", "total_timeout", "max_wait", "no_wait"],
        ..GSD_CALL
    },
    ToolDefinition {
        name: "gsd_execute_phase",
        command: &["gsd", "execute-phase"],
        arguments: &["phase!", "project_dir", "again", "timeout", "total_timeout", "max_wait", "no_wait"],
        ..GSD_CALL
    },
    ToolDefinition {
        name: "gsd_status",
        command: &["gsd", "status"],
        arguments: &["project_dir"],
        directory: Some("project_dir"),
        output: &["gsd-status"],
        ..BASE
    },
];

/// A tool that this server offers.
pub struct ServedTool {
    pub definition: &'static ToolDefinition,
    pub arguments: Vec<Argument>,
}

/// Returns the tools that the ceilings permit.
pub fn served(root: &clap::Command, ceilings: &Ceilings) -> Vec<ServedTool> {
    let tools = TOOLS.iter().filter(|tool| !tool.needs_bypass || ceilings.permits_everything());
    let tools = tools.map(|definition| {
        let found =
            command(root, definition.command).filter_map(|arg| Argument::new(arg, definition, ceilings));
        ServedTool { definition, arguments: found.collect() }
    });
    tools.collect()
}

impl ServedTool {
    /// Describes the tool to a client.
    pub fn describe(&self, root: &clap::Command) -> Tool {
        let definition = self.definition;
        let about = command(root, definition.command).about();
        let note = match definition.effect {
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
        let tool = Tool::new(definition.name, format!("{about}{note}."), input_schema(self));
        let tool = tool.with_annotations(annotations);
        match output_schema(definition.output) {
            Some(schema) => tool.with_raw_output_schema(Arc::new(schema)),
            None => tool,
        }
    }
}

/// Returns the schema of a result that has one of these schemas. `None` if there are none.
fn output_schema(names: &[&str]) -> Option<JsonObject> {
    let texts = schemas::ALL.iter().filter(|schema| names.contains(&schema.name)).map(|schema| schema.text);
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

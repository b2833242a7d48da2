//! `longhaul schema`: the JSON Schemas of what is printed, for programs that read it.

use crate::args::{GlobalArgs, OutputFormat, SchemaArgs};
use crate::failure::Failure;
use crate::output;
use crate::schemas;
use serde::Serialize;

/// What is printed if none is named. Keys are only ever added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SchemaList {
    /// All of them.
    schemas: Vec<Named>,
}

/// One schema.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Named {
    /// What `longhaul schema` takes to print it.
    name: &'static str,
    /// What it describes.
    about: &'static str,
}

/// Carries out the command and returns its exit code.
pub fn schema(global: &GlobalArgs, args: &SchemaArgs) -> Result<u8, Failure> {
    let asked = |schema: &&schemas::SchemaEntry| args.name.as_deref() == Some(schema.name);
    if let Some(schema) = schemas::ALL.iter().find(asked) {
        output::print_text(schema.text);
        return Ok(0);
    }
    match output::format(global) {
        OutputFormat::Text => {
            let widest = schemas::names().map(str::len).max().unwrap_or_default();
            let line =
                |schema: &schemas::SchemaEntry| format!("{:<widest$}  {}\n", schema.name, schema.about);
            output::print_text(&schemas::ALL.iter().map(line).collect::<String>());
        }
        OutputFormat::Json | OutputFormat::StreamJson => {
            let named = |schema: &schemas::SchemaEntry| Named { name: schema.name, about: schema.about };
            output::print_json(&SchemaList { schemas: schemas::ALL.iter().map(named).collect() });
        }
    }
    Ok(0)
}

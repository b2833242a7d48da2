//! `longhaul schema`: the JSON Schemas of what is printed, for programs that read it.

use crate::args::{Global, OutputFormat, SchemaArgs};
use crate::failure::Failure;
use crate::output;
use crate::schemas;
use serde::Serialize;

/// What is printed if none is named. Keys are only ever added.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Listed {
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
pub fn schema(global: &Global, args: &SchemaArgs) -> Result<u8, Failure> {
    let asked = |schema: &&schemas::Described| args.name.as_deref() == Some(schema.name);
    if let Some(schema) = schemas::ALL.iter().find(asked) {
        output::print_text(schema.text);
        return Ok(0);
    }
    match output::format(global) {
        OutputFormat::Text => {
            let widest = schemas::names().map(str::len).max().unwrap_or_default();
            let line = |schema: &schemas::Described| format!("{:<widest$}  {}\n", schema.name, schema.about);
            output::print_text(&schemas::ALL.iter().map(line).collect::<String>());
        }
        OutputFormat::Json | OutputFormat::StreamJson => {
            let named = |schema: &schemas::Described| Named { name: schema.name, about: schema.about };
            output::print_json(&Listed { schemas: schemas::ALL.iter().map(named).collect() });
        }
    }
    Ok(0)
}

//! `longhaul schema`: prints the JSON Schemas of the output formats.

use crate::args::{GlobalArgs, SchemaArgs};
use crate::failure::Failure;
use crate::output;
use crate::schemas;
use serde::Serialize;

/// Output without a schema name. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SchemaList {
    /// All schemas.
    schemas: Vec<SchemaInfo>,
}

/// One schema.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SchemaInfo {
    /// Name that `longhaul schema` accepts.
    name: &'static str,
    /// Description of the schema.
    about: &'static str,
}

/// Runs the command and returns its exit code.
pub fn schema(global: &GlobalArgs, args: &SchemaArgs) -> Result<u8, Failure> {
    let is_requested = |schema: &&schemas::SchemaEntry| args.name.as_deref() == Some(schema.name);
    if let Some(schema) = schemas::ALL.iter().find(is_requested) {
        output::print_text(schema.text);
        return Ok(0);
    }
    let info = |schema: &schemas::SchemaEntry| SchemaInfo { name: schema.name, about: schema.about };
    let list = SchemaList { schemas: schemas::ALL.iter().map(info).collect() };
    output::print_output(global, &list, || {
        let widest = schemas::names().map(str::len).max().unwrap_or_default();
        let line = |schema: &SchemaInfo| format!("{:<widest$}  {}\n", schema.name, schema.about);
        list.schemas.iter().map(line).collect()
    });
    Ok(0)
}

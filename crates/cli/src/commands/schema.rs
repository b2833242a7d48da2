//! `longhaul schema`: prints the JSON Schemas of the output formats.

use crate::args::{GlobalArgs, SchemaArgs};
use crate::failure::Failure;
use crate::output;
use crate::schemas::{self, SchemaEntry};
use serde::Serialize;

/// Output without a schema name. JSON keys are only added, never removed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SchemaList {
    /// All schemas.
    schemas: &'static [SchemaEntry],
}

pub fn schema(global: &GlobalArgs, args: &SchemaArgs) -> Result<u8, Failure> {
    if let Some(text) = args.name.as_deref().and_then(schemas::text) {
        output::print_text(text);
        return Ok(0);
    }
    let list = SchemaList { schemas: schemas::ALL };
    output::print_output(global, &list, || {
        let widest = schemas::names().map(str::len).max().unwrap_or_default();
        let line = |schema: &SchemaEntry| format!("{:<widest$}  {}\n", schema.name, schema.about);
        list.schemas.iter().map(line).collect()
    });
    Ok(0)
}

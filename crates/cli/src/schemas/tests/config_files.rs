//! The JSON Schema of configuration files, for editors that validate them and complete keys.

use crate::args::Cli;
use crate::config::keys::{DEFAULT_PROFILE, Key, Keys, PROFILE, TABLES, ValueKind};
use crate::config::trust::ProjectTrust;
use clap::CommandFactory;
use serde_json::{Map, Value, json};

/// Derives the schema from the flags.
pub fn schema() -> Value {
    let root = Cli::command();
    let keys = &Keys::for_command(&root);
    let mut properties = properties(keys, None);
    let plain = Value::Object(properties.clone());
    properties.insert(
        DEFAULT_PROFILE.to_owned(),
        json!({ "type": "string", "description": "The default profile of this file" }),
    );
    properties.insert(
        PROFILE.to_owned(),
        json!({
            "type": "object",
            "description": "Profiles: keys that apply if the profile is selected by name",
            "additionalProperties": { "type": "object", "properties": plain, "additionalProperties": false },
        }),
    );
    for table in TABLES {
        let table_keys = self::properties(keys, Some(table));
        let about = format!("Keys of `longhaul {table}` alone, in your own file");
        let schema = json!({
            "type": "object", "description": about, "properties": table_keys, "additionalProperties": false,
        });
        properties.insert(table.to_owned(), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Longhaul",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn properties(keys: &Keys<'_>, table: Option<&str>) -> Map<String, Value> {
    keys.in_table(table).map(|key| (key.name.clone(), property(key))).collect()
}

fn property(key: &Key<'_>) -> Value {
    let mut schema = match key.kind {
        ValueKind::Switch => json!({ "type": "boolean" }),
        ValueKind::Count => json!({ "type": "integer", "minimum": 0 }),
        ValueKind::Amount => json!({ "type": ["string", "number"] }),
        ValueKind::Text | ValueKind::Path => json!({ "type": "string" }),
        ValueKind::List => json!({ "type": "array", "items": { "type": "string" } }),
    };
    let possible = key.arg.get_possible_values();
    if key.kind == ValueKind::Text && !possible.is_empty() {
        schema["enum"] = possible.iter().map(|value| value.get_name()).collect();
    }
    let about = match key.trust {
        ProjectTrust::UserOnly(_) if key.table.is_none() => format!("{}. Only in your own file", key.about()),
        ProjectTrust::Trusted(_) => {
            format!("{}. In a project's file only after `longhaul config trust`", key.about())
        }
        ProjectTrust::UserOnly(_)
        | ProjectTrust::Any
        | ProjectTrust::OnlyLower
        | ProjectTrust::OnlyAdd
        | ProjectTrust::OnlyIfUnset => key.about(),
    };
    schema["description"] = about.into();
    schema
}

//! `longhaul config show`: the effective configuration for a run in a directory, with the origin of each
//! value.

use crate::args::{Cli, GlobalArgs, ShowConfigArgs};
use crate::config::format_value;
use crate::config::keys::{Key, Keys, TABLES};
use crate::config::layers::{Values, table_values};
use crate::config::loaded::LoadedConfig;
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use longhaul_core::Preset;
use serde_json::{Map, Value, json};

struct Row<'a> {
    key: &'a Key<'a>,
    values: Option<Vec<String>>,
    origin: String,
}

pub fn show(global: &GlobalArgs, args: &ShowConfigArgs) -> Result<u8, Failure> {
    let root = Cli::command();
    let keys = Keys::for_command(&root);
    let directory = super::directory(args.path.cwd.as_deref())?;
    let loaded = LoadedConfig::read(&keys, Some(&directory), &global.configured, |_| true)?;
    let mut rows = rows(&keys, None, &loaded.plain);
    for table in TABLES {
        rows.extend(self::rows(&keys, Some(table), &table_values(&loaded.files.user, table)));
    }
    let preset = loaded.plain.get("preset").and_then(|value| value.values.first()?.parse().ok());
    fill(&mut rows, &keys, preset.unwrap_or(Preset::Default));
    output::print_output(global, &json(&rows, args.origin), || text(&rows, args.origin));
    Ok(0)
}

fn rows<'a>(keys: &'a Keys<'_>, table: Option<&str>, values: &Values) -> Vec<Row<'a>> {
    let row = |key: &'a Key| {
        let found = values.get(&key.name);
        Row {
            key,
            values: found.map(|value| value.values.clone()),
            origin: found.map(|value| value.origin()).unwrap_or_default(),
        }
    };
    keys.in_table(table).map(row).collect()
}

fn fill(rows: &mut [Row<'_>], keys: &Keys<'_>, preset: Preset) {
    let policy = preset.policy().settings();
    for row in rows.iter_mut().filter(|row| row.values.is_none()) {
        let preset_value = policy.iter().find(|(name, _)| row.key.table.is_none() && *name == row.key.name);
        (row.values, row.origin) = match preset_value {
            Some((_, value)) if preset != Preset::Default => {
                (value.clone().map(|value| vec![value]), format!("preset {preset}"))
            }
            Some(_) | None => (keys.default(row.key), "default".to_owned()),
        };
    }
}

fn json(rows: &[Row<'_>], with_origin: bool) -> Value {
    let mut all = Map::new();
    for row in rows {
        let value = row.values.as_ref().map(|values| {
            let parsed = serde_json::from_str(&format_value(row.key.kind, values));
            parsed.unwrap_or_else(|_| json!(values.first()))
        });
        let entry = if with_origin { json!({ "value": value, "origin": row.origin }) } else { json!(value) };
        all.insert(row.key.path(), entry);
    }
    Value::Object(all)
}

/// Renders the values in the syntax of the file. Keys without a value are omitted.
fn text(rows: &[Row<'_>], with_origin: bool) -> String {
    let set = rows.iter().filter_map(|row| Some((row, row.values.as_ref()?)));
    let lines: Vec<(&Row<'_>, String)> = set
        .map(|(row, values)| (row, format!("{} = {}", row.key.name, format_value(row.key.kind, values))))
        .collect();
    // A long value must not shift all origins to the right.
    let width =
        lines.iter().map(|(_, line)| line.chars().count()).filter(|width| *width <= 48).max().unwrap_or(0);
    let mut out = String::new();
    let mut table = None;
    for (row, line) in lines {
        if row.key.table != table {
            table = row.key.table;
            out += &table.map(|table| format!("\n[{table}]\n")).unwrap_or_default();
        }
        out += &if with_origin { format!("{line:<width$}  # {}\n", row.origin) } else { format!("{line}\n") };
    }
    out
}

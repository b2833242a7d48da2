//! Parses the items of a phase: `fan_out` and `max_objectives`.

use super::phase_names::PhaseNames;
use crate::project_file::check_path;
use crate::reader::{Located, TableReader};
use crate::toml_values::{plain_value, to_json};
use crate::{GlobPattern, ItemSource, WorkflowFileError};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Keys that select a source of items.
const SOURCES: [&str; 5] = ["list", "command", "glob", "pointer", "objectives"];
const FAN_OUT_KEYS: [&str; 6] = ["list", "command", "glob", "pointer", "phase", "objectives"];
const FAN_OUT_HINT: &str = "write `list = […]`, `command = \"…\"`, `glob = \"…\"`, `phase = \"…\", pointer = \"/…\"`, or `objectives = \"…\"`";
/// Items of one iteration without `max_objectives`: a mistake in a command must not start thousands of runs.
const ITEMS_DEFAULT: u32 = 100;
/// More directories in one day slow down every listing of runs.
const ITEMS_MAX: u32 = 10_000;

pub fn parse_fan_out(
    table: &TableReader<'_>,
    names: &PhaseNames,
) -> Result<Option<ItemSource>, WorkflowFileError> {
    let Some(fan_out) = table.table("fan_out")? else { return Ok(None) };
    let fan_out = fan_out.with_keys(&FAN_OUT_KEYS)?;
    let source = fan_out.file.source;
    let present: Vec<&str> = SOURCES.into_iter().filter(|key| fan_out.value(key).is_some()).collect();
    if let [_, second, ..] = present.as_slice() {
        let message = "`fan_out` has more than one source of items";
        return Err(source.error(fan_out.key_span(second), message, FAN_OUT_HINT));
    }
    if fan_out.value("phase").is_some() && present != ["pointer"] {
        let hint = "remove `phase`, or select an array of its result: `pointer = \"/…\"`";
        return Err(source.error(fan_out.key_span("phase"), "`phase` needs a `pointer`", hint));
    }
    if let Some(command) = fan_out.text_with_parameters("command")? {
        return Ok(Some(ItemSource::Lines(command.value)));
    }
    if let Some(Located { value, span }) = fan_out.text_with_parameters("glob")? {
        let hint = "write a relative path; `*` matches in one directory, `**` in all";
        let glob = GlobPattern::new(&value);
        let glob = glob.map_err(|error| source.error(span, format!("`glob` is wrong: {error}"), hint))?;
        return Ok(Some(ItemSource::Glob(glob)));
    }
    if let Some(path) = project_path(&fan_out, "objectives")? {
        return Ok(Some(ItemSource::Objectives(path)));
    }
    if let Some((phase, pointer)) = parse_pointer(&fan_out, names)? {
        return Ok(Some(ItemSource::Pointer { phase, pointer }));
    }
    match fan_out.value("list") {
        None => Err(fan_out.error("it names no items", FAN_OUT_HINT)),
        Some(value) => match to_json(plain_value(source, value)?) {
            Value::Array(items) if items.is_empty() => {
                let message = "`list` of `fan_out` is empty";
                Err(source.error(value.span(), message, "add items, or remove `fan_out`"))
            }
            Value::Array(items) => Ok(Some(ItemSource::List(items))),
            _ => Err(fan_out.type_error("list", value, "a list, like [\"a\", \"b\"]")),
        },
    }
}

/// Parses the path of a file or directory of the project.
pub fn project_path(table: &TableReader<'_>, key: &str) -> Result<Option<PathBuf>, WorkflowFileError> {
    let hint = "write a path below the project directory, without `..`";
    let check = |text: &str| check_path(Path::new(text)).map(|()| PathBuf::from(text));
    Ok(table.parsed_text(key, hint, check)?.map(|path| path.value))
}

/// Parses `phase` and `pointer`, which belong together.
pub fn parse_pointer(
    table: &TableReader<'_>,
    names: &PhaseNames,
) -> Result<Option<(usize, String)>, WorkflowFileError> {
    let Some(value) = table.value("pointer") else { return Ok(None) };
    let hint = "write the path of the value in the result, like \"/tasks\" or \"/plan/0/files\"";
    // The empty pointer is the whole result, which is an object.
    let Some(pointer) = table.parsed_text("pointer", hint, check_pointer)? else { return Ok(None) };
    let Some(phase) = table.text("phase")? else {
        let hint = "add `phase = \"…\"`";
        return Err(table.file.source.error(value.span(), "`pointer` needs the phase of the result", hint));
    };
    let index = names.index(table.file.source, &phase)?;
    if !names.0[index].has_schema {
        let message = format!("the phase `{}` has no `schema`, so that its result is a text", phase.value);
        let hint = "add a schema to that phase: `schema = { type = \"object\", … }`";
        return Err(table.file.source.error(phase.span, message, hint));
    }
    Ok(Some((index, pointer.value)))
}

fn check_pointer(pointer: &str) -> Result<String, String> {
    let mut escapes = pointer.split('~').skip(1);
    if !pointer.starts_with('/') {
        Err("it does not start with `/`".to_owned())
    } else if !escapes.all(|rest| rest.starts_with(['0', '1'])) {
        Err("`~` is written `~0`, and `/` in a key `~1`".to_owned())
    } else {
        Ok(pointer.to_owned())
    }
}

/// Returns the maximum number of items of one iteration.
pub fn items_max(table: &TableReader<'_>, fan_out: Option<&ItemSource>) -> Result<u32, WorkflowFileError> {
    let configured = table.count("max_objectives", 1..=ITEMS_MAX)?;
    match (configured, fan_out) {
        (Some(_), None) => {
            let message = "`max_objectives` needs items";
            let hint = "add `fan_out`, or remove `max_objectives`";
            Err(table.file.source.error(table.key_span("max_objectives"), message, hint))
        }
        (Some(items_max), Some(_)) => Ok(items_max),
        (None, None) => Ok(1),
        // A list in the file is no mistake of a command.
        (None, Some(ItemSource::List(items))) => {
            Ok(u32::try_from(items.len()).unwrap_or(ITEMS_MAX).min(ITEMS_MAX))
        }
        (
            None,
            Some(
                ItemSource::Lines(_)
                | ItemSource::Glob(_)
                | ItemSource::Objectives(_)
                | ItemSource::Pointer { .. },
            ),
        ) => Ok(ITEMS_DEFAULT),
    }
}

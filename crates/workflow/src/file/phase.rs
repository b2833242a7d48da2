//! Parses one phase: needs, prompt, schema, limits and settings of its runs.

use super::fan_out::{items_max, parse_fan_out};
use super::phase_names::PhaseNames;
use super::reactions::parse_reactions;
use super::{Isolation, PhaseFile};
use crate::error::SourceText;
use crate::reader::{Located, TableReader};
use crate::template::{PromptScope, template_lines};
use crate::toml_values::{plain_value, to_json};
use crate::{ItemSource, PromptTemplate, ResultSchema, WorkflowFileError};
use longhaul_core::{Span, Usd, parse_dollars, parse_duration};

pub const PHASE_KEYS: [&str; 13] = [
    "name",
    "needs",
    "prompt",
    "prompt_file",
    "fan_out",
    "max_parallel",
    "max_objectives",
    "isolation",
    "edit_paths",
    "schema",
    "schema_file",
    "on",
    "run",
];
/// Each run is an agent with about 200 MB of memory, so that more is a typing error.
pub const PARALLEL_MAX: u32 = 1000;

pub fn parse_phase(table: &TableReader<'_>, names: &PhaseNames) -> Result<PhaseFile, WorkflowFileError> {
    let source = table.file.source;
    let mut needs = Vec::new();
    for need in table.texts("needs")? {
        let index = names.index(source, &need)?;
        if needs.contains(&index) {
            let message = format!("`needs` lists `{}` twice", need.value);
            return Err(source.error(need.span, message, "remove one of them"));
        }
        needs.push(index);
    }
    let fan_out = parse_fan_out(table, names)?;
    // Items from the result of a phase exist only after it.
    if let Some(ItemSource::Pointer { phase, .. }) = &fan_out
        && !needs.contains(phase)
    {
        needs.push(*phase);
    }
    let mut phase = PhaseFile {
        name: table.text("name")?.map(|name| name.value).unwrap_or_default(),
        prompt: prompt(table, names, fan_out.is_some())?,
        schema: schema(table)?,
        isolation: isolation(table)?,
        edit_paths: edit_paths(table, names, fan_out.is_some())?,
        settings: toml::Table::new(),
        settings_line: source.line_number(table.key_span("run").start),
        setting_spans: Default::default(),
        needs,
        parallel_max: table.count("max_parallel", 1..=PARALLEL_MAX)?,
        items_max: items_max(table, fan_out.as_ref())?,
        fan_out,
        budget: None,
        time: None,
        reactions: parse_reactions(table)?,
    };
    if let Some(run) = table.table("run")? {
        phase.budget = run.amount("budget", parse_dollars)?.filter(|budget| *budget > Usd::ZERO);
        phase.time = run.amount("time_limit", parse_duration)?.filter(|time| *time > Span::ZERO);
        for (key, value) in run.entries() {
            let mut setting = plain_value(source, value)?;
            let replace = |text: &str| table.file.parameters.replace_in(text, source, value.span());
            replace_texts(&mut setting, &replace)?;
            phase.setting_spans.insert(key.get_ref().to_string(), key.span());
            phase.settings.insert(key.get_ref().to_string(), setting);
        }
    }
    Ok(phase)
}

fn prompt(
    table: &TableReader<'_>,
    names: &PhaseNames,
    has_items: bool,
) -> Result<PromptTemplate, WorkflowFileError> {
    let source = table.file.source;
    let phases = names.as_strs();
    let scope = PromptScope { phases: &phases, parameters: &table.file.parameters.values, has_items };
    match (table.text("prompt")?, table.text("prompt_file")?) {
        (Some(Located { value, span }), None) => {
            let lines = template_lines(&source.text[span.clone()], source.line_number(span.start));
            scope.check(value, source.clone(), lines)
        }
        (None, Some(file)) => {
            let (path, text) = table.file.files.read(source, &file.value, &file.span)?;
            if text.trim().is_empty() {
                let message = format!("{} is empty", path.display());
                return Err(source.error(file.span, message, "write the prompt into it"));
            }
            let lines = (1..=text.split('\n').count()).collect();
            let prompt_source = SourceText::new(&path, &text);
            scope.check(text, prompt_source, lines)
        }
        (Some(_), Some(file)) => {
            let message = "a phase has `prompt` or `prompt_file`, not both";
            Err(source.error(file.span, message, "remove one of them"))
        }
        (None, None) => {
            Err(table.error("it has no prompt", "add `prompt = \"…\"` or `prompt_file = \"FILE.md\"`"))
        }
    }
}

/// Parses the templates of the paths that a run may edit.
fn edit_paths(
    table: &TableReader<'_>,
    names: &PhaseNames,
    has_items: bool,
) -> Result<Vec<PromptTemplate>, WorkflowFileError> {
    let source = table.file.source;
    let phases = names.as_strs();
    let scope = PromptScope { phases: &phases, parameters: &table.file.parameters.values, has_items };
    let template = |Located { value, span }: Located<String>| {
        let lines = template_lines(&source.text[span.clone()], source.line_number(span.start));
        scope.check(value, source.clone(), lines)
    };
    table.texts("edit_paths")?.into_iter().map(template).collect()
}

fn schema(table: &TableReader<'_>) -> Result<Option<ResultSchema>, WorkflowFileError> {
    let source = table.file.source;
    let (value, span) = match (table.value("schema"), table.text("schema_file")?) {
        (None, None) => return Ok(None),
        (Some(value), None) => (to_json(plain_value(source, value)?), table.key_span("schema")),
        (None, Some(file)) => {
            let (path, text) = table.file.files.read(source, &file.value, &file.span)?;
            let value = serde_json::from_str(&text).map_err(|error| {
                let message = format!("{} is not JSON: {error}", path.display());
                source.error(
                    file.span.clone(),
                    message,
                    "correct the file, or write the schema as `schema = { … }`",
                )
            })?;
            (value, file.span)
        }
        (Some(_), Some(file)) => {
            let message = "a phase has `schema` or `schema_file`, not both";
            return Err(source.error(file.span, message, "remove one of them"));
        }
    };
    let hint =
        "write a JSON schema, like { type = \"object\", properties = { complete = { type = \"boolean\" } } }";
    ResultSchema::new(value)
        .map(Some)
        .map_err(|error| source.error(span, format!("the schema is wrong: {error}"), hint))
}

fn isolation(table: &TableReader<'_>) -> Result<Isolation, WorkflowFileError> {
    let hint = "write \"none\" (all runs in the project directory) or \"worktree\" (each in a git worktree)";
    let parse = |text: &str| match text {
        "none" => Ok(Isolation::None),
        "worktree" => Ok(Isolation::Worktree),
        _ => Err(format!("there is no isolation `{text}`")),
    };
    let isolation = table.parsed_text("isolation", hint, parse)?;
    Ok(isolation.map_or(Isolation::None, |isolation| isolation.value))
}

/// Replaces the parameters in each text of a value.
fn replace_texts(
    value: &mut toml::Value,
    replace: &impl Fn(&str) -> Result<String, WorkflowFileError>,
) -> Result<(), WorkflowFileError> {
    match value {
        toml::Value::String(text) => *text = replace(text)?,
        toml::Value::Array(values) => {
            values.iter_mut().try_for_each(|value| replace_texts(value, replace))?
        }
        toml::Value::Table(table) => {
            table.iter_mut().try_for_each(|(_, value)| replace_texts(value, replace))?;
        }
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => {}
    }
    Ok(())
}

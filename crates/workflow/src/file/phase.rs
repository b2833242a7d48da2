//! Checks one phase: needs, prompt, schema, limits and settings of its runs.

use super::PhaseFile;
use super::context::FileContext;
use super::fan_out::{item_source, items_max};
use super::reactions::reactions;
use super::tables::{PhaseTable, Text, to_json};
use crate::error::SourceText;
use crate::template::{PromptScope, template_lines};
use crate::{ItemSource, PromptTemplate, ResultSchema, WorkflowFileError};
use toml::Spanned;

pub fn phase_file(
    file: &FileContext<'_>,
    phase: &Spanned<PhaseTable>,
) -> Result<PhaseFile, WorkflowFileError> {
    let table = phase.get_ref();
    let mut needs = Vec::new();
    for need in &table.needs {
        let index = file.phase_index(need)?;
        if needs.contains(&index) {
            let message = format!("`needs` lists `{}` twice", need.get_ref().0);
            return Err(file.source.error(need.span(), message, "remove one of them"));
        }
        needs.push(index);
    }
    let fan_out = table.fan_out.as_ref().map(|fan_out| item_source(file, fan_out)).transpose()?;
    // Items from the result of a phase exist only after it.
    if let Some(ItemSource::Pointer { phase, .. }) = &fan_out
        && !needs.contains(phase)
    {
        needs.push(*phase);
    }
    let phases = file.names();
    let scope =
        PromptScope { phases: &phases, parameters: &file.parameters.values, has_items: fan_out.is_some() };
    let edit_paths = table.edit_paths.iter().map(|path| template(file, &scope, path));
    let limits = file.limits(table.run.get("budget"), table.run.get("time_limit"))?;
    let mut settings = toml::Table::new();
    for (key, value) in &table.run {
        let mut setting = value.get_ref().clone();
        let replace = |text: &str| file.parameters.replace_in(text, file.source, value.span());
        replace_texts(&mut setting, &replace)?;
        settings.insert(key.get_ref().clone(), setting);
    }
    Ok(PhaseFile {
        name: table.name.get_ref().0.clone(),
        prompt: prompt(file, &scope, phase)?,
        schema: schema(file, table)?,
        isolation: table.isolation,
        edit_paths: edit_paths.collect::<Result<_, _>>()?,
        settings,
        setting_spans: table.run.keys().map(|key| (key.get_ref().clone(), key.span())).collect(),
        needs,
        parallel_max: table.max_parallel.map(|count| count.0),
        items_max: items_max(file, table, fan_out.as_ref())?,
        fan_out,
        budget: limits.budget,
        time: limits.time,
        reactions: reactions(file, table)?,
    })
}

/// Checks a template that is written in the file.
fn template(
    file: &FileContext<'_>,
    scope: &PromptScope<'_>,
    text: &Spanned<Text>,
) -> Result<PromptTemplate, WorkflowFileError> {
    let (span, Text(text)) = (text.span(), text.get_ref());
    let first_line = file.source.line_number(span.start);
    let lines = template_lines(&file.source.text[span], first_line);
    scope.check(text.clone(), file.source.clone(), lines)
}

fn prompt(
    file: &FileContext<'_>,
    scope: &PromptScope<'_>,
    phase: &Spanned<PhaseTable>,
) -> Result<PromptTemplate, WorkflowFileError> {
    let table = phase.get_ref();
    match (&table.prompt, &table.prompt_file) {
        (Some(prompt), None) => template(file, scope, prompt),
        (None, Some(name)) => {
            let (path, text) = file.files.read(file.source, &name.get_ref().0, &name.span())?;
            if text.trim().is_empty() {
                let message = format!("{} is empty", path.display());
                return Err(file.source.error(name.span(), message, "write the prompt into it"));
            }
            let lines = (1..=text.split('\n').count()).collect();
            let prompt_source = SourceText::new(&path, &text);
            scope.check(text, prompt_source, lines)
        }
        (Some(_), Some(name)) => {
            let message = "a phase has `prompt` or `prompt_file`, not both";
            Err(file.source.error(name.span(), message, "remove one of them"))
        }
        (None, None) => {
            let hint = "add `prompt = \"…\"` or `prompt_file = \"FILE.md\"`";
            Err(file.source.error(phase.span(), "the phase has no prompt", hint))
        }
    }
}

fn schema(file: &FileContext<'_>, table: &PhaseTable) -> Result<Option<ResultSchema>, WorkflowFileError> {
    let (value, span) = match (&table.schema, &table.schema_file) {
        (None, None) => return Ok(None),
        (Some(value), None) => (to_json(value.get_ref()), value.span()),
        (None, Some(name)) => {
            let (path, text) = file.files.read(file.source, &name.get_ref().0, &name.span())?;
            let value = serde_json::from_str(&text).map_err(|error| {
                let message = format!("{} is not JSON: {error}", path.display());
                let hint = "correct the file, or write the schema as `schema = { … }`";
                file.source.error(name.span(), message, hint)
            })?;
            (value, name.span())
        }
        (Some(_), Some(name)) => {
            let message = "a phase has `schema` or `schema_file`, not both";
            return Err(file.source.error(name.span(), message, "remove one of them"));
        }
    };
    let hint =
        "write a JSON schema, like { type = \"object\", properties = { complete = { type = \"boolean\" } } }";
    ResultSchema::new(value)
        .map(Some)
        .map_err(|error| file.source.error(span, format!("the schema is wrong: {error}"), hint))
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

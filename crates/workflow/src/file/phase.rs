//! Checks one phase: needs, items, prompt, schema, limits, settings of its runs, and reactions to them.

use super::PhaseFile;
use super::context::FileContext;
use super::tables::{FanOutTable, ITEMS_MAX, PhaseTable, Text, to_json};
use crate::error::{SourceText, suggestion};
use crate::template::PromptScope;
use crate::{GlobPattern, ItemSource, PromptTemplate, ResultSchema, WorkflowFileError};
use longhaul_core::{OutcomeKind, Reaction, Reactions};
use toml::Spanned;

const FAN_OUT_HINT: &str = "write `list = […]`, `command = \"…\"`, `glob = \"…\"`, `phase = \"…\", pointer = \"/…\"`, or `objectives = \"…\"`";
/// Items of one iteration without `max_objectives`: a mistake in a command must not start thousands of runs.
const ITEMS_DEFAULT: u32 = 100;
/// Each retry is a whole run, so that more is a typing error.
const RETRIES_MAX: u32 = 100;

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
    // An empty list would allow every path.
    if let Some(paths) = table.edit_paths.as_ref().filter(|paths| paths.get_ref().is_empty()) {
        let hint = "name a path, or remove it; `deny_tools` denies all edits";
        return Err(file.source.error(paths.span(), "`edit_paths` is empty", hint));
    }
    let edit_paths = table.edit_paths.iter().flat_map(|paths| paths.get_ref());
    let edit_paths = edit_paths.map(|path| template(file, &scope, path));
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

fn item_source(
    file: &FileContext<'_>,
    fan_out: &Spanned<FanOutTable>,
) -> Result<ItemSource, WorkflowFileError> {
    let FanOutTable { list, command, glob, objectives, phase, pointer } = fan_out.get_ref();
    match (list, command, glob, objectives, phase, pointer) {
        (Some(list), None, None, None, None, None) if list.get_ref().is_empty() => {
            let message = "`list` of `fan_out` is empty";
            Err(file.source.error(list.span(), message, "add items, or remove `fan_out`"))
        }
        (Some(list), None, None, None, None, None) => {
            Ok(ItemSource::List(list.get_ref().iter().map(to_json).collect()))
        }
        (None, Some(command), None, None, None, None) => Ok(ItemSource::Lines(file.text(command)?)),
        (None, None, Some(glob), None, None, None) => {
            let hint = "write a relative path; `*` matches in one directory, `**` in all";
            let pattern = GlobPattern::new(&file.text(glob)?);
            pattern
                .map(ItemSource::Glob)
                .map_err(|error| file.source.error(glob.span(), format!("`glob` is wrong: {error}"), hint))
        }
        (None, None, None, Some(path), None, None) => Ok(ItemSource::Objectives(file.project_path(path)?)),
        (None, None, None, None, Some(phase), Some(pointer)) => Ok(ItemSource::Pointer {
            phase: file.result_phase(phase, pointer)?,
            pointer: pointer.get_ref().0.clone(),
        }),
        _ => Err(file.source.error(
            fan_out.span(),
            "`fan_out` needs exactly one source of items",
            FAN_OUT_HINT,
        )),
    }
}

/// Returns the maximum number of items of one iteration.
fn items_max(
    file: &FileContext<'_>,
    table: &PhaseTable,
    fan_out: Option<&ItemSource>,
) -> Result<u32, WorkflowFileError> {
    let Some(fan_out) = fan_out else {
        let Some(items_max) = &table.max_objectives else { return Ok(1) };
        let hint = "add `fan_out`, or remove `max_objectives`";
        return Err(file.source.error(items_max.span(), "`max_objectives` needs items", hint));
    };
    // A list in the file is no mistake of a command.
    let default = match fan_out {
        ItemSource::List(items) => u32::try_from(items.len()).unwrap_or(ITEMS_MAX).min(ITEMS_MAX),
        ItemSource::Lines(_)
        | ItemSource::Glob(_)
        | ItemSource::Objectives(_)
        | ItemSource::Pointer { .. } => ITEMS_DEFAULT,
    };
    Ok(table.max_objectives.as_ref().map_or(default, |items_max| items_max.get_ref().0))
}

/// Checks a template that is written in the file.
fn template(
    file: &FileContext<'_>,
    scope: &PromptScope<'_>,
    text: &Spanned<Text>,
) -> Result<PromptTemplate, WorkflowFileError> {
    let (span, Text(text)) = (text.span(), text.get_ref());
    let raw = &file.source.text[span.clone()];
    // A line break after three opening quotes is not part of the text.
    let skipped = usize::from(raw.get(3..).is_some_and(|raw| raw.starts_with(['\r', '\n'])));
    let lines = (file.source.line_number(span.start) + skipped, file.source.line_number(span.end));
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
            let lines = (1, text.split('\n').count());
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

/// Returns whether a phase can react to a run with this outcome. `done` needs no reaction, a user's cancellation
/// always stops, and `partial` is an outcome of workflows.
fn has_reaction(outcome: OutcomeKind) -> bool {
    match outcome {
        OutcomeKind::Failed
        | OutcomeKind::OverBudget
        | OutcomeKind::OutOfTime
        | OutcomeKind::NeedsPerson
        | OutcomeKind::CheckFailed
        | OutcomeKind::NotStarted
        | OutcomeKind::Incomplete
        | OutcomeKind::Bug
        | OutcomeKind::RetryLater => true,
        OutcomeKind::Done | OutcomeKind::Partial | OutcomeKind::Cancelled | OutcomeKind::Suspended => false,
    }
}

fn reactions(file: &FileContext<'_>, table: &PhaseTable) -> Result<Reactions, WorkflowFileError> {
    let mut reactions = Reactions::default();
    for (key, value) in &table.on {
        let (name, reaction) = (key.get_ref().as_str(), *value.get_ref());
        let outcomes = OutcomeKind::ALL.iter().copied().filter(|outcome| has_reaction(*outcome));
        let Some(outcome) = outcomes.clone().find(|outcome| outcome.as_str() == name) else {
            let names: Vec<&str> = outcomes.map(OutcomeKind::as_str).collect();
            let hint = suggestion("outcomes", name, &names);
            return Err(file.source.error(key.span(), format!("`on` cannot react to `{name}`"), hint));
        };
        if reaction == Reaction::Park && outcome != OutcomeKind::RetryLater {
            let message = format!("`{outcome}` cannot park: only `retry_later` has a time to wait for");
            let hint = "write \"stop\", \"continue\" or { retry = 2 }";
            return Err(file.source.error(value.span(), message, hint));
        }
        if matches!(reaction, Reaction::Retry(retries) if !(1..=RETRIES_MAX).contains(&retries)) {
            let hint = format!("write a whole number from 1 to {RETRIES_MAX}");
            return Err(file.source.error(value.span(), "the number of retries is out of range", hint));
        }
        reactions.0.insert(outcome, reaction);
    }
    Ok(reactions)
}

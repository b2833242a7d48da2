//! Parses `[repeat]`: the number of iterations, and the condition that ends them.

use super::fan_out::{parse_pointer, project_path};
use super::phase_names::PhaseNames;
use super::{PhaseFile, Until};
use crate::archon::Stage;
use crate::project_file::check_path;
use crate::reader::{Located, TableReader};
use crate::toml_values::{plain_value, to_json};
use crate::{Condition, FileCondition, ResultCondition, StageCondition, WorkflowFileError};
use regex::Regex;
use std::path::Path;

const UNTIL_KEYS: [&str; 9] =
    ["after", "command", "file", "matches", "phase", "pointer", "equals", "progress", "stage"];
/// Keys that select a kind of condition.
const KINDS: [&str; 4] = ["command", "file", "phase", "progress"];
const UNTIL_HINT: &str = "write `command = \"…\"`, `file = \"…\", matches = \"…\"`, \
                          `phase = \"…\", pointer = \"/…\", equals = …`, or `progress = \"…\", stage = \"…\"`";
/// Archon's default.
const ITERATIONS_DEFAULT: u32 = 10;
/// Even iterations of one minute take a week.
const ITERATIONS_MAX: u32 = 10_000;

pub struct Repeat {
    pub iterations_max: u32,
    pub until: Option<Until>,
}

pub fn parse_repeat(
    root: &TableReader<'_>,
    names: &PhaseNames,
    phases: &[PhaseFile],
) -> Result<Repeat, WorkflowFileError> {
    let Some(repeat) = root.table("repeat")? else { return Ok(Repeat { iterations_max: 1, until: None }) };
    let repeat = repeat.with_keys(&["iterations", "until"])?;
    let iterations_max = repeat.count("iterations", 1..=ITERATIONS_MAX)?.unwrap_or(ITERATIONS_DEFAULT);
    let until = match repeat.table("until")? {
        None => None,
        Some(until) => Some(parse_until(&until.with_keys(&UNTIL_KEYS)?, names, phases)?),
    };
    Ok(Repeat { iterations_max, until })
}

fn parse_until(
    until: &TableReader<'_>,
    names: &PhaseNames,
    phases: &[PhaseFile],
) -> Result<Until, WorkflowFileError> {
    let source = until.file.source;
    let present: Vec<&str> = KINDS.into_iter().filter(|key| until.value(key).is_some()).collect();
    if let [_, second, ..] = present.as_slice() {
        let message = "`until` has more than one condition";
        return Err(source.error(until.key_span(second), message, UNTIL_HINT));
    }
    let only_with = [("matches", "file"), ("pointer", "phase"), ("equals", "phase"), ("stage", "progress")];
    let orphan =
        only_with.into_iter().find(|(key, kind)| until.value(key).is_some() && !present.contains(kind));
    if let Some((key, kind)) = orphan {
        let message = format!("`{key}` needs `{kind}`");
        return Err(source.error(until.key_span(key), message, UNTIL_HINT));
    }
    let (condition, default_after) = if let Some(command) = until.text_with_parameters("command")? {
        (Condition::Command(command.value), phases.len() - 1)
    } else if let Some(path) = until.text_with_parameters("file")? {
        (Condition::FileMatches(file_condition(until, path)?), phases.len() - 1)
    } else if let Some(path) = project_path(until, "progress")? {
        let words: Vec<&str> = Stage::ALL.iter().map(|stage| stage.as_str()).collect();
        let hint = format!("write one of {}", words.join(", "));
        let known = |text: &str| Stage::ALL.iter().copied().find(|stage| stage.as_str() == text);
        let parse = |text: &str| known(text).ok_or_else(|| format!("`{text}` is no stage"));
        let Some(stage) = until.parsed_text("stage", &hint, parse)? else {
            return Err(source.error(until.key_span("progress"), "`progress` needs `stage`", UNTIL_HINT));
        };
        let condition = StageCondition { path, stage: stage.value };
        (Condition::Stage(condition), phases.len() - 1)
    } else if let Some(phase) = until.text("phase")? {
        let (condition, index) = result_condition(until, names, &phase)?;
        (Condition::Result(condition), index)
    } else {
        return Err(until.error("it has no condition", UNTIL_HINT));
    };
    let after = match until.text("after")? {
        Some(after) => names.index(source, &after)?,
        None => default_after,
    };
    Ok(Until { after, condition })
}

fn file_condition(
    until: &TableReader<'_>,
    path: Located<String>,
) -> Result<FileCondition, WorkflowFileError> {
    let source = until.file.source;
    check_path(Path::new(&path.value))
        .map_err(|error| source.error(path.span.clone(), error, "name a file below the project directory"))?;
    let hint = "write a regular expression; `(?m)^COMPLETE$` matches a line";
    let parse = |text: &str| Regex::new(text).map_err(|error| regex_reason(&error));
    let Some(regex) = until.parsed_text("matches", hint, parse)? else {
        return Err(source.error(path.span, "`file` needs `matches`", UNTIL_HINT));
    };
    Ok(FileCondition { path: path.value.into(), regex: regex.value })
}

/// Returns the last line of the error: the others repeat the expression, which the excerpt shows.
fn regex_reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

fn result_condition(
    until: &TableReader<'_>,
    names: &PhaseNames,
    phase: &Located<String>,
) -> Result<(ResultCondition, usize), WorkflowFileError> {
    let source = until.file.source;
    let missing = |key: &str| source.error(phase.span.clone(), format!("`phase` needs `{key}`"), UNTIL_HINT);
    let (index, pointer) = parse_pointer(until, names)?.ok_or_else(|| missing("pointer"))?;
    let equals = until.value("equals").ok_or_else(|| missing("equals"))?;
    let equals = to_json(plain_value(source, equals)?);
    Ok((ResultCondition { phase: phase.value.clone(), pointer, equals }, index))
}

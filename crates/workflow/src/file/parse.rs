//! Parses a workflow file and checks what several phases share: names, order, limits, and the condition that ends the
//! iterations.

use super::context::FileContext;
use super::phase::phase_file;
use super::tables::{FileTable, PhaseTable, UntilTable, serde_error, to_json};
use super::{Until, WorkflowFile};
use crate::error::SourceText;
use crate::order::order;
use crate::parameters::Parameters;
use crate::sibling_files::SiblingFiles;
use crate::{
    Condition, FileCondition, ItemSource, PhaseFile, ResultCondition, StageCondition, WorkflowFileError,
};
use longhaul_core::{Span, parse_bytes, parse_duration};
use regex::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// Size limit of a workflow file. Long prompts are files of their own.
const FILE_BYTES_MAX: usize = 1 << 20;
const PHASES_MAX: usize = 64;
/// A name is part of the ids of runs, which are names of directories.
const NAME_BYTES_MAX: usize = 32;
/// Archon's default.
const PARALLEL_DEFAULT: u32 = 4;
/// Archon's default.
const ITERATIONS_DEFAULT: u32 = 10;
/// Two starts in this time load neither the machine nor the API much.
const START_GAP_DEFAULT: Span = Span::from_secs(2);

const UNTIL_HINT: &str = "write `command = \"…\"`, `file = \"…\", matches = \"…\"`, \
                          `phase = \"…\", pointer = \"/…\", equals = …`, or `progress = \"…\", stage = \"…\"`";

impl WorkflowFile {
    /// Parses a workflow file. `settings` are the parameters of the command line (`--set KEY=VALUE`). The files
    /// that it names are relative to the directory of `path`.
    ///
    /// # Errors
    /// Returns the first error of the file, with its position.
    pub fn parse(
        text: &str,
        path: &Path,
        settings: &[(String, String)],
    ) -> Result<WorkflowFile, WorkflowFileError> {
        WorkflowFile::parse_with_files(text, path, settings, &BTreeMap::new())
    }

    /// Parses a workflow file with [texts](WorkflowFile::files) of files that were read before. Only files without
    /// a text are read.
    ///
    /// # Errors
    /// As [`parse`](WorkflowFile::parse).
    pub fn parse_with_files(
        text: &str,
        path: &Path,
        settings: &[(String, String)],
        files: &BTreeMap<String, String>,
    ) -> Result<WorkflowFile, WorkflowFileError> {
        if text.len() > FILE_BYTES_MAX {
            let message = format!("cannot read {}: it is larger than 1 MiB", path.display());
            return Err(WorkflowFileError::new(message, "keep long prompts in files: `prompt_file = \"…\"`"));
        }
        let source = SourceText::new(path, text);
        let deserializer = toml::Deserializer::parse(text).map_err(|error| {
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            let hint = "write TOML: `key = value`, with strings in quotes";
            source.error(error.span().unwrap_or_default(), message, hint)
        })?;
        let table = FileTable::deserialize(deserializer).map_err(|error| serde_error(&source, &error))?;
        let parameters = Parameters::new(&source, &table.parameters, settings)?;
        check_phases(&source, &table.phase)?;
        let files = SiblingFiles::new(files);
        let file =
            FileContext { source: &source, files: &files, parameters: &parameters, phases: &table.phase };
        let phases =
            table.phase.iter().map(|phase| phase_file(&file, phase)).collect::<Result<Vec<_>, _>>()?;
        let iterations_max = table
            .repeat
            .as_ref()
            .map_or(1, |repeat| repeat.iterations.map_or(ITERATIONS_DEFAULT, |iterations| iterations.0));
        let until_table = table.repeat.as_ref().and_then(|repeat| repeat.until.as_ref());
        let start_gap = file.amount(table.start_gap.as_ref(), parse_duration)?;
        let mut workflow = WorkflowFile {
            phases,
            until: until_table.map(|table| until(&file, table)).transpose()?,
            iterations_max,
            parallel_max: table.max_parallel.map_or(PARALLEL_DEFAULT, |count| count.0),
            limits: file.limits(table.budget.as_ref(), table.time_limit.as_ref())?,
            start_gap: start_gap.unwrap_or(START_GAP_DEFAULT),
            memory_reserve: file.amount(table.memory_reserve.as_ref(), parse_bytes)?,
            archon_files: table.archon_files.as_ref().map(|path| file.project_path(path)).transpose()?,
            description: table.description.map(|text| text.0),
            parameters: parameters.clone(),
            source: source.clone(),
            files: files.texts(),
        };
        workflow.sort_phases(&table.phase)?;
        Ok(workflow)
    }

    /// Sorts the phases so that each follows those that it needs.
    fn sort_phases(&mut self, tables: &[Spanned<PhaseTable>]) -> Result<(), WorkflowFileError> {
        let needs: Vec<Vec<usize>> = self.phases.iter().map(|phase| phase.needs.clone()).collect();
        let order = order(&needs).map_err(|cycle| {
            let mut names: Vec<&str> = cycle.iter().map(|index| self.phases[*index].name.as_str()).collect();
            names.push(names[0]);
            let table = &tables[cycle[0]];
            let need = table.get_ref().needs.iter().find(|need| need.get_ref().0 == names[1]);
            // A phase also needs the one that its pointer names.
            let span = need.map_or(table.span(), Spanned::span);
            let message = format!("the phases need each other: {}", names.join(" needs "));
            let hint = "remove one of these needs: a phase starts after those that it needs";
            self.source.error(span, message, hint)
        })?;
        let mut position = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            position[*old] = new;
        }
        let mut phases: Vec<Option<PhaseFile>> = self.phases.drain(..).map(Some).collect();
        self.phases = order.iter().filter_map(|old| phases[*old].take()).collect();
        for phase in &mut self.phases {
            phase.needs.iter_mut().for_each(|needed| *needed = position[*needed]);
            phase.needs.sort_unstable();
            if let Some(ItemSource::Pointer { phase: source, .. }) = &mut phase.fan_out {
                *source = position[*source];
            }
        }
        if let Some(until) = &mut self.until {
            until.after = position[until.after];
        }
        Ok(())
    }
}

/// Checks the number of phases, and that their names are valid and different.
fn check_phases(source: &SourceText, phases: &[Spanned<PhaseTable>]) -> Result<(), WorkflowFileError> {
    if phases.is_empty() {
        let message = format!("cannot read {}: it has no phase", source.path.display());
        let hint = "write `[[phase]]`, then `name = \"…\"` and `prompt = \"…\"`";
        return Err(WorkflowFileError::new(message, hint));
    }
    if let Some(phase) = phases.get(PHASES_MAX) {
        let message = format!("the file has {} phases, and at most {PHASES_MAX} are possible", phases.len());
        return Err(source.error(phase.span(), message, "let one phase start many runs: `fan_out`"));
    }
    let mut names: Vec<&str> = Vec::new();
    for phase in phases {
        let name = &phase.get_ref().name;
        let (span, name) = (name.span(), name.get_ref().0.as_str());
        check_name(name).map_err(|(message, hint)| source.error(span.clone(), message, hint))?;
        if names.contains(&name) {
            let message = format!("two phases have the name `{name}`");
            return Err(source.error(span, message, "rename one of them"));
        }
        names.push(name);
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), (String, &'static str)> {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.len() > NAME_BYTES_MAX {
        let length = name.chars().count();
        let message = format!("the name has {length} characters, and at most {NAME_BYTES_MAX} are possible");
        return Err((message, "the name is part of the ids of its runs: choose a short one"));
    }
    if !name.chars().all(is_allowed) || name.starts_with(['-', '_']) {
        let message = format!("`{name}` cannot be the name of a phase");
        return Err((message, "use lower-case letters, digits, `-` and `_`, with a letter or digit first"));
    }
    Ok(())
}

/// Checks the condition that ends the iterations.
fn until(file: &FileContext<'_>, table: &Spanned<UntilTable>) -> Result<Until, WorkflowFileError> {
    let UntilTable { after, command, file: path, matches, phase, pointer, equals, progress, stage } =
        table.get_ref();
    let mut default_after = file.phases.len() - 1;
    let condition = match (command, path, matches, phase, pointer, equals, progress, stage) {
        (Some(command), None, None, None, None, None, None, None) => Condition::Command(file.text(command)?),
        (None, Some(path), Some(matches), None, None, None, None, None) => {
            let hint = "write a regular expression; `(?m)^COMPLETE$` matches a line";
            let regex = Regex::new(&matches.get_ref().0).map_err(|error| {
                let message = format!("`matches` is wrong: {}", regex_reason(&error));
                file.source.error(matches.span(), message, hint)
            })?;
            Condition::FileMatches(FileCondition { path: file.project_path(path)?, regex })
        }
        (None, None, None, Some(phase), Some(pointer), Some(equals), None, None) => {
            default_after = file.result_phase(phase, pointer)?;
            let (phase, pointer) = (phase.get_ref().0.clone(), pointer.get_ref().0.clone());
            Condition::Result(ResultCondition { phase, pointer, equals: to_json(equals) })
        }
        (None, None, None, None, None, None, Some(path), Some(stage)) => {
            Condition::Stage(StageCondition { path: file.project_path(path)?, stage: *stage })
        }
        _ => {
            return Err(file.source.error(
                table.span(),
                "`until` needs the keys of exactly one condition",
                UNTIL_HINT,
            ));
        }
    };
    let after = after.as_ref().map(|after| file.phase_index(after)).transpose()?;
    Ok(Until { after: after.unwrap_or(default_after), condition })
}

/// Returns the last line of the error: the others repeat the expression, which the excerpt shows.
fn regex_reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

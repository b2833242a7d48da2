//! Parses the top level of a workflow file.

use super::WorkflowFile;
use super::fan_out::project_path;
use super::phase::{PARALLEL_MAX, PHASE_KEYS, parse_phase};
use super::phase_names::{PhaseName, PhaseNames};
use super::repeat::parse_repeat;
use crate::error::SourceText;
use crate::order::order;
use crate::parameters::Parameters;
use crate::reader::{FileContext, Located, TableReader};
use crate::sibling_files::SiblingFiles;
use crate::{ItemSource, PhaseFile, WorkflowFileError};
use longhaul_core::{Span, Usd, WorkflowLimits, parse_bytes, parse_dollars, parse_duration};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 10] = [
    "description",
    "archon_files",
    "max_parallel",
    "budget",
    "time_limit",
    "memory_reserve",
    "start_gap",
    "parameters",
    "repeat",
    "phase",
];
/// Size limit of a workflow file. Long prompts are files of their own.
const FILE_BYTES_MAX: usize = 1 << 20;
const PHASES_MAX: usize = 64;
/// A name is part of the ids of runs, which are names of directories.
const NAME_BYTES_MAX: usize = 32;
/// Archon's default.
const PARALLEL_DEFAULT: u32 = 4;
/// Two starts in this time load neither the machine nor the API much.
const START_GAP_DEFAULT: Span = Span::from_secs(2);

impl WorkflowFile {
    /// Parses a workflow file. `settings` are the parameters of the command line (`--set KEY=VALUE`). The files
    /// that it names are relative to the directory of `path`.
    ///
    /// # Errors
    ///
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
    ///
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
        let root = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            source.error(span, message, "write TOML: `key = value`, with strings in quotes")
        })?;
        let parameters = Parameters::parse(&source, root.get_ref().get("parameters"), settings)?;
        let files = SiblingFiles::new(files);
        let file = FileContext { source: &source, files: &files, parameters: &parameters };
        let root = TableReader::new(file, "the file", root.get_ref(), 0..0).with_keys(&KEYS)?;
        let tables = phase_tables(&root)?;
        let names = phase_names(&tables)?;
        let phases = tables.iter().map(|table| parse_phase(table, &names)).collect::<Result<Vec<_>, _>>()?;
        let repeat = parse_repeat(&root, &names, &phases)?;
        let limits = WorkflowLimits {
            budget: root.amount("budget", parse_dollars)?.filter(|budget| *budget > Usd::ZERO),
            time: root.amount("time_limit", parse_duration)?.filter(|time| *time > Span::ZERO),
        };
        let mut workflow = WorkflowFile {
            description: root.text("description")?.map(|text| text.value),
            phases,
            until: repeat.until,
            iterations_max: repeat.iterations_max,
            parallel_max: root.count("max_parallel", 1..=PARALLEL_MAX)?.unwrap_or(PARALLEL_DEFAULT),
            limits,
            start_gap: root.amount("start_gap", parse_duration)?.unwrap_or(START_GAP_DEFAULT),
            memory_reserve: root.amount("memory_reserve", parse_bytes)?,
            archon_files: project_path(&root, "archon_files")?,
            parameters: parameters.clone(),
            source: source.clone(),
            files: files.texts(),
        };
        workflow.sort_phases(&tables)?;
        Ok(workflow)
    }

    /// Sorts the phases so that each follows those that it needs.
    fn sort_phases(&mut self, tables: &[TableReader<'_>]) -> Result<(), WorkflowFileError> {
        let needs: Vec<Vec<usize>> = self.phases.iter().map(|phase| phase.needs.clone()).collect();
        let order = order(&needs).map_err(|cycle| {
            let mut names: Vec<&str> = cycle.iter().map(|index| self.phases[*index].name.as_str()).collect();
            names.push(names[0]);
            let span = tables[cycle[0]].key_span("needs");
            let message = format!("the phases need each other: {}", names.join(" needs "));
            self.source.error(
                span,
                message,
                "remove one of these needs: a phase starts after those that it needs",
            )
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

/// Returns the tables `[[phase]]` in the order of the file.
fn phase_tables<'a>(root: &TableReader<'a>) -> Result<Vec<TableReader<'a>>, WorkflowFileError> {
    let hint = "write `[[phase]]`, then `name = \"…\"` and `prompt = \"…\"`";
    let Some(value) = root.value("phase") else {
        let path = root.file.source.path.display();
        return Err(WorkflowFileError::new(format!("cannot read {path}: it has no phase"), hint));
    };
    let DeValue::Array(elements) = value.get_ref() else {
        return Err(root.file.source.error(root.key_span("phase"), "`phase` must be a list of tables", hint));
    };
    if elements.len() > PHASES_MAX {
        let message =
            format!("the file has {} phases, and at most {PHASES_MAX} are possible", elements.len());
        let hint = "let one phase start many runs: `fan_out`";
        return Err(root.file.source.error(elements[PHASES_MAX].span(), message, hint));
    }
    elements
        .iter()
        .enumerate()
        .map(|(index, element)| {
            let DeValue::Table(table) = element.get_ref() else {
                return Err(root.file.source.error(element.span(), "a phase must be a table", hint));
            };
            let title = match table.get("name").map(Spanned::get_ref) {
                Some(DeValue::String(name)) => format!("phase `{name}`"),
                Some(_) | None => format!("phase {}", index + 1),
            };
            TableReader::new(root.file, title, table, element.span()).with_keys(&PHASE_KEYS)
        })
        .collect()
}

/// Returns the names of the phases, all valid and different.
fn phase_names(tables: &[TableReader<'_>]) -> Result<PhaseNames, WorkflowFileError> {
    let mut names: Vec<PhaseName> = Vec::new();
    for table in tables {
        let Some(Located { value: name, span }) = table.text("name")? else {
            return Err(table.error("it has no `name`", "add `name = \"…\"`"));
        };
        check_name(&name).map_err(|(message, hint)| table.file.source.error(span.clone(), message, hint))?;
        if names.iter().any(|known| known.name == name) {
            let message = format!("two phases have the name `{name}`");
            return Err(table.file.source.error(span, message, "rename one of them"));
        }
        let has_schema = ["schema", "schema_file"].into_iter().any(|key| table.value(key).is_some());
        names.push(PhaseName { name, has_schema });
    }
    Ok(PhaseNames(names))
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

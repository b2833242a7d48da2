//! Checks values of a workflow file against its parameters, its phases and the project. Reads no other file.

use super::tables::{PhaseTable, Text};
use crate::WorkflowFileError;
use crate::error::{SourceText, suggestion};
use crate::parameters::Parameters;
use crate::project_file::check_path;
use crate::sibling_files::SiblingFiles;
use longhaul_core::{Span, Usd, WorkflowLimits, parse_dollars, parse_duration};
use std::path::{Path, PathBuf};
use toml::{Spanned, Value};

/// The file, the files that it names, the parameters that its texts can contain, and its phases.
pub struct FileContext<'a> {
    pub source: &'a SourceText,
    pub files: &'a SiblingFiles,
    pub parameters: &'a Parameters,
    pub phases: &'a [Spanned<PhaseTable>],
}

impl FileContext<'_> {
    /// Returns the names of the phases, in the order of the file.
    pub fn names(&self) -> Vec<&str> {
        self.phases.iter().map(|phase| phase.get_ref().name.get_ref().0.as_str()).collect()
    }

    /// Returns the index of a phase.
    pub fn phase_index(&self, name: &Spanned<Text>) -> Result<usize, WorkflowFileError> {
        let (span, Text(name), names) = (name.span(), name.get_ref(), self.names());
        names.iter().position(|known| known == name).ok_or_else(|| {
            let message = format!("there is no phase `{name}`");
            self.source.error(span, message, suggestion("phases", name, &names))
        })
    }

    /// Returns the index of a phase with a schema, to whose result a pointer applies.
    pub fn result_phase(
        &self,
        phase: &Spanned<Text>,
        pointer: &Spanned<Text>,
    ) -> Result<usize, WorkflowFileError> {
        // The empty pointer is the whole result, which is an object.
        check_pointer(&pointer.get_ref().0).map_err(|error| {
            let hint = "write the path of the value in the result, like \"/tasks\" or \"/plan/0/files\"";
            self.source.error(pointer.span(), format!("the pointer is wrong: {error}"), hint)
        })?;
        let index = self.phase_index(phase)?;
        let table = self.phases[index].get_ref();
        if table.schema.is_none() && table.schema_file.is_none() {
            let name = &phase.get_ref().0;
            let message = format!("the phase `{name}` has no `schema`, so that its result is a text");
            let hint = "add a schema to that phase: `schema = { type = \"object\", … }`";
            return Err(self.source.error(phase.span(), message, hint));
        }
        Ok(index)
    }

    /// Returns a text with its parameters replaced.
    pub fn text(&self, text: &Spanned<Text>) -> Result<String, WorkflowFileError> {
        self.parameters.replace_in(&text.get_ref().0, self.source, text.span())
    }

    /// Returns the path of a file or directory of the project.
    pub fn project_path(&self, path: &Spanned<Text>) -> Result<PathBuf, WorkflowFileError> {
        let text = self.text(path)?;
        check_path(Path::new(&text)).map_err(|error| {
            self.source.error(path.span(), error, "name a file or directory below the project directory")
        })?;
        Ok(text.into())
    }

    /// Returns an amount. `none` is zero; a typed zero could mean either, so it is an error.
    pub fn amount<T: Default + PartialEq>(
        &self,
        value: Option<&Spanned<Value>>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, WorkflowFileError> {
        let Some(value) = value else { return Ok(None) };
        let text = match value.get_ref() {
            Value::String(text) => self.parameters.replace_in(text, self.source, value.span())?,
            other => other.to_string(),
        };
        // A parameter without a value is an error later.
        if text == "none" || text.starts_with("{{") {
            return Ok(Some(T::default()));
        }
        let error = match parse(&text) {
            Ok(amount) if amount == T::default() => "it is zero".to_owned(),
            Ok(amount) => return Ok(Some(amount)),
            Err(error) => error,
        };
        let hint = "write an amount above zero, or \"none\"";
        Err(self.source.error(value.span(), format!("the amount is wrong: {error}"), hint))
    }

    /// Returns the limits of the workflow or of a run.
    pub fn limits(
        &self,
        budget: Option<&Spanned<Value>>,
        time_limit: Option<&Spanned<Value>>,
    ) -> Result<WorkflowLimits, WorkflowFileError> {
        Ok(WorkflowLimits {
            budget: self.amount(budget, parse_dollars)?.filter(|budget| *budget > Usd::ZERO),
            time: self.amount(time_limit, parse_duration)?.filter(|time| *time > Span::ZERO),
        })
    }
}

fn check_pointer(pointer: &str) -> Result<(), &'static str> {
    let mut escapes = pointer.split('~').skip(1);
    if !pointer.starts_with('/') {
        Err("it does not start with `/`")
    } else if !escapes.all(|rest| rest.starts_with(['0', '1'])) {
        Err("`~` is written `~0`, and `/` in a key `~1`")
    } else {
        Ok(())
    }
}

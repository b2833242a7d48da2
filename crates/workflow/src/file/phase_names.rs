//! The names of phases, by which other parts of the file refer to them.

use crate::WorkflowFileError;
use crate::error::{SourceText, suggestion};
use crate::reader::Located;

/// The phases that others can name, in the order of the file.
pub struct PhaseNames(pub Vec<PhaseName>);

pub struct PhaseName {
    pub name: String,
    /// Whether its results have a schema. Otherwise, they are texts, which have no values to point at.
    pub has_schema: bool,
}

impl PhaseNames {
    /// Returns the index of a phase.
    pub fn index(&self, source: &SourceText, name: &Located<String>) -> Result<usize, WorkflowFileError> {
        let names = self.as_strs();
        names.iter().position(|known| *known == name.value).ok_or_else(|| {
            let message = format!("there is no phase `{}`", name.value);
            source.error(name.span.clone(), message, suggestion("phases", &name.value, &names))
        })
    }

    pub fn as_strs(&self) -> Vec<&str> {
        self.0.iter().map(|phase| phase.name.as_str()).collect()
    }
}

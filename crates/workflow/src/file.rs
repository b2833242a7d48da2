//! A workflow file, parsed and checked.

use crate::{Condition, ItemSource, LoopOptions, PromptTemplate, ResultSchema, WorkflowFileError};
use longhaul_core::WorkflowPolicy;
use std::collections::BTreeMap;
use std::path::Path;

/// A workflow file, parsed and checked.
#[derive(Clone, Debug)]
pub struct WorkflowFile {
    description: Option<String>,
    phases: Vec<PhaseFile>,
    until: Option<Until>,
    parameters: BTreeMap<String, String>,
    memory_reserve: Option<u64>,
}

/// A phase of the file.
#[derive(Clone, Debug)]
pub struct PhaseFile {
    /// Unique name.
    pub name: String,
    /// Prompt of each run.
    pub prompt: PromptTemplate,
    /// Source of the items. `None` starts one run.
    pub fan_out: Option<ItemSource>,
    /// Schema of each result.
    pub schema: Option<ResultSchema>,
    /// Working directory of each run.
    pub isolation: Isolation,
    /// Settings of its runs: the keys of `longhaul.toml`, not checked here.
    pub settings: toml::Table,
    /// Line of the settings in the file, for errors.
    pub settings_line: usize,
}

/// Where the runs of a phase work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// In the project directory.
    None,
    /// Each in a git worktree of its own.
    Worktree,
}

/// When the workflow is done.
#[derive(Clone, Debug)]
pub struct Until {
    /// Index of the phase after which the condition is evaluated.
    pub after: usize,
    /// Condition.
    pub condition: Condition,
}

impl WorkflowFile {
    /// Parses a workflow file. `settings` are the parameters of the command line (`--set KEY=VALUE`). Files that
    /// it names are relative to `path`.
    ///
    /// # Errors
    ///
    /// Returns the first error of the file, with its position.
    pub fn parse(
        text: &str,
        path: &Path,
        settings: &[(String, String)],
    ) -> Result<WorkflowFile, WorkflowFileError> {
        let _ = (text, path, settings);
        todo!()
    }

    /// Returns the policy.
    ///
    /// # Errors
    ///
    /// Returns an error if a required parameter is empty, or if an option names an unknown phase.
    pub fn policy(&self, options: &LoopOptions) -> Result<WorkflowPolicy, WorkflowFileError> {
        let _ = options;
        todo!()
    }

    /// Draws the graph of phases for people.
    pub fn graph(&self) -> String {
        todo!()
    }

    /// Returns what the workflow is for.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Returns the phases in the order of the file, with the indices of the policy.
    pub fn phases(&self) -> &[PhaseFile] {
        &self.phases
    }

    /// Returns the condition of `repeat.until`.
    pub fn until(&self) -> Option<&Until> {
        self.until.as_ref()
    }

    /// Returns the parameters, with those of the command line.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// Returns the memory in bytes that must be free before a run starts, if the file sets it.
    pub fn memory_reserve(&self) -> Option<u64> {
        self.memory_reserve
    }
}

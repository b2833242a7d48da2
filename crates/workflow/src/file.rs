//! A workflow file, parsed and checked.

mod context;
mod graph;
mod parse;
mod phase;
mod policy;
mod tables;

use crate::error::SourceText;
use crate::parameters::Parameters;
use crate::{Condition, ItemSource, PromptTemplate, ResultSchema, WorkflowFileError, archon};
pub use graph::skip_note;
use longhaul_core::{Reactions, Span, Usd, WorkflowLimits};
pub use policy::LoopOptions;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A workflow file, parsed and checked.
#[derive(Clone, Debug)]
pub struct WorkflowFile {
    source: SourceText,
    files: BTreeMap<String, String>,
    description: Option<String>,
    parameters: Parameters,
    phases: Vec<PhaseFile>,
    until: Option<Until>,
    iterations_max: u32,
    parallel_max: u32,
    limits: WorkflowLimits,
    start_gap: Span,
    memory_reserve: Option<u64>,
    archon_files: Option<PathBuf>,
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
    /// Schema of each result. Without one, a result is the text of the agent's last message.
    pub schema: Option<ResultSchema>,
    /// Working directory of each run.
    pub isolation: Isolation,
    /// Templates of the only paths that the editing tools of a run may change. Empty allows all.
    pub edit_paths: Vec<PromptTemplate>,
    /// Settings of its runs: the keys of `longhaul.toml`. Only `budget` and `time_limit` are checked here.
    pub settings: toml::Table,
    setting_spans: BTreeMap<String, Range<usize>>,
    needs: Vec<usize>,
    parallel_max: Option<u32>,
    items_max: u32,
    budget: Option<Usd>,
    time: Option<Span>,
    reactions: Reactions,
}

/// Where the runs of a phase work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the project directory.
    #[default]
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
    /// Returns the purpose of the workflow.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Returns the texts of the files that it names (`prompt_file`, `schema_file`), by these names.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// Returns the phases, with the indices of the policy: each after those that it needs, otherwise as in the
    /// file.
    pub fn phases(&self) -> &[PhaseFile] {
        &self.phases
    }

    /// Returns the condition of `repeat.until`.
    pub fn until(&self) -> Option<&Until> {
        self.until.as_ref()
    }

    /// Returns the parameters, with those of the command line.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters.values
    }

    /// Returns the memory in bytes that must be free before a run starts, if the file sets it.
    pub fn memory_reserve(&self) -> Option<u64> {
        self.memory_reserve
    }

    /// Returns the directory of the project in which the workflow keeps Archon's files, if it does.
    pub fn archon_files(&self) -> Option<&Path> {
        self.archon_files.as_deref()
    }

    /// Checks that the files of an Archon project exist that items, conditions and its logs need, and that a project
    /// with such items or conditions is set up.
    ///
    /// # Errors
    /// Returns an error if a file is missing or states no stage, or if the stage of items or conditions is `init`.
    pub fn check_project(&self, project_dir: &Path) -> Result<(), WorkflowFileError> {
        let condition = self.until.iter().filter_map(|until| match &until.condition {
            Condition::Stage(condition) => Some(&condition.path),
            Condition::Command(_) | Condition::FileMatches(_) | Condition::Result(_) => None,
        });
        let objectives = self.phases.iter().filter_map(|phase| match &phase.fan_out {
            Some(ItemSource::Objectives(path)) => Some(path),
            Some(
                ItemSource::List(_) | ItemSource::Lines(_) | ItemSource::Glob(_) | ItemSource::Pointer { .. },
            )
            | None => None,
        });
        for path in condition.chain(objectives) {
            archon::check_project(project_dir, path)?;
        }
        if let Some(dir) = self.archon_files() {
            archon::check_progress(project_dir, &dir.join("PROGRESS.md"))?;
        }
        Ok(())
    }

    /// Creates an error at a setting of this phase: a key that does not exist, or a value that is wrong.
    pub fn setting_error(
        &self,
        phase: usize,
        key: &str,
        message: impl Display,
        hint: impl Into<String>,
    ) -> WorkflowFileError {
        let span = self.phases.get(phase).and_then(|phase| phase.setting_spans.get(key));
        self.source.error(span.cloned().unwrap_or_default(), message, hint)
    }
}

#[cfg(test)]
mod tests;

//! The state of a project, as `status` prints it.

use crate::PhaseId;
use serde::Serialize;
use std::collections::BTreeMap;

/// State of a project. `None` if the files do not state a value, or contradict each other without a winner.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectStatus {
    /// Phase in progress
    pub current_phase: Option<PhaseId>,
    /// Name of the phase in progress
    pub current_phase_name: Option<String>,
    /// Share of the current phase's plans that have a summary, in percent. `None` if its verification found gaps
    pub progress_percent: Option<f64>,
    /// Open blockers and concerns
    pub blockers: Vec<String>,
    /// Finished requirements of the current scope
    pub requirements_complete: Option<u32>,
    /// Requirements of the current scope
    pub requirements_total: Option<u32>,
    /// Finished phases of the milestone
    pub phases_complete: Option<u32>,
    /// Phases of the milestone
    pub phases_total: Option<u32>,
    /// Plans of the current phase that have a summary
    pub plans_complete: Option<u32>,
    /// Plans of the current phase
    pub plans_total: Option<u32>,
    /// Version of the milestone in progress, else of the last one that shipped
    pub milestone: Option<String>,
    /// File and line from which each field was read
    pub sources: BTreeMap<String, String>,
    /// Contradictions and damaged parts
    pub warnings: Vec<Warning>,
}

/// A part of `.planning` that cannot be read, or that contradicts another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Path below `.planning`
    pub file: String,
    /// Line, starting at 1
    pub line: Option<usize>,
    /// Description of the problem
    pub text: String,
}

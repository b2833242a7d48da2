//! A phase of a project with its plans.

use crate::PhaseId;

/// A phase of the roadmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectPhase {
    /// Number.
    pub id: PhaseId,
    /// Name.
    pub name: Option<String>,
    /// Whether the roadmap says so, or each plan has a summary.
    pub is_complete: bool,
    /// Whether the phase belongs to the milestone of the status.
    pub is_in_milestone: bool,
    /// Plans on disk.
    pub plans: Vec<PhasePlan>,
}

/// A plan of a phase, which is one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhasePlan {
    /// Name without `-PLAN.md`, such as `02-01`.
    pub id: String,
    /// Whether a summary of its execution is on disk.
    pub has_summary: bool,
}

impl ProjectPhase {
    /// Returns the first plan without a summary.
    pub fn first_unfinished_plan(&self) -> Option<&PhasePlan> {
        self.plans.iter().find(|plan| !plan.has_summary)
    }
}

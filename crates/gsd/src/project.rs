//! A project: its phases with their plans, and its status.

use crate::claim::{STATE, Source};
use crate::read::{Files, ProjectError, read_files};
use crate::reader::Reader;
use crate::{PhaseId, ProjectPhase, ProjectStatus, Warning};
use std::path::Path;

/// A project of GSD.
#[derive(Clone, Debug)]
pub struct Project {
    /// State of the project.
    pub status: ProjectStatus,
    /// All phases, in the order of the roadmap.
    pub phases: Vec<ProjectPhase>,
}

/// A state that names a later phase than the work has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AheadOfWork {
    /// Phase that the state names.
    pub current: PhaseId,
    /// First earlier phase with unfinished plans.
    pub unfinished: PhaseId,
    /// Plans of that phase without a summary.
    pub plans: Vec<String>,
}

impl Project {
    /// Reads the project in this directory.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory has no `.planning`, or a file in it is unreadable or too large.
    pub fn read(dir: &Path) -> Result<Project, ProjectError> {
        Ok(Project::from_files(read_files(dir)?))
    }

    /// Reads the project out of the content of its files.
    pub fn from_files(files: Files) -> Project {
        let (status, phases) = Reader::new(files).read();
        let mut project = Project { status, phases };
        let ahead = project.ahead_of_work().map(|ahead| {
            let (current, unfinished) = (ahead.current, ahead.unfinished);
            let plans = ahead.plans.join(", ");
            format!(
                "the current phase is {current}, but phase {unfinished} has plans without a summary: {plans}"
            )
        });
        let texts = ahead.into_iter().chain(project.lag());
        let warnings: Vec<Warning> = texts.map(|text| Source::directory(STATE).warning(text)).collect();
        project.status.warnings.extend(warnings);
        project
    }

    /// Describes a state that still names a complete phase although a later one was executed.
    fn lag(&self) -> Option<String> {
        let current = self.phase(self.status.current_phase.as_ref()?).filter(|phase| phase.is_complete)?;
        let mut phases = self.phases.iter().filter(|phase| phase.is_in_milestone && phase.id > current.id);
        let later = phases.find(|phase| phase.plans.iter().any(|plan| plan.has_summary))?;
        Some(format!(
            "the current phase is {}, which is complete, but phase {} has summaries",
            current.id, later.id
        ))
    }

    /// Returns the phase with this number. If milestones share numbers, the one of the current milestone.
    pub fn phase(&self, id: &PhaseId) -> Option<&ProjectPhase> {
        let same = || self.phases.iter().filter(|phase| phase.id == *id);
        same().find(|phase| phase.is_in_milestone).or_else(|| same().next())
    }

    /// Returns a contradiction between state and work: an earlier phase of the milestone has plans without
    /// summaries, and the roadmap does not say that it is complete. A session that died leaves such a state.
    pub fn ahead_of_work(&self) -> Option<AheadOfWork> {
        let current = self.status.current_phase.as_ref()?;
        let is_unfinished = |phase: &&ProjectPhase| {
            phase.is_in_milestone
                && phase.id < *current
                && !phase.is_complete
                && phase.first_unfinished_plan().is_some()
        };
        let phase = self.phases.iter().filter(is_unfinished).min_by(|a, b| a.id.cmp(&b.id))?;
        let plans = phase.plans.iter().filter(|plan| !plan.has_summary);
        Some(AheadOfWork {
            current: current.clone(),
            unfinished: phase.id.clone(),
            plans: plans.map(|plan| plan.id.clone()).collect(),
        })
    }
}

//! A project: its phases with their plans, and its status.

use crate::claim::{STATE, Source};
use crate::read::{Files, ProjectError, open_work, read_files};
use crate::reader::Reader;
use crate::{OpenWork, PhaseId, ProjectPhase, ProjectStatus, Warning};
use std::path::Path;

/// A project of GSD.
#[derive(Clone, Debug)]
pub struct Project {
    /// State of the project.
    pub status: ProjectStatus,
    /// All phases that could be read, in the order of the roadmap. Without any in the roadmap, those on disk.
    pub phases: Vec<ProjectPhase>,
    /// First reason why phases may be missing: the roadmap is missing, or a part of it could not be read.
    pub unread: Option<Warning>,
}

impl Project {
    /// Reads the project in this directory.
    ///
    /// # Errors
    /// Returns an error if the directory has no `.planning`, or a file in it is unreadable or too large.
    pub fn read(dir: &Path) -> Result<Project, ProjectError> {
        let mut project = Project::from_files(read_files(dir)?);
        project.add_gaps(dir)?;
        Ok(project)
    }

    /// Withdraws the progress of a current phase whose verification found gaps: its summaries contradict its report.
    fn add_gaps(&mut self, dir: &Path) -> Result<(), ProjectError> {
        let Some(phase) = self.status.current_phase.as_ref().and_then(|id| self.phase(id)) else {
            return Ok(());
        };
        if let (OpenWork::Gaps, Some(report)) = (open_work(dir, phase)?, &phase.report) {
            let text = format!("the verification of phase {} found gaps", phase.id);
            let warning = Source::directory(report).warning(text);
            self.status.warnings.push(warning);
            self.status.progress_percent = None;
        }
        Ok(())
    }

    /// Reads the project out of the content of its files.
    pub fn from_files(files: Files) -> Project {
        let mut reader = Reader::new(files);
        let unread = reader.unread.take();
        let (status, phases) = reader.read();
        let mut project = Project { status, phases, unread };
        let ahead = project.ahead_of_work().map(|(current, phase)| {
            let (id, plans) = (&phase.id, phase.unfinished_plans().join(", "));
            format!("the current phase is {current}, but phase {id} has plans without a summary: {plans}")
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
    /// summaries, and the roadmap does not say that it is complete. A session that died leaves such a state. The result is
    /// the phase that the state names, and the first earlier phase with unfinished plans.
    pub fn ahead_of_work(&self) -> Option<(&PhaseId, &ProjectPhase)> {
        let current = self.status.current_phase.as_ref()?;
        let is_unfinished = |phase: &&ProjectPhase| {
            phase.is_in_milestone
                && phase.id < *current
                && !phase.is_complete
                && !phase.unfinished_plans().is_empty()
        };
        let phase = self.phases.iter().filter(is_unfinished).min_by(|a, b| a.id.cmp(&b.id))?;
        Some((current, phase))
    }
}

//! A phase of a project with its plans, and the work that is left.

use crate::PhaseId;
use crate::front_matter::FrontMatter;

/// A phase of the roadmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectPhase {
    /// Number.
    pub id: PhaseId,
    /// Name.
    pub name: Option<String>,
    /// Whether the roadmap says so, or each plan has a summary.
    pub is_complete: bool,
    /// Whether the roadmap says so.
    pub is_complete_in_roadmap: bool,
    /// Whether the phase belongs to the milestone of the status.
    pub is_in_milestone: bool,
    /// Plans on disk.
    pub plans: Vec<PhasePlan>,
    /// Report of the framework's verification, relative to `.planning`.
    pub report: Option<String>,
}

/// The work that is left in a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenWork {
    /// It has no plans.
    Unplanned,
    /// These plans have no summary.
    Unfinished(Vec<String>),
    /// All plans have summaries, but the verification found gaps.
    Gaps,
    /// All plans have summaries. Only a person can say whether the phase is complete, because its report states this.
    NeedsPerson(String),
    /// All plans have summaries, and there is no report or it has passed.
    Nothing,
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
    /// Returns the names of the plans without a summary.
    pub fn unfinished_plans(&self) -> Vec<&str> {
        self.plans.iter().filter(|plan| !plan.has_summary).map(|plan| plan.id.as_str()).collect()
    }

    /// Returns the work that is left, as the files on disk and the text of its report show it. The roadmap proves nothing.
    pub(crate) fn open_work(&self, report: Option<&str>) -> OpenWork {
        let unfinished = self.unfinished_plans();
        match report {
            _ if self.plans.is_empty() => OpenWork::Unplanned,
            _ if !unfinished.is_empty() => {
                OpenWork::Unfinished(unfinished.into_iter().map(str::to_owned).collect())
            }
            Some(report) => work_left(report),
            None => OpenWork::Nothing,
        }
    }
}

/// Returns the work that a report leaves. Its status is in the front matter, else in the line `**Status:** …`. A status
/// that this version does not know, or none, is no proof.
fn work_left(report: &str) -> OpenWork {
    let front_matter = FrontMatter::parse(report, &mut Vec::new());
    let status = front_matter.get("status").map(|claim| claim.value.clone());
    let line = || report.lines().find_map(|line| line.trim().strip_prefix("**Status:**"));
    let status = status.or_else(|| line().map(str::to_owned)).unwrap_or_default();
    let status = status.trim();
    match status.to_ascii_lowercase().replace([' ', '-'], "_").as_str() {
        "passed" | "pass" | "verified" | "complete" => OpenWork::Nothing,
        "gaps_found" | "failed" => OpenWork::Gaps,
        "human_needed" => OpenWork::NeedsPerson("human_needed".to_owned()),
        _ => OpenWork::NeedsPerson(status.to_owned()),
    }
}

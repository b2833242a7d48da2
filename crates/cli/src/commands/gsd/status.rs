//! `longhaul gsd status` and `longhaul gsd verify-phase`: the state of a project and of the work of a phase, read from
//! the `.planning` directory. They call no model.

use super::{command_line, print, print_sentence};
use crate::args::{GlobalArgs, VerifyPhaseArgs};
use crate::failure::Failure;
use crate::output;
use longhaul_core::OutcomeKind;
use longhaul_gsd::{
    OpenWork, PhaseId, Project, ProjectError, ProjectPhase, ProjectStatus, Warning, open_work,
};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

pub fn status(global: &GlobalArgs, project_dir: &Path) -> Result<u8, Failure> {
    let since = Instant::now();
    let project = Project::read(project_dir)?;
    print_warnings(&project);
    Ok(print(global, since, project.status, text))
}

fn print_warnings(project: &Project) {
    project.status.warnings.iter().for_each(|warning| output::print_warning(&located(warning), None));
}

fn located(warning: &Warning) -> String {
    let line = warning.line.map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{line}: {}", warning.file, warning.text)
}

pub fn verify_phase(global: &GlobalArgs, project_dir: &Path, args: &VerifyPhaseArgs) -> Result<u8, Failure> {
    let since = Instant::now();
    let sentence = verify(project_dir, &args.phase, args.planned)?;
    Ok(print_sentence(global, since, sentence))
}

/// Returns a sentence about a phase that is planned or complete.
///
/// # Errors
/// Returns the work that is left.
pub fn verify(project_dir: &Path, id: &PhaseId, planned: bool) -> Result<String, Failure> {
    let project = Project::read(project_dir)?;
    let phase = require_phase(&project, id)?;
    let incomplete = |error: String, hint: &str| Err(Failure::new(OutcomeKind::CheckFailed, error, hint));
    match open_work(project_dir, phase)? {
        OpenWork::Unplanned => incomplete(format!("phase {id} has no plans"), "plan the phase"),
        _ if planned => Ok(format!("Phase {id} is planned.")),
        OpenWork::Unfinished(plans) => {
            let error = format!("plans of phase {id} have no summary: {}", plans.join(", "));
            incomplete(error, "execute them, and write their summaries")
        }
        OpenWork::Gaps => {
            let error = format!("the verification of phase {id} found gaps: see {}", report(phase));
            incomplete(error, "close the gaps, then verify the phase again")
        }
        OpenWork::NeedsPerson(status) => Err(needs_person(phase, &status)),
        OpenWork::Nothing if phase.report.is_none() => {
            Ok(format!("Phase {id} is executed. There is no report of its verification."))
        }
        OpenWork::Nothing => Ok(format!("Phase {id} is executed and verified.")),
    }
}

pub fn needs_person(phase: &ProjectPhase, status: &str) -> Failure {
    let (id, file) = (&phase.id, report(phase));
    let error = match status {
        "" => format!("phase {id} needs a person: {file} states no status"),
        status => format!("phase {id} needs a person: {file} states `{status}`"),
    };
    let hint = format!("check what it lists, and write `status: passed` into {file}");
    Failure::new(OutcomeKind::NeedsPerson, error, hint)
}

fn report(phase: &ProjectPhase) -> String {
    format!(".planning/{}", phase.report.as_deref().unwrap_or_default())
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Failure {
        let hint = match &error {
            ProjectError::NoPlanning(dir) => {
                let command = command_line(dir, "new-project IDEA");
                format!("create a project with `{command}`, or name another one with --project-dir")
            }
            ProjectError::Unreadable { .. } => "make the files readable".to_owned(),
        };
        Failure::not_started(error.to_string(), hint)
    }
}

/// Refuses a project whose next phase is unknown, because phases of its roadmap may be missing.
pub fn require_all_phases(project: &Project) -> Result<(), Failure> {
    let Some(unread) = &project.unread else { return Ok(()) };
    print_warnings(project);
    let error = format!("the next phase is unknown: {}", located(unread));
    let hint =
        "correct or restore `.planning/ROADMAP.md`, or name the phase with plan-phase or execute-phase";
    Err(Failure::not_started(error, hint))
}

/// Warns that phases of the roadmap may be missing.
pub fn warn_of_unread(project: &Project) {
    project.unread.iter().for_each(|unread| output::print_warning(&located(unread), None));
}

pub fn require_phase<'p>(project: &'p Project, id: &PhaseId) -> Result<&'p ProjectPhase, Failure> {
    project.phase(id).ok_or_else(|| {
        let known: Vec<String> = project.phases.iter().map(|phase| phase.id.to_string()).collect();
        let hint = match known.as_slice() {
            [] => "its roadmap lists no phases that this version can read; plan-phase and execute-phase call the \
                   agent anyway with --again"
                .to_owned(),
            known => format!("its phases are {}", known.join(", ")),
        };
        Failure::not_started(format!("the project has no phase {id}"), hint)
    })
}

fn text(status: &ProjectStatus) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: Option<String>| {
        let value = value.unwrap_or_else(|| "unknown".to_owned());
        writeln!(text, "{label:<14}{value}").expect("writing to a string never fails");
    };
    let of = |complete: Option<u32>, total: Option<u32>| Some(format!("{} of {}", complete?, total?));
    let phase = status.current_phase.as_ref().map(|phase| match &status.current_phase_name {
        Some(name) => format!("{phase} ({name})"),
        None => phase.to_string(),
    });
    line("phase", phase);
    line("plans", of(status.plans_complete, status.plans_total));
    line("phases", of(status.phases_complete, status.phases_total));
    line("requirements", of(status.requirements_complete, status.requirements_total));
    for blocker in &status.blockers {
        line("blocked by", Some(blocker.clone()));
    }
    text
}

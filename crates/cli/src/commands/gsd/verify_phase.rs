//! `longhaul gsd verify-phase`: checks the work of a phase by its files. It calls no model.

use super::print_sentence;
use super::status::require_phase;
use crate::args::{GlobalArgs, VerifyPhaseArgs};
use crate::failure::Failure;
use longhaul_core::OutcomeKind;
use longhaul_gsd::{OpenWork, Project, ProjectPhase, open_work};
use std::path::Path;
use std::time::Instant;

pub fn verify_phase(global: &GlobalArgs, project_dir: &Path, args: &VerifyPhaseArgs) -> Result<u8, Failure> {
    let since = Instant::now();
    let project = Project::read(project_dir)?;
    let phase = require_phase(&project, &args.phase)?;
    let id = &phase.id;
    let incomplete = |error: String, hint: &str| Err(Failure::new(OutcomeKind::CheckFailed, error, hint));
    let work = open_work(project_dir, phase)?;
    match work {
        OpenWork::Unplanned => incomplete(format!("phase {id} has no plans"), "plan the phase"),
        _ if args.planned => Ok(print_sentence(global, since, format!("Phase {id} is planned."))),
        OpenWork::Unfinished(plans) => {
            let error = format!("plans of phase {id} have no summary: {}", plans.join(", "));
            incomplete(error, "execute them, and write their summaries")
        }
        OpenWork::Gaps => {
            let error = format!("the verification of phase {id} found gaps: see {}", report(phase));
            incomplete(error, "close the gaps, then verify the phase again")
        }
        OpenWork::NeedsPerson(status) => Err(needs_person(phase, &status)),
        OpenWork::Nothing => {
            Ok(print_sentence(global, since, format!("Phase {id} is executed and verified.")))
        }
    }
}

/// The failure of a phase whose report has this status.
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

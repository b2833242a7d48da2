//! Checks what a plan agent wrote into a `PROGRESS.md`, as a check of its run: the agent corrects it at once. It changes no
//! file.

use crate::args::{CheckProgressArgs, GlobalArgs};
use crate::failure::Failure;
use crate::next_commands::quoted;
use crate::output;
use crate::own_program::own_check;
use longhaul_core::{Checks, OutcomeKind, RunSpec, WorkflowPolicy};
use longhaul_workflow::archon::check_objectives;
use longhaul_workflow::{ItemSource, WorkflowFile};
use std::path::Path;

/// A plan agent that has not corrected the file by then gets no further.
const FAILURES_MAX: u32 = 3;

pub fn check_progress(args: &CheckProgressArgs, global: &GlobalArgs) -> Result<u8, Failure> {
    let project = args.project.as_deref().unwrap_or(Path::new("."));
    check_objectives(project, &args.file).map_err(|problem| {
        // The problem says what to write.
        Failure { hint: None, ..Failure::new(OutcomeKind::CheckFailed, problem, "") }
    })?;
    if !global.quiet {
        output::print_text(&format!("Provers can work on the objectives of {}.\n", args.file.display()));
    }
    Ok(0)
}

/// Adds the check to the phases after which provers start.
pub fn with_checks(
    file: &WorkflowFile,
    policy: &WorkflowPolicy,
    mut runs: Vec<RunSpec>,
) -> Result<Vec<RunSpec>, Failure> {
    for (index, phase) in file.phases().iter().enumerate() {
        let Some(ItemSource::Objectives(path)) = &phase.fan_out else { continue };
        let path = quoted(&path.to_string_lossy());
        let command = own_check(&format!("loop check-progress {path} --output-format text"))?;
        for need in &policy.phases[index].needs {
            let command = command.clone();
            runs[*need] = runs[*need].clone().with(|spec| match &mut spec.policy.checks {
                Some(checks) => checks.commands.push(command),
                None => {
                    let checks = spec.policy.checks.insert(Checks::new(vec![command]));
                    checks.failures_max = FAILURES_MAX;
                }
            });
        }
    }
    Ok(runs)
}

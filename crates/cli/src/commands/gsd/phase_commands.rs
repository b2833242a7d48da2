//! The commands that plan and execute: which ones a phase still needs, and what they report if it needs none.

use super::call::{Call, Caller, Next};
use super::earlier_run::{self, EarlierRun};
use super::print_sentence;
use super::slash_command::{EXECUTE_PHASE, NEW_PROJECT, PLAN_PHASE, SlashCommand};
use super::status::{needs_person, require_all_phases, require_phase, verify};
use crate::args::{EventsArgs, NewProjectArgs, NextArgs, PhaseArgs, RepeatArgs};
use crate::failure::Failure;
use crate::output::phrases::counted;
use crate::output::print_status;
use crate::{open_home, output, prompt_arg};
use longhaul_gsd::{OpenWork, PhaseId, Project, ProjectPhase, open_work};
use longhaul_store::Home;
use std::path::Path;
use std::time::Instant;

pub fn new_project(caller: Caller<'_>, args: &NewProjectArgs) -> Result<u8, Failure> {
    let idea = idea(args)?;
    let call = Call {
        caller,
        repeat: &args.repeat,
        events: &args.events,
        command: &NEW_PROJECT,
        arguments: format!(" --auto\n\n{idea}"),
        name: "gsd-new-project".to_owned(),
    };
    call.run(|| {
        let exists = caller.project_dir.join(".planning/PROJECT.md").exists();
        let hint = format!("`{}` shows its state; --again creates it again", caller.command_line("status"));
        let taken =
            || Failure::not_started(format!("{} is already a project", caller.project_dir.display()), hint);
        if exists { Err(taken()) } else { Ok(Next::Call(None)) }
    })
}

pub fn plan_phase(caller: Caller<'_>, args: &PhaseArgs) -> Result<u8, Failure> {
    call_for_phase(caller, args, &PLAN_PHASE, |_, phase| {
        Ok(match phase.plans.len() as u64 {
            0 => Next::Call(None),
            plans => {
                Next::Complete(format!("Phase {} is already planned: {}.", phase.id, counted(plans, "plan")))
            }
        })
    })
}

pub fn execute_phase(caller: Caller<'_>, args: &PhaseArgs) -> Result<u8, Failure> {
    call_for_phase(caller, args, &EXECUTE_PHASE, |project, phase| {
        warn_of_state_ahead(caller, project);
        match (phase.plans.len(), phase.unfinished_plans().len()) {
            (0, _) => Err(Failure::not_started(
                format!("phase {} has no plans", phase.id),
                format!(
                    "plan it with `{}`; --again calls the agent anyway",
                    caller.command_line(&format!("plan-phase {}", phase.id))
                ),
            )),
            (_, 0) => {
                let plans = counted(phase.plans.len() as u64, "plan");
                Ok(Next::Complete(format!(
                    "Phase {} is already executed: {plans}, all with summaries.",
                    phase.id
                )))
            }
            _ => Ok(Next::Call(finished_plans(phase))),
        }
    })
}

fn call_for_phase(
    caller: Caller<'_>,
    args: &PhaseArgs,
    command: &'static SlashCommand,
    next: impl FnOnce(&Project, &ProjectPhase) -> Result<Next, Failure>,
) -> Result<u8, Failure> {
    // A dry run for a phase that does not exist is rejected, as the call itself would be.
    if caller.args.dry_run && !args.repeat.again {
        require_phase(&Project::read(caller.project_dir)?, &args.phase)?;
    }
    let call = PhaseCommand::new(command, &args.phase).call(caller, &args.repeat, &args.events);
    let code = call.run(|| {
        let project = Project::read(caller.project_dir)?;
        next(&project, require_phase(&project, &args.phase)?)
    })?;
    Ok(with_warning(caller, &args.phase, command, code))
}

/// Warns of work that the agent has left although its run finished as `done`. Returns the exit code of the run.
fn with_warning(caller: Caller<'_>, phase: &PhaseId, command: &SlashCommand, code: u8) -> u8 {
    let is_plan = command.name == PLAN_PHASE.name;
    // A detached process may only have announced a run of another supervisor.
    if code == 0
        && !caller.args.dry_run
        && !caller.global.detached
        && let Err(left) = verify(caller.project_dir, phase, is_plan)
    {
        output::print_warning(&left.error, left.hint.as_deref());
    }
    code
}

/// Calls the first command that the first open phase of the milestone needs.
pub fn next(caller: Caller<'_>, args: &NextArgs) -> Result<u8, Failure> {
    let _lock = caller.lock_project()?;
    let project = Project::read(caller.project_dir)?;
    require_all_phases(&project)?;
    warn_of_state_ahead(caller, &project);
    let home = open_home::locate()?;
    let phases = milestone(&project);
    for phase in &phases {
        let Some(command) = open_commands(&home, caller.project_dir, phase)?.into_iter().next() else {
            continue;
        };
        let name = phase.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        print_status(&format!("phase {}{name}: {}", phase.id, command.command.name));
        let (slash_command, note) = (command.command, command.note.clone());
        let repeat = RepeatArgs::default();
        let code = command.call(caller, &repeat, &args.events).run_locked(|| Ok(Next::Call(note)))?;
        return Ok(with_warning(caller, &phase.id, slash_command, code));
    }
    // Phases on disk prove nothing about those that the roadmap does not list.
    if !phases.iter().any(|phase| phase.is_in_milestone) {
        let error = "the roadmap has no phases that this version can read".to_owned();
        let hint = format!("`{}` shows what is known", caller.command_line("status"));
        return Err(Failure::not_started(error, hint));
    }
    let text = format!("The milestone is complete: {}.", counted(phases.len() as u64, "phase"));
    Ok(print_sentence(caller.global, Instant::now(), text))
}

/// Returns the phases of the milestone by number, or all if the roadmap has none. A phase that was inserted later can be
/// the last one in the roadmap.
pub fn milestone(project: &Project) -> Vec<&ProjectPhase> {
    let is_known = project.phases.iter().any(|phase| phase.is_in_milestone);
    let mut phases: Vec<_> =
        project.phases.iter().filter(|phase| phase.is_in_milestone || !is_known).collect();
    phases.sort_by(|a, b| a.id.cmp(&b.id));
    phases
}

/// A command that a phase needs.
pub struct PhaseCommand {
    pub command: &'static SlashCommand,
    /// Text after the slash command.
    pub arguments: String,
    /// Name of its runs.
    pub name: String,
    /// Text after the prompt.
    pub note: Option<String>,
}

impl PhaseCommand {
    fn new(command: &'static SlashCommand, phase: &PhaseId) -> PhaseCommand {
        let (arguments, name) = (format!(" {phase}"), format!("gsd-{}-{phase}", command.name));
        PhaseCommand { command, arguments, name, note: None }
    }

    fn call<'a>(self, caller: Caller<'a>, repeat: &'a RepeatArgs, events: &'a EventsArgs) -> Call<'a> {
        let PhaseCommand { command, arguments, name, .. } = self;
        Call { caller, repeat, events, command, arguments, name }
    }
}

/// Returns the commands that a phase still needs, in order. A phase that is complete in the roadmap needs none.
///
/// # Errors
/// Returns an error if only a person can say whether the phase is complete.
pub fn open_commands(
    home: &Home,
    project_dir: &Path,
    phase: &ProjectPhase,
) -> Result<Vec<PhaseCommand>, Failure> {
    let work = open_work(project_dir, phase)?;
    // The framework calls a phase complete before it verifies it.
    let is_refuted = matches!(work, OpenWork::Gaps | OpenWork::NeedsPerson(_));
    if phase.is_complete_in_roadmap && !is_refuted {
        return Ok(Vec::new());
    }
    let id = &phase.id;
    let (plan, mut execute) = (PhaseCommand::new(&PLAN_PHASE, id), PhaseCommand::new(&EXECUTE_PHASE, id));
    execute.note = finished_plans(phase);
    Ok(match work {
        OpenWork::Unplanned => vec![plan, execute],
        OpenWork::Gaps => vec![PhaseCommand { arguments: format!(" {id} --gaps"), ..plan }, execute],
        OpenWork::Unfinished(_) if execute.note.is_some() => vec![execute],
        // A command that died while it planned has left only some of the plans.
        OpenWork::Unfinished(_) => match earlier_run::find(home, &plan.name, project_dir)? {
            EarlierRun::None => vec![execute],
            EarlierRun::Running(_)
            | EarlierRun::Unfinished(_)
            | EarlierRun::OfWorkflow(_)
            | EarlierRun::Incomplete(_) => vec![plan, execute],
        },
        OpenWork::NeedsPerson(status) => return Err(needs_person(phase, &status)),
        OpenWork::Nothing => Vec::new(),
    })
}

pub fn warn_of_state_ahead(caller: Caller<'_>, project: &Project) {
    if let Some((current, phase)) = project.ahead_of_work() {
        let (id, plans) = (&phase.id, phase.unfinished_plans().join(", "));
        let warning = format!("phase {current} is current, but plans of phase {id} have no summary: {plans}");
        let command = caller.command_line(&format!("execute-phase {id}"));
        let hint = format!("`{command}` executes them");
        output::print_warning(&warning, Some(&hint));
    }
}

/// Returns the idea: of the file, the flag or the argument, in this order. An argument that names a file is read, and `-`
/// is stdin.
fn idea(args: &NewProjectArgs) -> Result<String, Failure> {
    let hint = "pass it as an argument, with --idea TEXT, or with --idea-file FILE";
    let idea = match (&args.idea_file, &args.text, &args.idea) {
        (Some(file), _, _) => prompt_arg::read(None, Some(file))?,
        (None, Some(text), _) => text.clone(),
        (None, None, Some(idea)) if idea == "-" => prompt_arg::read(Some("-"), None)?,
        (None, None, Some(idea)) if Path::new(idea).is_file() => {
            prompt_arg::read(None, Some(Path::new(idea)))?
        }
        (None, None, Some(idea)) => idea.clone(),
        (None, None, None) => String::new(),
    };
    let idea = idea.trim();
    if idea.is_empty() {
        Err(Failure::usage("the idea of the project is missing", hint))
    } else {
        Ok(idea.to_owned())
    }
}

fn finished_plans(phase: &ProjectPhase) -> Option<String> {
    let unfinished = phase.unfinished_plans();
    let next = unfinished.first()?;
    let finished: Vec<&str> =
        phase.plans.iter().filter(|plan| plan.has_summary).map(|plan| plan.id.as_str()).collect();
    (!finished.is_empty()).then(|| {
        let finished = finished.join(", ");
        format!("These plans have summaries and are complete: {finished}. Continue with plan {next}.")
    })
}

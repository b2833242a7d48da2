//! `longhaul gsd phases FROM..TO`: plans, executes and verifies phases as a workflow, which stops at the first phase that
//! fails or needs a person.

use super::call::{Caller, prompt};
use super::earlier_run::{
    self, EarlierRun, WORKFLOW_NAME, continue_or_cancel, require_no_other, unfinished_workflow,
};
use super::phase_commands::{PhaseCommand, milestone, open_commands, warn_of_state_ahead};
use super::print_sentence;
use super::slash_command::{EXECUTE_PHASE, PLAN_PHASE};
use super::status::{require_phase, warn_of_unread};
use crate::args::PhasesArgs;
use crate::commands::loop_workflow::{self, MEMORY_RESERVE_BYTES, OF_WORKFLOW, supervise_and_print};
use crate::commands::{detach, run};
use crate::failure::Failure;
use crate::open_home;
use crate::output::print_status;
use crate::own_program::own_check;
use longhaul::workflow::WorkflowStart;
use longhaul_core::Limits;
use longhaul_gsd::{PhaseId, Project};
use longhaul_store::{Home, Journal, WorkflowDir, WorkflowPlan, WorkflowSource};
use longhaul_workflow::{LoopOptions, WorkflowFile};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Each has two runs, and a workflow has at most 64 phases.
const PHASES_MAX: usize = 32;

pub fn phases(caller: Caller<'_>, args: &PhasesArgs) -> Result<u8, Failure> {
    let Caller { global, project_dir, .. } = caller;
    caller.warn_of_unknown_keys(&[&PLAN_PHASE, &EXECUTE_PHASE]);
    let (from, to) = &args.range;
    let name = format!("{WORKFLOW_NAME}-{from}-{to}");
    let _lock = caller.lock_project()?;
    let home = open_home::locate()?;
    if !args.call.dry_run
        && let Some(dir) = unfinished_workflow(&home, project_dir)?
    {
        return continue_unfinished(caller, &home, dir, &name);
    }
    let project = Project::read(project_dir)?;
    warn_of_unread(&project);
    warn_of_state_ahead(caller, &project);
    let commands = commands(&home, &project, caller, &args.range)?;
    if commands.is_empty() {
        return Ok(print_sentence(
            caller.global,
            Instant::now(),
            format!("Phases {from} to {to} are complete."),
        ));
    }
    let request = request(caller, &home, name, commands)?;
    if args.call.dry_run {
        return loop_workflow::print_dry_run(&request, global);
    }
    require_no_other(&home, "", project_dir)?;
    let home = open_home::open()?;
    supervise_and_print(global, &home, WorkflowStart::New(Box::new(request)))
}

fn continue_unfinished(caller: Caller<'_>, home: &Home, dir: WorkflowDir, name: &str) -> Result<u8, Failure> {
    let id = dir.id().clone();
    let is_running = Journal::is_locked(&dir.journal_path())?;
    if dir.plan()?.name.as_deref() != Some(name) {
        let error = format!("workflow {id} of this project is unfinished, and has other phases");
        return Err(Failure::not_started(error, continue_or_cancel(&dir)?));
    }
    warn_of_ignored_settings(caller, &dir);
    if is_running && caller.global.detached {
        detach::announce(&id, dir.path());
        return Ok(0);
    }
    if is_running {
        return loop_workflow::attach(caller.global, home, dir);
    }
    print_status(&format!("recovering workflow {id}"));
    supervise_and_print(caller.global, home, WorkflowStart::Recover(dir))
}

/// Warns of settings of the call that differ from those of the workflow. All its runs have the same ones, except for
/// their own checks.
fn warn_of_ignored_settings(caller: Caller<'_>, dir: &WorkflowDir) {
    let Ok(plan) = dir.plan() else { return };
    let Some(mut run) = plan.runs.into_iter().next() else { return };
    let name = run.name.clone().unwrap_or_default();
    let is_plan = name.starts_with(&format!("gsd-{}-", PLAN_PHASE.name));
    let command = if is_plan { &PLAN_PHASE } else { &EXECUTE_PHASE };
    let mut flags = caller.flags(command, &name, &OF_WORKFLOW);
    if let Some(own_check) = run.policy.checks.as_ref().and_then(|checks| checks.commands.first()) {
        flags.prepend("check", own_check);
    }
    let Ok((_, prepared)) = caller.resolve(command, flags, command.name) else { return };
    let (mut call, mut limits) = (prepared.spec, Limits::default());
    caller.args.limits.apply(&mut limits);
    (call.policy.limits.budget, call.policy.limits.time) = (limits.budget, limits.time);
    (run.policy.limits.budget, run.policy.limits.time) = (plan.policy.limits.budget, plan.policy.limits.time);
    run::warn_of_ignored_settings("workflow", dir.id(), &run, &call);
}

/// A phase with a command that it needs.
type Step = (PhaseId, PhaseCommand);

fn commands(
    home: &Home,
    project: &Project,
    caller: Caller<'_>,
    (from, to): &(PhaseId, PhaseId),
) -> Result<Vec<Step>, Failure> {
    for end in [from, to] {
        require_phase(project, end)?;
    }
    let mut steps = Vec::new();
    for phase in milestone(project).into_iter().filter(|phase| (from..=to).contains(&&phase.id)) {
        let commands = open_commands(home, caller.project_dir, phase)?;
        steps.extend(commands.into_iter().map(|command| (phase.id.clone(), command)));
    }
    if steps.len() > 2 * PHASES_MAX {
        let error = format!("cannot work on phases {from} to {to}: at most {PHASES_MAX} phases are possible");
        return Err(Failure::usage(error, "choose a smaller range"));
    }
    Ok(steps)
}

fn request(caller: Caller<'_>, home: &Home, name: String, steps: Vec<Step>) -> Result<WorkflowPlan, Failure> {
    let mut text = "max_parallel = 1\n".to_owned();
    let (mut runs, mut origins, mut notify) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<String> = None;
    for (phase, PhaseCommand { command, arguments, name, note }) in steps {
        let session = match earlier_run::find(home, &name, caller.project_dir)? {
            EarlierRun::Running(dir) | EarlierRun::Unfinished(dir) => {
                let (error, run) = (format!("run {} of {} is unfinished", dir.id(), command.name), dir.id());
                let hint = format!(
                    "continue it with `{}`, or stop it with `longhaul cancel {run}`",
                    caller.command_line(&format!("{} {phase}", command.name))
                );
                return Err(Failure::not_started(error, hint));
            }
            EarlierRun::Incomplete(session) => Some(session),
            EarlierRun::OfWorkflow(_) | EarlierRun::None => None,
        };
        let slash_command = command.installed(caller.project_dir)?;
        let prompt = prompt(&slash_command, &arguments, session.is_some(), note.as_deref());
        let mut flags = caller.flags(command, &name, &OF_WORKFLOW);
        flags.prepend("check", check(&phase, command.name == PLAN_PHASE.name)?);
        if let Some(session) = &session {
            flags.set("resume_or_new", session.as_str());
        }
        let (_, prepared) = caller.resolve(command, flags, &prompt)?;
        let mut spec = prepared.spec;
        notify = std::mem::take(&mut spec.notify);
        runs.push(spec);
        origins.push(prepared.origins);

        // The names of a workflow's phases have lower-case letters.
        let phase = phase.to_string().to_lowercase().replace('.', "-");
        let step = format!("{}-{phase}", command.name.trim_end_matches("-phase"));
        // A prompt is a template.
        let template = toml::Value::String(prompt.replace('{', "{{ '{' }}"));
        write!(text, "\n[[phase]]\nname = \"{step}\"\nprompt = {template}\n").expect("strings grow");
        if let Some(before) = before.replace(step) {
            writeln!(text, "needs = [\"{before}\"]").expect("strings grow");
        }
    }
    let path = PathBuf::from(WORKFLOW_NAME);
    let file = WorkflowFile::parse(&text, &path, &[])?;
    let limits = &caller.args.limits;
    let options = LoopOptions { budget: limits.budget, time: limits.time_limit, ..LoopOptions::default() };
    let mut policy = file.policy(&options)?;
    loop_workflow::adopt_limits(&mut policy, &runs);
    let source = WorkflowSource { path: path.into(), text, files: BTreeMap::new() };
    Ok(WorkflowPlan {
        name: Some(name),
        memory_reserve: MEMORY_RESERVE_BYTES,
        origins,
        notify,
        ..WorkflowPlan::new(caller.project_dir.to_owned(), source, policy, runs)
    })
}

fn check(phase: &PhaseId, is_plan: bool) -> Result<String, Failure> {
    let planned = if is_plan { " --planned" } else { "" };
    own_check(&format!("gsd verify-phase {phase}{planned} --output-format text"))
}

//! `longhaul run --key KEY`: starts a task once, even if Cron, Slurm or Kubernetes repeat the command.
//!
//! The key is the run's id. A run's directory is created atomically, so of two simultaneous starts one
//! creates the run and the other finds it.

use super::{prepare, start};
use crate::args::{GlobalArgs, OutputFormat, RunArgs};
use crate::commands::attach;
use crate::commands::show::print_end;
use crate::commands::supervise::{DisplayOptions, supervise_and_print, supervisor};
use crate::failure::Failure;
use crate::output::{self, print_status};
use crate::{limit_flags, open_home, prompt_arg, runtime};
use longhaul::{NoObserver, ResumeOptions, RunStart};
use longhaul_core::{OutcomeKind, RunId, RunSpec};
use longhaul_store::{Home, Journal, RunDir, StoreError};
use std::io::{self, IsTerminal};
use std::mem;

// A supervisor that starts or exits between two checks changes the required action, once or twice.
const CHECKS_MAX: u32 = 4;

/// The state of an earlier run of the same call.
pub enum KeyState {
    /// It has a supervisor.
    Running,
    /// The run is suspended or orphaned.
    Unfinished,
    Finished(OutcomeKind),
}

/// The effect of a call by key on the earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEffect {
    /// Prints its result.
    Return,
    Follow,
    /// Continues it with its own settings.
    Recover,
    /// Continues it with the settings of the call.
    Resume,
    /// Replaces it by a run with the settings of the call.
    StartAgain,
}

/// Returns the effect of a call with or without `--retry`.
pub fn key_effect(dir: &RunDir, is_retry: bool) -> Result<KeyEffect, Failure> {
    Ok(match key_state(dir)? {
        KeyState::Running => KeyEffect::Follow,
        KeyState::Unfinished => KeyEffect::Recover,
        KeyState::Finished(OutcomeKind::NotStarted) if never_worked(dir)? => KeyEffect::StartAgain,
        KeyState::Finished(OutcomeKind::NotStarted) => KeyEffect::Resume,
        // A cancelled run was stopped on purpose.
        KeyState::Finished(OutcomeKind::Done | OutcomeKind::Cancelled) => KeyEffect::Return,
        KeyState::Finished(_) if is_retry => KeyEffect::Resume,
        KeyState::Finished(_) => KeyEffect::Return,
    })
}

/// Starts the run of this key, or acts on its state. Returns the exit code.
pub fn run(global: &GlobalArgs, args: &RunArgs, key: &str) -> Result<u8, Failure> {
    let home = open_home::open()?;
    let key = RunId::from(key);
    let mut is_warned = false;
    for _ in 0..CHECKS_MAX {
        let result = match home.run_with_id(&key)? {
            None => start(global, args),
            Some(dir) => handle_existing(global, args, &home, &dir, &mut is_warned),
        };
        match result {
            // Another process may have started the run first. The run then has a supervisor.
            Err(failure) if failure.outcome == OutcomeKind::NotStarted && failure.run.is_none() => {
                match home.run_with_id(&key)? {
                    Some(dir) if !Journal::is_locked(&dir.journal_path())? => return Err(failure),
                    None => return Err(failure),
                    Some(dir) if args.no_attach => return follow_running(global, args, &dir),
                    Some(_) => {}
                }
            }
            result => return result,
        }
    }
    Err(Failure::not_started(
        format!("the supervisor of run {key} changed {CHECKS_MAX} times while this command checked it"),
        format!("follow it with `longhaul attach {key}`"),
    ))
}

fn handle_existing(
    global: &GlobalArgs,
    args: &RunArgs,
    home: &Home,
    dir: &RunDir,
    is_warned: &mut bool,
) -> Result<u8, Failure> {
    let effect = key_effect(dir, args.retry)?;
    if effect != KeyEffect::StartAgain && !mem::replace(is_warned, true) {
        warn_of_another_prompt(args, dir);
        if matches!(effect, KeyEffect::Follow | KeyEffect::Recover)
            && let (Ok(plan), Ok(prepared)) = (dir.plan(), prepare(args))
        {
            warn_of_ignored_settings("run", dir.id(), &plan.spec, &prepared.spec);
        }
    }
    match effect {
        KeyEffect::Follow => match follow_running(global, args, dir) {
            // The supervisor died meanwhile.
            Err(_) if matches!(key_state(dir)?, KeyState::Unfinished) => recover(global, args, home, dir),
            result => result,
        },
        KeyEffect::Recover => recover(global, args, home, dir),
        KeyEffect::Resume => resume(global, args, home, dir),
        KeyEffect::StartAgain => start_again(global, args, home, dir),
        KeyEffect::Return => print_finished(global, home, dir),
    }
}

fn recover(global: &GlobalArgs, args: &RunArgs, home: &Home, dir: &RunDir) -> Result<u8, Failure> {
    let display = DisplayOptions::open(global, &args.events)?;
    let recovery = RunStart::Recover { dir: dir.clone(), notify: args.notify.commands() };
    supervise_and_print(global, display, home, recovery)
}

/// Resumes a finished run of the same call, with the settings of the call. The task and the guards stay those of the run.
/// If too little is left of its limits, prints its result.
fn resume(global: &GlobalArgs, args: &RunArgs, home: &Home, dir: &RunDir) -> Result<u8, Failure> {
    let plan = dir.plan()?;
    let run = open_home::replay(dir)?;
    let spec = plan.spec.with_settings_of(prepare(args)?.spec);
    if let Err(failure) = limit_flags::require_remaining(dir.id(), &run, &spec.policy, &plan.spec.policy) {
        output::print_warning(&failure.error, failure.hint.as_deref());
        return print_finished(global, home, dir);
    }
    let display = DisplayOptions::open(global, &args.events)?;
    let mut options = Box::new(ResumeOptions::default());
    options.spec = Some(spec);
    supervise_and_print(global, display, home, RunStart::Resume { dir: dir.clone(), options })
}

/// Returns whether a run that did not start has no work to lose. Some agents report no usage, so an earlier part of a
/// resumed run counts as work.
fn never_worked(dir: &RunDir) -> Result<bool, Failure> {
    let run = open_home::replay(dir)?;
    Ok(run.state().reopen_count == 0 && run.state().usage.is_empty())
}

/// Replaces a run that never did any work by one with the settings of this call.
fn start_again(global: &GlobalArgs, args: &RunArgs, home: &Home, dir: &RunDir) -> Result<u8, Failure> {
    match home.remove(dir, &[]) {
        Ok(_) => start(global, args),
        Err(StoreError::JournalLocked(_)) => follow_running(global, args, dir),
        Err(error) => Err(error.into()),
    }
}

pub fn key_state(dir: &RunDir) -> Result<KeyState, Failure> {
    if Journal::is_locked(&dir.journal_path())? {
        return Ok(KeyState::Running);
    }
    let outcome = open_home::replay(dir)?.state().outcome();
    // The supervisor may have died before the files for people were written.
    Ok(match outcome.filter(|_| dir.is_outcome_published()) {
        Some(outcome) => KeyState::Finished(outcome.kind),
        None => KeyState::Unfinished,
    })
}

fn follow_running(global: &GlobalArgs, args: &RunArgs, dir: &RunDir) -> Result<u8, Failure> {
    let run = dir.id();
    if args.no_attach {
        let hint = format!("follow it with `longhaul attach {run}`, or leave out --no-attach");
        return Err(Failure::not_started(format!("run {run} is already running"), hint));
    }
    attach::attach(global, dir, &args.events)
}

fn print_finished(global: &GlobalArgs, home: &Home, dir: &RunDir) -> Result<u8, Failure> {
    let followed =
        runtime::new()?.block_on(supervisor(home).observe(RunStart::Attach(dir.clone()), &mut NoObserver));
    let report = followed?;
    print_end(global, &report);
    if output::format(global) == OutputFormat::Text {
        print_status(&format!("run {} has already finished; nothing was started", dir.id()));
    }
    Ok(report.outcome.exit_code())
}

/// Setting that a call may change although its rights are limited.
pub const LIMITS: &str = "limits";
/// The same.
pub const MODEL: &str = "model";

/// Returns the names of the settings in which a call differs from a run.
pub fn differing_settings(run: &RunSpec, call: &RunSpec) -> Vec<&'static str> {
    let differing = [
        (LIMITS, run.policy.limits != call.policy.limits),
        ("checks", run.policy.checks != call.policy.checks),
        (MODEL, run.model != call.model),
        ("permission mode", run.permission_mode != call.permission_mode),
        ("guards", run.guards != call.guards),
        ("network access", run.network != call.network),
        ("working directory", run.cwd != call.cwd),
    ];
    differing.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Warns of settings of a call that differ from those of the run or workflow that it continues. `noun` is one of these
/// words.
pub fn warn_of_ignored_settings(noun: &str, id: &RunId, run: &RunSpec, call: &RunSpec) {
    let ignored = differing_settings(run, call).join(", ");
    if !ignored.is_empty() {
        output::print_warning(
            &format!("{noun} {id} continues with its own settings: this call's {ignored} are ignored"),
            Some(&format!("`longhaul show {id}` shows the {noun}")),
        );
    }
}

fn warn_of_another_prompt(args: &RunArgs, dir: &RunDir) {
    let is_typed =
        args.prompt.as_deref() == Some("-") && args.prompt_file.is_none() && io::stdin().is_terminal();
    if is_typed {
        return;
    }
    // The run has its own prompt, so a missing one is no error.
    let prompt = prompt_arg::read(args.prompt.as_deref(), args.prompt_file.as_deref());
    let (Ok(plan), Ok(prompt)) = (dir.plan(), prompt) else { return };
    if prompt != plan.spec.prompt {
        let run = dir.id();
        let hint = format!("`longhaul show {run}` shows its prompt; another task needs another --key");
        output::print_warning(
            &format!("run {run} was started with a different prompt; the new one is ignored"),
            Some(&hint),
        );
    }
}

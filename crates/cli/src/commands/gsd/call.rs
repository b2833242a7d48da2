//! Calls a slash command of GSD: starts a run as `longhaul run` would, or continues the last run of the same command on
//! the project.

use super::earlier_run::{self, EarlierRun};
use super::slash_command::{self, SYSTEM_PROMPT, SlashCommand};
use super::{command_line, print_sentence};
use crate::args::{EventsArgs, GlobalArgs, GsdCallArgs, NotifyArgs, RepeatArgs, RunArgs};
use crate::commands::attach;
use crate::commands::run::{PreparedRun, TypedFlags, parse_run, prepare, warn_of_ignored_settings};
use crate::commands::supervise::{DisplayOptions, supervise_and_print};
use crate::failure::{Failure, OrFailure};
use crate::next_commands::recover_or_cancel;
use crate::open_home;
use crate::output::lifecycle::Lifecycle;
use crate::output::{self, print_status};
use clap::ArgMatches;
use longhaul::RunStart;
use longhaul_core::{SessionId, Span};
use longhaul_store::RunDir;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const SETTING_SOURCES: &str = "--setting-sources";
const APPEND_SYSTEM_PROMPT: &str = "--append-system-prompt";

/// A command in the background does not wait for another one, except for one that is just exiting.
const TRIES_IN_BACKGROUND: u32 = 30;
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Flags of a call that no run has.
const EXCLUDED: &[&str] = &["dry_run", "detach", "detached"];

/// Follows the prompt if an earlier session of the command is continued.
const CONTINUED: &str = "An earlier session of this command ended before the work was complete. Look at the state of \
                         the project first, and do not repeat what is complete.";

/// The project, and the flags that all commands have which call a model.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub global: &'a GlobalArgs,
    pub project_dir: &'a Path,
    pub args: &'a GsdCallArgs,
    pub matches: &'a ArgMatches,
}

/// A call of a slash command.
pub struct Call<'a> {
    pub caller: Caller<'a>,
    pub repeat: &'a RepeatArgs,
    pub events: &'a EventsArgs,
    pub command: &'static SlashCommand,
    /// Text after the slash command.
    pub arguments: String,
    /// Name of its runs.
    pub name: String,
}

/// The next step of a command, as the state of the project shows it.
pub enum Next {
    /// Call the agent, with this note after the prompt.
    Call(Option<String>),
    /// The work is complete, with a result for the envelope.
    Complete(String),
}

impl Caller<'_> {
    /// Returns a command line of `longhaul gsd` that works on the project from the present directory.
    pub fn command_line(&self, rest: &str) -> String {
        command_line(self.project_dir, rest)
    }

    /// Locks the project until the file is dropped, so that no other command works on it at the same time. A dry run
    /// needs no lock.
    pub fn lock_project(&self) -> Result<Option<File>, Failure> {
        if self.args.dry_run {
            return Ok(None);
        }
        let dir = self.project_dir.display();
        let dir_file = File::open(self.project_dir).or_not_started(format!("cannot open {dir}"), "")?;
        let tries = if self.global.detached { TRIES_IN_BACKGROUND } else { 1 };
        let locked = match lock_dir(&dir_file, tries) {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) if self.args.no_wait || self.global.detached => {
                let error = format!("another `longhaul gsd` command works on {dir}");
                return Err(Failure::not_started(
                    error,
                    "`longhaul status` shows it; without --no-wait and --detach, the command waits for it",
                ));
            }
            Err(TryLockError::WouldBlock) => {
                print_status(&format!("waiting for another `longhaul gsd` command on {dir}"));
                dir_file.lock()
            }
            Err(TryLockError::Error(error)) => Err(error),
        };
        locked.or_not_started(format!("cannot lock {dir}"), "move the project to a local disk")?;
        Ok(Some(dir_file))
    }

    /// Warns of answers to questions that none of the commands asks.
    pub fn warn_of_unknown_keys(&self, commands: &[&SlashCommand]) {
        let answers = self.args.answer.iter().filter_map(|answer| answer.split_once('='));
        slash_command::warn_of_unknown_keys(commands, answers.map(|(key, _)| key.trim()));
    }

    /// Returns the flags of `longhaul run` for a command: the typed ones, except those that mean something else, and the
    /// defaults of the command.
    pub fn flags(&self, command: &SlashCommand, name: &str, excluded: &[&str]) -> TypedFlags {
        let mut flags = TypedFlags::read(self.matches, excluded);
        let args = self.args;
        let text = |span: Span| format!("{}ms", span.millis());
        let typed = args.timeout.or(args.values.attempt_timeout).filter(|timeout| *timeout > Span::ZERO);
        let timeout = typed.unwrap_or(command.timeout);
        flags.set_default("preset", "openclawpack");
        flags.set_default("permission_mode", "bypassPermissions");
        flags.set_default("attempt_timeout", text(timeout));
        flags.set_default("max_reset_wait", text(args.max_wait.unwrap_or(timeout + timeout)));
        if let Some(total) = args.total_timeout {
            flags.set("wall_limit", text(total));
        }
        flags.set("cwd", self.project_dir);
        flags.set("name", name);
        flags
    }

    pub fn resolve(
        &self,
        command: &SlashCommand,
        flags: TypedFlags,
        prompt: &str,
    ) -> Result<(Box<RunArgs>, PreparedRun), Failure> {
        let words = flags.0.into_values().flatten().chain([prompt, "--"].map(OsString::from));
        let words = words.chain(self.agent_args().into_iter().map(OsString::from));
        let (args, configured) = parse_run(words, &[], "cannot start the run", "correct the flags")?;
        let mut prepared = prepare(&args)?.configured(&configured);
        let answers = command.answers(prepared.spec.guards.answers.take())?;
        prepared.spec.guards.answers = Some(answers.entries().clone());
        let typed = TypedFlags::read(self.matches, &[]).0;
        for (_, origin) in prepared.origins.iter_mut().filter(|(key, _)| !typed.contains_key(*key)) {
            if origin == "flag" {
                *origin = format!("gsd {}", command.name);
            }
        }
        Ok((args, prepared))
    }

    fn agent_args(&self) -> Vec<String> {
        let mut agent_args = self.args.agent_args.clone();
        for (name, value) in [(SETTING_SOURCES, "user,project"), (APPEND_SYSTEM_PROMPT, SYSTEM_PROMPT)] {
            if !agent_args.iter().any(|arg| arg.split('=').next() == Some(name)) {
                agent_args.extend([name.to_owned(), value.to_owned()]);
            }
        }
        agent_args
    }
}

impl Call<'_> {
    /// Continues an unfinished run of the command, or takes the next step. Returns the exit code.
    pub fn run(&self, next: impl FnOnce() -> Result<Next, Failure>) -> Result<u8, Failure> {
        let _lock = self.caller.lock_project()?;
        self.run_locked(next)
    }

    /// The same on a project that is locked already.
    pub fn run_locked(&self, next: impl FnOnce() -> Result<Next, Failure>) -> Result<u8, Failure> {
        let Caller { global, project_dir, args, .. } = self.caller;
        self.caller.warn_of_unknown_keys(&[self.command]);
        if args.dry_run {
            return self.start(None, None);
        }
        let home = open_home::open()?;
        let session = match earlier_run::find(&home, &self.name, project_dir)? {
            EarlierRun::Running(dir) => {
                self.warn_of_ignored_settings(&dir);
                return self.follow(&dir);
            }
            EarlierRun::Unfinished(dir) if self.is_new_session() => {
                let (id, name) = (dir.id(), self.command.name);
                let error = format!("cannot start {name} in another session: its run {id} is unfinished");
                let hint = format!("continue it without the flag, or stop it with `longhaul cancel {id}`");
                return Err(Failure::not_started(error, hint));
            }
            EarlierRun::Unfinished(dir) => {
                self.warn_of_ignored_settings(&dir);
                print_status(&format!("recovering run {}", dir.id()));
                let options = DisplayOptions::open(global, self.events)?;
                let notify = NotifyArgs::commands(&args.notify);
                return supervise_and_print(global, options, &home, RunStart::Recover { dir, notify });
            }
            EarlierRun::OfWorkflow(workflow) => {
                let error =
                    format!("{} belongs to workflow {workflow}, which is unfinished", self.command.name);
                return Err(Failure::not_started(error, recover_or_cancel(workflow)));
            }
            EarlierRun::Incomplete(session) if !self.is_new_session() => Some(session),
            EarlierRun::Incomplete(_) | EarlierRun::None => None,
        };
        if self.repeat.again {
            return self.start(None, None);
        }
        // A session that failed halfway may have left all files of its result.
        match next() {
            Ok(Next::Complete(result)) if session.is_none() => {
                Ok(print_sentence(global, Instant::now(), result))
            }
            Ok(Next::Complete(_)) => self.start(session, None),
            Ok(Next::Call(note)) => self.start(session, note),
            Err(_) if session.is_some() => self.start(session, None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns whether the caller chose a session.
    fn is_new_session(&self) -> bool {
        self.repeat.again || self.repeat.resume.is_some() || self.repeat.resume_or_new.is_some()
    }

    fn warn_of_ignored_settings(&self, dir: &RunDir) {
        let flags = self.caller.flags(self.command, &self.name, EXCLUDED);
        // The prompt is not compared.
        let call = self.caller.resolve(self.command, flags, self.command.name);
        if let (Ok(plan), Ok((_, prepared))) = (dir.plan(), call) {
            warn_of_ignored_settings("run", dir.id(), &plan.spec, &prepared.spec);
        }
    }

    /// Follows a run that another process supervises, such as `longhaul recover`.
    fn follow(&self, dir: &RunDir) -> Result<u8, Failure> {
        let run = dir.id();
        if self.caller.args.no_wait {
            let error = format!("run {run} of this command is already running");
            return Err(Failure::not_started(error, format!("follow it with `longhaul attach {run}`")));
        }
        attach::attach(self.caller.global, dir, self.events)
    }

    fn start(&self, session: Option<SessionId>, note: Option<String>) -> Result<u8, Failure> {
        let Caller { global, project_dir, args, .. } = self.caller;
        let slash_command = match &self.repeat.slash_command {
            Some(typed) => typed.clone(),
            None => self.command.installed(project_dir)?,
        };
        let prompt = prompt(&slash_command, &self.arguments, session.is_some(), note.as_deref());
        let mut flags = self.caller.flags(self.command, &self.name, EXCLUDED);
        if let Some(session) = session {
            flags.set_default("resume_or_new", session.as_str());
        }
        let (run_args, prepared) = self.caller.resolve(self.command, flags, &prompt)?;
        if args.dry_run {
            return prepared.print(output::format(global));
        }
        earlier_run::require_no_other(&open_home::locate()?, &self.name, project_dir)?;
        let options = DisplayOptions::open(global, self.events)?;
        let lifecycle = Lifecycle::for_run(&run_args, &prompt).filter(|_| !global.detached);
        prepared.start(global, DisplayOptions { lifecycle, ..options })
    }
}

/// Locks a directory until the file is dropped.
///
/// # Errors
/// Returns `WouldBlock` if another process still has the lock at the last of these tries.
pub fn lock_dir(dir: &File, tries: u32) -> Result<(), TryLockError> {
    for _ in 1..tries {
        match dir.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(RETRY_AFTER),
            locked => return locked,
        }
    }
    dir.try_lock()
}

pub fn prompt(slash_command: &str, arguments: &str, is_continued: bool, note: Option<&str>) -> String {
    let notes = is_continued.then_some(CONTINUED).into_iter().chain(note);
    let notes: String = notes.map(|note| format!("\n\n{note}")).collect();
    format!("{slash_command}{arguments}{notes}")
}

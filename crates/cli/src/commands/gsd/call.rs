//! The commands of GSD that call a model. Each starts a run as `longhaul run` would, or continues the last run of the
//! same command on the project. Work that is finished is not repeated.

use super::earlier_run::{self, EarlierRun};
use super::slash_command::{EXECUTE_PHASE, NEW_PROJECT, PLAN_PHASE, SYSTEM_PROMPT, SlashCommand};
use super::status::{read, require_phase};
use crate::args::{AttachArgs, GlobalArgs, GsdCallArgs, NewProjectArgs, NotifyArgs, PhaseArgs};
use crate::commands::attach;
use crate::commands::run::{DisplayOptions, TypedFlags, parse_run, prepare, supervise_and_print};
use crate::failure::{Failure, OrFailure};
use crate::output::envelope::Envelope;
use crate::output::lifecycle::Lifecycle;
use crate::output::phrases::plural;
use crate::output::{self, print_status};
use crate::{open_home, prompt_arg};
use clap::ArgMatches;
use longhaul::RunStart;
use longhaul_core::{SessionId, Span};
use longhaul_gsd::{AheadOfWork, ProjectPhase};
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::Path;

const SETTING_SOURCES: &str = "--setting-sources";
const APPEND_SYSTEM_PROMPT: &str = "--append-system-prompt";

/// Follows the prompt if an earlier session of the command is continued.
const CONTINUED: &str = "An earlier session of this command ended before the work was complete. Look at the state of \
                         the project first, and do not repeat what is complete.";

/// A call of a slash command on a project.
struct Call<'a> {
    global: &'a GlobalArgs,
    project_dir: &'a Path,
    args: &'a GsdCallArgs,
    matches: &'a ArgMatches,
    command: &'static SlashCommand,
    /// Text after the slash command.
    arguments: String,
    /// Name of its runs.
    name: String,
}

pub fn new_project(
    global: &GlobalArgs,
    project_dir: &Path,
    args: &NewProjectArgs,
    matches: &ArgMatches,
) -> Result<u8, Failure> {
    let idea = idea(args)?;
    let call = Call {
        global,
        project_dir,
        args: &args.call,
        matches,
        command: &NEW_PROJECT,
        arguments: format!(" --auto\n\n{idea}"),
        name: "gsd-new-project".to_owned(),
    };
    call.run(|| {
        let exists = project_dir.join(".planning/PROJECT.md").exists();
        let hint = "`longhaul gsd status` shows its state; --again creates it again";
        let taken = || Failure::not_started(format!("{} is already a project", project_dir.display()), hint);
        if exists { Err(taken()) } else { Ok(Next::Call(None)) }
    })
}

pub fn plan_phase(
    global: &GlobalArgs,
    project_dir: &Path,
    args: &PhaseArgs,
    matches: &ArgMatches,
) -> Result<u8, Failure> {
    let call = phase_call(global, project_dir, args, matches, &PLAN_PHASE);
    call.run(|| {
        let project = read(project_dir)?;
        let phase = require_phase(&project, &args.phase)?;
        Ok(match phase.plans.len() {
            0 => Next::Call(None),
            _ => Next::Complete(format!("Phase {} is already planned: {}.", phase.id, plan_count(phase))),
        })
    })
}

pub fn execute_phase(
    global: &GlobalArgs,
    project_dir: &Path,
    args: &PhaseArgs,
    matches: &ArgMatches,
) -> Result<u8, Failure> {
    let call = phase_call(global, project_dir, args, matches, &EXECUTE_PHASE);
    call.run(|| {
        let project = read(project_dir)?;
        let phase = require_phase(&project, &args.phase)?;
        if let Some(AheadOfWork { current, unfinished, plans }) = project.ahead_of_work() {
            let plans = plans.join(", ");
            let warning = format!(
                "phase {current} is current, but plans of phase {unfinished} have no summary: {plans}"
            );
            let hint = format!("`longhaul gsd execute-phase {unfinished}` executes them");
            output::print_warning(&warning, Some(&hint));
        }
        match (phase.plans.len(), phase.first_unfinished_plan()) {
            (0, _) => Err(Failure::not_started(
                format!("phase {} has no plans", phase.id),
                format!(
                    "plan it with `longhaul gsd plan-phase {}`; --again calls the agent anyway",
                    phase.id
                ),
            )),
            (_, None) => {
                let plans = plan_count(phase);
                Ok(Next::Complete(format!(
                    "Phase {} is already executed: {plans}, all with summaries.",
                    phase.id
                )))
            }
            (_, Some(_)) => Ok(Next::Call(finished_plans(phase))),
        }
    })
}

fn phase_call<'a>(
    global: &'a GlobalArgs,
    project_dir: &'a Path,
    args: &'a PhaseArgs,
    matches: &'a ArgMatches,
    command: &'static SlashCommand,
) -> Call<'a> {
    let (arguments, name) = (format!(" {}", args.phase), format!("gsd-{}-{}", command.name, args.phase));
    Call { global, project_dir, args: &args.call, matches, command, arguments, name }
}

/// The next step of a command, as the state of the project shows it.
enum Next {
    /// Call the agent, with this note after the prompt.
    Call(Option<String>),
    /// The work is complete, with a result for the envelope.
    Complete(String),
}

impl Call<'_> {
    /// Continues an unfinished run of the command, or takes the next step. Returns the exit code.
    fn run(&self, next: impl FnOnce() -> Result<Next, Failure>) -> Result<u8, Failure> {
        let answers = self.args.answer.iter().filter_map(|answer| answer.split_once('='));
        let keys: Vec<String> = answers.map(|(key, _)| key.trim().to_owned()).collect();
        if !self.global.quiet {
            self.command.warn_of_unknown_keys(keys.iter());
        }
        if self.args.dry_run {
            return self.start(None, None);
        }
        // Held until the end, so that no other command works on the project at the same time.
        let _lock = self.lock_project()?;
        let home = open_home::open()?;
        let session = match earlier_run::find(&home, &self.name, self.project_dir)? {
            EarlierRun::Running(dir) => return self.follow(dir.id().as_str()),
            EarlierRun::Unfinished(dir) if self.is_new_session() => {
                let (id, name) = (dir.id(), self.command.name);
                let error = format!("cannot start {name} in another session: its run {id} is unfinished");
                let hint = format!("continue it without the flag, or stop it with `longhaul cancel {id}`");
                return Err(Failure::not_started(error, hint));
            }
            EarlierRun::Unfinished(dir) => {
                if !self.global.quiet {
                    print_status(&format!("recovering run {}", dir.id()));
                }
                let options = DisplayOptions::open(self.global, &self.args.events, false)?;
                let notify = NotifyArgs::commands(&self.args.notify);
                return supervise_and_print(self.global, options, &home, RunStart::Recover { dir, notify });
            }
            EarlierRun::Incomplete(session) if !self.is_new_session() => Some(session),
            EarlierRun::Incomplete(_) | EarlierRun::Finished | EarlierRun::None => None,
        };
        if self.args.again {
            return self.start(None, None);
        }
        // A session that failed halfway may have left all files of its result.
        match next() {
            Ok(Next::Complete(result)) if session.is_none() => Ok(self.print_complete(result)),
            Ok(Next::Complete(_)) => self.start(session, None),
            Ok(Next::Call(note)) => self.start(session, note),
            Err(_) if session.is_some() => self.start(session, None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns whether the caller chose a session.
    fn is_new_session(&self) -> bool {
        self.args.again || self.args.resume.is_some() || self.args.resume_or_new.is_some()
    }

    fn lock_project(&self) -> Result<File, Failure> {
        let dir = self.project_dir.display();
        let dir_file = File::open(self.project_dir).or_not_started(format!("cannot open {dir}"), "")?;
        match dir_file.try_lock() {
            Ok(()) => return Ok(dir_file),
            Err(TryLockError::WouldBlock) if self.args.no_wait => {
                let error = format!("another `longhaul gsd` command works on {dir}");
                return Err(Failure::not_started(
                    error,
                    "`longhaul status` shows it; leave out --no-wait to wait for it",
                ));
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                return Err(Failure::not_started(
                    format!("cannot lock {dir}: {error}"),
                    "move the project to a local disk",
                ));
            }
        }
        if !self.global.quiet {
            print_status(&format!("waiting for another `longhaul gsd` command on {dir}"));
        }
        dir_file.lock().or_not_started(format!("cannot lock {dir}"), "move the project to a local disk")?;
        Ok(dir_file)
    }

    /// Follows a run that another process supervises, such as `longhaul recover`.
    fn follow(&self, run: &str) -> Result<u8, Failure> {
        if self.args.no_wait {
            let error = format!("run {run} of this command is already running");
            return Err(Failure::not_started(error, format!("follow it with `longhaul attach {run}`")));
        }
        attach::attach(self.global, &AttachArgs { run: run.to_owned(), events: self.args.events.clone() })
    }

    fn print_complete(&self, result: String) -> u8 {
        let envelope = Envelope::without_model(Some(result), Span::ZERO);
        output::print_envelope(self.global, &envelope, || {
            format!("{}\n", envelope.result.as_deref().unwrap_or_default())
        });
        0
    }

    /// Starts a run, in an earlier session if there is one.
    fn start(&self, session: Option<SessionId>, note: Option<String>) -> Result<u8, Failure> {
        let slash_command = match &self.args.slash_command {
            Some(name) => name.clone(),
            None => format!("/gsd:{}", self.command.name),
        };
        let continued = session.as_ref().map(|_| CONTINUED.to_owned());
        let notes: String = continued.into_iter().chain(note).map(|note| format!("\n\n{note}")).collect();
        let prompt = format!("{slash_command}{}{notes}", self.arguments);
        let (args, configured) =
            parse_run(self.words(&prompt, session), "cannot start the run", "correct the flags")?;
        let mut prepared = prepare(&args)?.configured(&configured);
        let answers = self.command.answers(prepared.spec.guards.answers.take())?;
        prepared.spec.guards.answers = Some(answers.entries().clone());
        if self.args.dry_run {
            return prepared.print(output::format(self.global));
        }
        let options = DisplayOptions::open(self.global, &args.events, false)?;
        let lifecycle = Lifecycle::for_run(self.global, &args, &prompt);
        prepared.start(self.global, DisplayOptions { lifecycle, ..options })
    }

    /// Returns the equivalent arguments of `longhaul run`: the typed flags, and the defaults of the command.
    fn words(&self, prompt: &str, session: Option<SessionId>) -> Vec<OsString> {
        let args = self.args;
        let mut flags = TypedFlags::read(self.matches, &["dry_run"]);
        let text = |span: Span| format!("{}ms", span.millis());
        let typed = args.timeout.or(args.values.attempt_timeout).filter(|timeout| *timeout > Span::ZERO);
        let timeout = typed.unwrap_or(self.command.timeout);
        flags.set_default("preset", "openclawpack");
        flags.set_default("permission_mode", "bypassPermissions");
        flags.set_default("attempt_timeout", text(timeout));
        flags.set_default("max_reset_wait", text(args.max_wait.unwrap_or(timeout + timeout)));
        if let Some(total) = args.total_timeout {
            flags.set("wall_limit", text(total));
        }
        if let Some(session) = session {
            flags.set_default("resume_or_new", session.as_str());
        }
        flags.set("cwd", self.project_dir);
        flags.set("name", &self.name);
        let mut agent_args = args.agent_args.clone();
        let has = |agent_args: &[String], name: &str| {
            agent_args.iter().any(|arg| arg.split('=').next() == Some(name))
        };
        for (name, value) in [(SETTING_SOURCES, "user,project"), (APPEND_SYSTEM_PROMPT, SYSTEM_PROMPT)] {
            if !has(&agent_args, name) {
                agent_args.extend([name.to_owned(), value.to_owned()]);
            }
        }
        let words = flags.0.into_values().flatten().chain([prompt, "--"].map(OsString::from));
        words.chain(agent_args.into_iter().map(OsString::from)).collect()
    }
}

/// Returns the idea: of the file, the flag or the argument, in this order. An argument that names a file is read.
fn idea(args: &NewProjectArgs) -> Result<String, Failure> {
    let hint = "pass it as an argument, with --idea TEXT, or with --idea-file FILE";
    let idea = match (&args.idea_file, &args.text, &args.idea) {
        (Some(file), _, _) => prompt_arg::read(None, Some(file))?,
        (None, Some(text), _) => text.clone(),
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

/// Returns the note that names the finished plans of a phase, if there are any.
fn finished_plans(phase: &ProjectPhase) -> Option<String> {
    let next = phase.first_unfinished_plan()?;
    let finished: Vec<&str> =
        phase.plans.iter().filter(|plan| plan.has_summary).map(|plan| plan.id.as_str()).collect();
    (!finished.is_empty()).then(|| {
        format!(
            "These plans have summaries and are complete: {}. Continue with plan {}.",
            finished.join(", "),
            next.id
        )
    })
}

fn plan_count(phase: &ProjectPhase) -> String {
    let plans = phase.plans.len() as u32;
    format!("{plans} {}", plural(plans, "plan", "plans"))
}

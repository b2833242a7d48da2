//! `longhaul hook`: called by the agent at the events of its sessions.
//!
//! Never fails, because a failing hook would block the agent. It takes a few milliseconds and prints only
//! text for the model. Errors are logged for `longhaul playbook status`.

use crate::args::learn::{HookArgs, LearningArgs};
use crate::claude_judge::JUDGE_MARKER;
use crate::run_learning::{destination, start_worker, will_queue, workflow_project};
use crate::{open_home, output};
use clap::Parser;
use clap::error::ErrorKind;
use longhaul::enclosing_run;
use longhaul::find_agent::claude_config_dir;
use longhaul_core::{Moment, RunId};
use longhaul_playbook::database::{JudgeKind, Queued};
use longhaul_playbook::hooks::{
    HookEvent, HookInput, InjectionClaim, allows_learning, answer, claim_injection, clear_injection,
    log_error, record_session_api, was_injected,
};
use longhaul_playbook::points::TextSize;
use longhaul_playbook::{LearningDb, LearningPaths, PlaybookFile};
use longhaul_store::{DatabaseError, Home, RunDir, is_run_id, read_regular_to_string};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, io};

/// Name of the subcommand that the agent calls.
pub const SUBCOMMAND: &str = "hook";

struct HookInvocation {
    at: Moment,
    event: HookEvent,
    paths: LearningPaths,
    learning: LearningArgs,
}

/// Runs the command from raw arguments. Always exits with 0, because any other code could block the agent.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    match HookArgs::try_parse_from([OsString::from("longhaul hook")].into_iter().chain(args)) {
        Ok(args) => hook(args),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => output::print_text(&error.to_string()),
        Err(error) => {
            if let Some(paths) = learning_paths() {
                let message = error.to_string();
                let text = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
                let _ = log_error(&paths, output::now(), SUBCOMMAND, text);
            }
        }
    }
    ExitCode::SUCCESS
}

fn hook(args: HookArgs) {
    // Sessions of the judge are skipped. Otherwise, judging would never end.
    if env::var_os(JUDGE_MARKER).is_some_and(|value| !value.is_empty()) {
        return;
    }
    // Without a home there is no playbook database and no log.
    let Some(paths) = learning_paths() else { return };
    let HookArgs { event, learning } = args;
    let invocation = HookInvocation { at: output::now(), event, paths, learning };
    if let Err(error) = invocation.handle() {
        invocation.log(&error);
    }
}

fn learning_paths() -> Option<LearningPaths> {
    Some(LearningPaths::in_home(open_home::locate().ok()?.path()))
}

impl HookInvocation {
    fn handle(&self) -> Result<(), String> {
        let input = HookInput::read(io::stdin().lock())?;
        match self.event {
            HookEvent::UserPromptSubmit | HookEvent::SessionStart => {
                let recorded = input
                    .session_id
                    .as_deref()
                    .map(|session| record_session_api(&self.paths, session, &destination()));
                if let Some(Err(error)) = recorded {
                    self.log(&format!("cannot record the session's API: {error}"));
                }
                let injected = self.inject(&input);
                injected.and(self.start_worker_if_due())
            }
            HookEvent::PreCompact => {
                // Even if learning fails, the session receives the playbook again.
                let cleared =
                    input.session_id.as_deref().map(|session| clear_injection(&self.paths, session));
                self.learn(&input)?;
                cleared
                    .unwrap_or(Ok(()))
                    .map_err(|error| format!("cannot clear the session's injection marker: {error}"))
            }
            HookEvent::SessionEnd => {
                // After `clear`, the context no longer contains the playbook. Any other session may be
                // resumed with it.
                if input.reason.as_deref() == Some("clear") {
                    let _ = input.session_id.as_deref().map(|session| clear_injection(&self.paths, session));
                }
                self.learn(&input)
            }
            HookEvent::SubagentStop => self.learn(&input),
        }
    }

    /// Prints the playbook, unless this session already received it.
    fn inject(&self, input: &HookInput) -> Result<(), String> {
        let session = input.session_id.as_deref();
        if session.is_some_and(|session| was_injected(&self.paths, session)) {
            return Ok(());
        }
        let project = project(input)?;
        let prompt = input.prompt.as_deref().unwrap_or_default();
        let injection = super::playbook::injection_for_prompt(
            &PlaybookFile::in_project(&project),
            prompt,
            TextSize::hook_limit(self.learning.max_tokens),
        )
        .map_err(|failure| format!("{}; {}", failure.error, failure.hint.unwrap_or_default()))?;
        let Some(injection) = injection else { return Ok(()) };
        match session.map_or(InjectionClaim::Claimed, |session| claim_injection(&self.paths, session)) {
            InjectionClaim::AlreadyInjected => return Ok(()),
            InjectionClaim::Claimed => {}
            InjectionClaim::Unknown(error) => {
                self.log(&format!("cannot write the session's injection marker: {error}"))
            }
        }
        output::print_text(&answer(self.event, &injection.text));
        Ok(())
    }

    fn learn(&self, input: &HookInput) -> Result<(), String> {
        let Some(event) = self.event.queued_event() else { return Ok(()) };
        let settings =
            claude_config_dir().and_then(|dir| read_regular_to_string(&dir.join("settings.json")).ok());
        if !allows_learning(&settings.unwrap_or_default(), self.event, input) {
            return Ok(());
        }
        let transcript = input.transcript().ok_or("the agent names no transcript")?;
        // The file is missing if the session is empty, or if the agent prompted itself, for example to
        // compact (2.1.330).
        let is_named = input.agent_type.as_deref().is_some_and(|class| !class.is_empty());
        if !is_named && !transcript.exists() {
            return Ok(());
        }
        if self.event == HookEvent::SessionEnd && input.session_id.as_deref().is_some_and(is_left_to_run) {
            return Ok(());
        }
        let judge = self.learning.judge;
        let api = destination();
        let queued = Queued {
            project: project(input)?,
            session: input.session_id.clone(),
            transcript: transcript.to_owned(),
            event,
            reason: input.reason().map(str::to_owned),
            judge,
            destination: api.clone(),
        };
        let learning = LearningDb::open(&self.paths).map_err(describe)?;
        learning.enqueue(self.at, &queued).map_err(describe)?;
        self.start_worker(&api, judge)
    }

    /// Starts a worker for lessons that an outage or a reboot has delayed.
    fn start_worker_if_due(&self) -> Result<(), String> {
        if !self.paths.database().exists() {
            return Ok(());
        }
        let learning = LearningDb::open(&self.paths).map_err(describe)?;
        let (api, judge) = (destination(), self.learning.judge);
        if learning.has_due(self.at, &api, judge).map_err(describe)? {
            self.start_worker(&api, judge)?;
        }
        Ok(())
    }

    fn start_worker(&self, destination: &str, judge: JudgeKind) -> Result<(), String> {
        start_worker(&self.paths, destination, judge)
            .map_err(|error| format!("cannot start a worker: {error}"))
    }

    fn log(&self, message: &str) {
        // If even this write fails, no channel is left to report it.
        let _ = log_error(&self.paths, self.at, self.event.as_str(), message);
    }
}

fn describe(error: DatabaseError) -> String {
    format!("{error}; {}", error.hint())
}

/// Returns the project of the playbook: where the agent was started, or else where it works. For a run of a workflow, it
/// is the project of the workflow.
fn project(input: &HookInput) -> Result<PathBuf, String> {
    let project_dir = env::var_os("CLAUDE_PROJECT_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let dir = project_dir.or_else(|| input.cwd.clone());
    let dir = dir.ok_or_else(|| "the agent names no project".to_owned())?;
    Ok(project_of_run(&dir).unwrap_or(dir))
}

/// Returns whether this session is one of a run whose supervisor queues it.
fn is_left_to_run(session: &str) -> bool {
    run_of_agent().is_some_and(|(home, run)| will_queue(&home, &run, session))
}

/// Returns the project of the workflow whose run works in this directory.
fn project_of_run(dir: &Path) -> Option<PathBuf> {
    let (home, run) = run_of_agent()?;
    let plan = run.plan().ok()?;
    // A hook of another agent that the run started has a project of its own.
    workflow_project(&home, &plan).filter(|_| dir.starts_with(&plan.spec.cwd))
}

/// Returns the run whose agent calls this hook, also if it is an agent that the run's agent started.
fn run_of_agent() -> Option<(Home, RunDir)> {
    let run = enclosing_run().filter(|id| is_run_id(id)).map(RunId::from)?;
    let home = open_home::locate().ok()?;
    let dir = home.run_with_id(&run).ok()??;
    Some((home, dir))
}

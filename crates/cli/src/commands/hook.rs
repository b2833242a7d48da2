//! `longhaul hook`: called by the agent at the events of its sessions. For the agent's sake it never fails, takes a few
//! milliseconds, and prints nothing but what the model is to be told; what it could not do is put down, and found in
//! `longhaul playbook status`.

use crate::args::hook::{HookArgs, HookCommand, LearningArgs};
use crate::claude_judge::JUDGE_MARKER;
use crate::output;
use crate::run_learning::{destination, start_worker};
use clap::Parser;
use clap::error::ErrorKind;
use longhaul::find_agent::claude_config_dir;
use longhaul_core::Moment;
use longhaul_playbook::database::{JudgeKind, LearningError, Queued};
use longhaul_playbook::hooks::{
    HookEvent, HookInput, InjectionClaim, UpdateKeys, answer, claim_injection, clear_injection, note,
    record_session_api, was_injected,
};
use longhaul_playbook::{LearningDb, LearningPaths, PlaybookFile};
use longhaul_store::Home;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs, io};

/// The command, as the agent calls it.
pub const SUBCOMMAND: &str = "hook";

/// One call.
struct HookInvocation {
    at: Moment,
    event: HookEvent,
    project: LearningPaths,
    learning: LearningArgs,
}

/// Carries out the command by the arguments behind its name alone. Anything but 0 could keep the agent from its work.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    match HookCommand::try_parse_from([OsString::from("longhaul hook")].into_iter().chain(args)) {
        Ok(call) => hook(&call.args),
        Err(error) if error.kind() == ErrorKind::DisplayHelp => output::print_text(&error.to_string()),
        Err(error) => {
            if let Some(place) = place() {
                let said = error.to_string();
                let what = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
                let _ = note(&place, output::now(), SUBCOMMAND, what);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Carries out the command.
pub fn hook(args: &HookArgs) {
    // A session in which a session is judged tells and teaches nothing, or judging would never end.
    if env::var_os(JUDGE_MARKER).is_some_and(|value| !value.is_empty()) {
        return;
    }
    // Without a home there is nothing to tell, and nowhere to put anything down.
    let Some(place) = place() else { return };
    let HookArgs { event, learning } = args;
    let called =
        HookInvocation { at: output::now(), event: *event, project: place, learning: learning.clone() };
    if let Err(what) = called.go() {
        called.trouble(&what);
    }
}

fn place() -> Option<LearningPaths> {
    let home = Home::locate(None, |name| env::var_os(name)).ok()?;
    Some(LearningPaths::in_home(home.path()))
}

impl HookInvocation {
    fn go(&self) -> Result<(), String> {
        let input = HookInput::read(io::stdin().lock()).map_err(|error| error.to_string())?;
        match self.event {
            HookEvent::UserPromptSubmit | HookEvent::SessionStart => {
                let noted = input
                    .session_id
                    .as_deref()
                    .map(|session| record_session_api(&self.project, session, &destination()));
                if let Some(Err(error)) = noted {
                    self.trouble(&format!("put down which API the session talks to: {error}"));
                }
                let told = self.tell(&input);
                told.and(self.start_worker_if_due())
            }
            HookEvent::PreCompact => {
                // Whatever becomes of the rest, the session is told again.
                let forgotten =
                    input.session_id.as_deref().map(|session| clear_injection(&self.project, session));
                self.learn(&input)?;
                forgotten
                    .unwrap_or(Ok(()))
                    .map_err(|error| format!("forget that the session was told: {error}"))
            }
            HookEvent::SessionEnd => {
                // What is cleared is gone from the context. One that ended otherwise may be resumed, and has it still.
                if input.reason.as_deref() == Some("clear") {
                    let _ =
                        input.session_id.as_deref().map(|session| clear_injection(&self.project, session));
                }
                self.learn(&input)
            }
            HookEvent::SubagentStop => self.learn(&input),
        }
    }

    /// Tells the playbook, unless this session was told.
    fn tell(&self, input: &HookInput) -> Result<(), String> {
        let session = input.session_id.as_deref();
        if session.is_some_and(|session| was_injected(&self.project, session)) {
            return Ok(());
        }
        let project = project(input)?;
        let prompt = input.prompt.as_deref().unwrap_or_default();
        let told = super::playbook::print_playbook(
            &PlaybookFile::of_project(&project),
            prompt,
            self.learning.max_tokens,
        )
        .map_err(|untold| format!("{}; {}", untold.content, untold.hint))?;
        let Some(told) = told else { return Ok(()) };
        match session.map_or(InjectionClaim::Claimed, |session| claim_injection(&self.project, session)) {
            InjectionClaim::AlreadyInjected => return Ok(()),
            InjectionClaim::Claimed => {}
            InjectionClaim::Unknown(error) => {
                self.trouble(&format!("put down that the session is told: {error}"))
            }
        }
        output::print_text(&answer(self.event, &told.text));
        Ok(())
    }

    /// Queues the transcript.
    fn learn(&self, input: &HookInput) -> Result<(), String> {
        let Some(event) = self.event.queued_event() else { return Ok(()) };
        let settings = claude_config_dir().and_then(|dir| fs::read_to_string(dir.join("settings.json")).ok());
        if !UpdateKeys::of_settings(&settings.unwrap_or_default()).allows(self.event, input) {
            return Ok(());
        }
        let transcript = input.transcript().ok_or("the agent names no transcript")?;
        // Nothing was said, or the agent asked itself something, as to compact: there is no such file (2.1.330).
        let is_named = input.agent_type.as_deref().is_some_and(|class| !class.is_empty());
        if !is_named && !transcript.exists() {
            return Ok(());
        }
        let judge = JudgeKind::from(self.learning.judge);
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
        let explained = |error: LearningError| format!("{error}; {}", error.hint());
        let learning = LearningDb::open(&self.project).map_err(explained)?;
        learning.enqueue(self.at, &queued).map_err(explained)?;
        self.start_worker(&api, judge)
    }

    /// What an outage or a reboot has left is learnt when the next session is used.
    fn start_worker_if_due(&self) -> Result<(), String> {
        let explained = |error: LearningError| format!("{error}; {}", error.hint());
        let Some(learning) = LearningDb::open_existing(&self.project).map_err(explained)? else {
            return Ok(());
        };
        let (api, judge) = (destination(), JudgeKind::from(self.learning.judge));
        if learning.has_due(self.at, &api, judge).map_err(explained)? {
            self.start_worker(&api, judge)?;
        }
        Ok(())
    }

    fn start_worker(&self, destination: &str, judge: JudgeKind) -> Result<(), String> {
        start_worker(&self.project, destination, judge).map_err(|error| format!("start a worker: {error}"))
    }

    fn trouble(&self, what: &str) {
        // Whoever cannot write even this has other things to worry about.
        let _ = note(&self.project, self.at, self.event.as_str(), what);
    }
}

/// The project whose playbook is meant: where the agent was started, and else where it works.
fn project(input: &HookInput) -> Result<PathBuf, String> {
    let named = env::var_os("CLAUDE_PROJECT_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    named.or_else(|| input.cwd.clone()).ok_or_else(|| "the agent names no project".to_owned())
}

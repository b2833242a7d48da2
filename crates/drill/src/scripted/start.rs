//! Starts and runs the agent, from the command line to the exit code: failed starts, new and resumed
//! sessions, and the loop over exchanges.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::agent::{Agent, Stop};
use super::callbacks::Callbacks;
use super::cost::CostMeter;
use super::environment::Environment;
use super::flags::{self, Flags};
use super::history::{self, History};
use super::hooks::Hooks;
use super::inbox::Inbox;
use super::mcp_servers::Servers;
use super::session_file::{self, SessionFile};
use super::stdout::{self, EventWriter, print_error};
use super::{VERSION, replay, result};
use crate::rng::Rng;
use longhaul_core::SessionId;

const MODEL: &str = "claude-sonnet-4-5";

/// Runs the scripted agent with these arguments, without the program's name. Returns its exit code.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let flags = match flags::parse(arguments) {
        Ok(flags) => flags,
        Err(error) => return exit_with_error(&error),
    };
    if flags.version {
        stdout::write(&format!("{VERSION} (Claude Code)"));
        return ExitCode::SUCCESS;
    }
    let environment = Environment::read();
    if let Some(code) = replay::run(&flags, &environment) {
        return ExitCode::from(code);
    }
    match start(flags, environment) {
        Ok(agent) => ExitCode::from(run(agent)),
        Err(code) => code,
    }
}

fn run(mut agent: Agent) -> u8 {
    let code = loop {
        let step = match agent.queue.pop_front() {
            Some(prompt) => agent.run_exchange(prompt),
            None if agent.input_ended && agent.background.is_empty() => break agent.exit_code,
            None => agent.wait(None).map(|_| ()),
        };
        match step {
            Ok(()) | Err(Stop::Interrupted { .. }) => {}
            Err(Stop::Exit(code)) => break code,
        }
    };
    agent.write_cost_state();
    agent.emit_session_end();
    agent.end_background();
    code
}

fn start(flags: Flags, environment: Environment) -> Result<Agent, ExitCode> {
    let mut rng = Rng::new(environment.seed);
    let settings = flags.settings.as_deref().filter(|_| !flags.safe_mode);
    let files = [environment.config.join("settings.json"), environment.cwd.join(".claude/settings.json")];
    let files: &[PathBuf] = if flags.safe_mode { &[] } else { &files };
    let hooks = Hooks::read(files, settings).map_err(|error| exit_with_error(&error))?;
    let mode = flags.permission_mode.clone().unwrap_or_else(|| "default".to_owned());
    let requested_id =
        flags.session_id.clone().or_else(|| flags.resume.clone().filter(|_| !flags.fork_session));
    let id = requested_id.unwrap_or_else(|| rng.uuid());
    let mut out = EventWriter::new(flags.acp, id.clone(), rng);
    if mode == "bypassPermissions" && !environment.sandbox && rustix::process::geteuid().is_root() {
        let error =
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
        if environment.startup_results {
            out.result(result::failed_start(error, Some("bypass_root")));
        }
        return Err(exit_with_error(error));
    }
    let path = session_file::path(&environment.config, &environment.cwd, &id);
    if flags.resume.is_none() && path.exists() {
        return Err(exit_with_error(&format!("Error: Session ID {id} is already in use.")));
    }
    let (mut session, history) = match &flags.resume {
        None => (SessionFile::new(path, &environment.cwd, &id, None), History::default()),
        Some(from) => resume(from, &id, &flags, &environment, &mut out)?,
    };
    session.is_stored = !flags.no_session;
    // Safe mode serves a single response without tools and servers.
    let configs: &[String] = if flags.safe_mode { &[] } else { &flags.mcp_configs };
    let servers = Servers::start(configs).map_err(|error| exit_with_error(&error))?;
    let inbox = Inbox::open().map_err(|error| exit_with_error(&format!("Error: {error}")))?;
    inbox.listen();
    Ok(Agent {
        model: flags.model.clone().unwrap_or_else(|| MODEL.to_owned()),
        cost_meter: CostMeter::from_cost_state(history.cost_state.as_ref()),
        messages: history.messages,
        queue: VecDeque::new(),
        background: Vec::new(),
        input_ended: false,
        in_exchange: false,
        serial: 0,
        limits: None,
        api_time: Duration::ZERO,
        exit_code: 0,
        flags,
        environment,
        out,
        inbox,
        session,
        mode,
        hooks,
        callbacks: Callbacks::default(),
        servers,
    })
}

/// Returns the session to resume and its repaired history. A fork starts with a copy of the rows.
fn resume(
    from: &str,
    id: &str,
    flags: &Flags,
    environment: &Environment,
    out: &mut EventWriter,
) -> Result<(SessionFile, History), ExitCode> {
    let path = session_file::find(&environment.config, &environment.cwd, from);
    let read = |until| path.as_ref().and_then(|path| Some((history::read(path, until)?, path.clone())));
    let history = read(flags.resume_at.as_deref());
    let Some((mut history, path)) = history else {
        let error = if let Some(message) = flags.resume_at.as_ref().filter(|_| read(None).is_some()) {
            format!("No message found with message.uuid of: {message}")
        } else if SessionId::from(from).is_uuid() {
            format!("No conversation found with session ID: {from}")
        } else {
            format!("--resume {from} is not a UUID and does not match any session title.")
        };
        from.clone_into(&mut out.session_id);
        out.result(result::failed_start(&error, None));
        return Err(exit_with_error(&error));
    };
    let mut session = if flags.fork_session {
        fork(&history, id, environment)
    } else {
        SessionFile::new(path, &environment.cwd, id, history.leaf.clone())
    };
    for (kind, message) in std::mem::take(&mut history.repairs) {
        let uuid = out.rng.uuid();
        session.link(kind, uuid, json!({"message": message}));
    }
    Ok((session, history))
}

fn fork(history: &History, id: &str, environment: &Environment) -> SessionFile {
    let path = session_file::path(&environment.config, Path::new(&environment.cwd), id);
    let mut session = SessionFile::new(path, &environment.cwd, id, history.leaf.clone());
    for row in &history.rows {
        let mut row = row.clone();
        row["sessionId"] = json!(id);
        session.write(&row);
    }
    session
}

fn exit_with_error(error: &str) -> ExitCode {
    print_error(error);
    ExitCode::FAILURE
}

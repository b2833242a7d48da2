//! The requests that open a session and send its first prompt, each after the answer to the one before:
//! `initialize`, the session, its mode, its model, the prompt.
//!
//! A request is sent once, even if its answer is missing: the agent may be working on it.

use super::rpc;
use crate::{AgentRequest, SessionStart};
use agent_client_protocol_schema::{
    AGENT_METHOD_NAMES, ContentBlock, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, NewSessionRequest, PromptRequest, ProtocolVersion, ResumeSessionRequest,
    SessionConfigId, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use longhaul_core::SessionId;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(super) const INITIALIZE: &str = "longhaul-initialize";
const SESSION: &str = "longhaul-session";
const MODE: &str = "longhaul-mode";
const MODEL: &str = "longhaul-model";
/// Starts the id of each prompt, which ends with its number.
const PROMPT: &str = "longhaul-prompt-";

/// The step of the conversation that an answer completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Initialize,
    Session,
    Mode,
    Model,
    Prompt,
}

impl Stage {
    /// Returns the stage of the request with this id, or `None` if it is not ours.
    pub(super) fn of(id: &str) -> Option<Stage> {
        match id {
            INITIALIZE => Some(Stage::Initialize),
            SESSION => Some(Stage::Session),
            MODE => Some(Stage::Mode),
            MODEL => Some(Stage::Model),
            _ => id.starts_with(PROMPT).then_some(Stage::Prompt),
        }
    }
}

/// Facts about the agent and its session that later requests need.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    start: Option<Start>,
    sent: BTreeSet<String>,
    due: Option<AgentRequest>,
    resumes: bool,
    loads: bool,
    pub(super) session: Option<SessionId>,
    /// Why an answer that is no error cannot be used, for people.
    pub(super) problem: Option<String>,
    pub(super) agent_name: String,
    pub(super) agent_version: Option<String>,
    pub(super) model: Option<String>,
    model_option: Option<SessionConfigId>,
    modes: Vec<String>,
}

#[derive(Debug)]
struct Start {
    cwd: PathBuf,
    /// The session to continue.
    history: Option<SessionId>,
    mode: Option<String>,
    model: Option<String>,
    prompt: String,
}

/// Returns the first request, which every agent can answer.
pub(super) fn initialize() -> Vec<u8> {
    let client = Implementation::new("longhaul", env!("CARGO_PKG_VERSION"));
    let request = InitializeRequest::new(ProtocolVersion::V1).client_info(client);
    rpc::request(INITIALIZE, AGENT_METHOD_NAMES.initialize, &request)
}

/// Returns the id of prompt number `number` of this process.
pub(super) fn prompt_id(number: u32) -> String {
    format!("{PROMPT}{number}")
}

/// Returns the request that sends prompt number `number` of this process.
pub(super) fn prompt(session: &SessionId, number: u32, text: &str) -> AgentRequest {
    let id = prompt_id(number);
    let request = PromptRequest::new(session.to_string(), vec![ContentBlock::from(text)]);
    let line = rpc::request(&id, AGENT_METHOD_NAMES.session_prompt, &request);
    AgentRequest { id, line }
}

impl Handshake {
    pub(super) fn begin(&mut self, start: &SessionStart<'_>) {
        self.start = Some(Start {
            cwd: start.spec.cwd.clone(),
            // Version 1 has no stable fork, so the session itself continues.
            history: start.plan.session.source().cloned(),
            mode: start.spec.permission_mode.clone(),
            model: start.spec.model.clone(),
            prompt: start.prompt.to_owned(),
        });
    }

    pub(super) fn add_sent(&mut self, requests: Vec<String>) {
        self.sent.extend(requests);
    }

    /// Returns whether this prompt was sent, which is assumed if the stream is read without its requests.
    pub(super) fn has_sent_prompt(&self, number: u32) -> bool {
        self.sent.is_empty() || self.sent.contains(&prompt_id(number))
    }

    pub(super) fn has_history(&self) -> bool {
        self.start.as_ref().is_some_and(|start| start.history.is_some())
    }

    /// Takes the request that is due, unless it was sent before.
    pub(super) fn take_due(&mut self) -> Option<AgentRequest> {
        self.due.take().filter(|request| self.sent.insert(request.id.clone()))
    }

    /// Records a successful answer and prepares the next request. Returns `false` if the attempt cannot
    /// continue.
    pub(super) fn on_answer(&mut self, stage: Stage, result: &Value) -> bool {
        match stage {
            Stage::Initialize => self.on_initialized(result),
            Stage::Session => {
                self.on_session(result);
                // A stream that is read without its settings names a resumed session only in its updates.
                if self.session.is_none() && self.start.is_some() {
                    self.problem = Some("the agent named no usable session".to_owned());
                    return false;
                }
                self.request_mode()
            }
            Stage::Mode => self.request_model(),
            Stage::Model => {
                self.read_options(result);
                self.request_prompt()
            }
            Stage::Prompt => true,
        }
    }

    fn on_initialized(&mut self, result: &Value) -> bool {
        let version = result.get("protocolVersion").and_then(Value::as_u64);
        if let Some(version) = version.filter(|version| *version != 1) {
            self.problem =
                Some(format!("the agent speaks version {version} of the protocol; Longhaul needs 1"));
            return false;
        }
        let Ok(response) = serde_json::from_value::<InitializeResponse>(result.clone()) else { return false };
        if let Some(info) = response.agent_info {
            (self.agent_name, self.agent_version) = (info.name, Some(info.version));
        }
        self.resumes = response.agent_capabilities.session_capabilities.resume.is_some();
        self.loads = response.agent_capabilities.load_session;
        response.protocol_version == ProtocolVersion::V1 && self.request_session()
    }

    /// Prefers to resume a session: loading it repeats its history.
    fn request_session(&mut self) -> bool {
        let Some(Start { cwd, history, .. }) = &self.start else { return true };
        let line = match history {
            None => rpc::request(SESSION, AGENT_METHOD_NAMES.session_new, &NewSessionRequest::new(cwd)),
            Some(id) if self.resumes => {
                let request = ResumeSessionRequest::new(id.to_string(), cwd);
                rpc::request(SESSION, AGENT_METHOD_NAMES.session_resume, &request)
            }
            Some(id) if self.loads => {
                let request = LoadSessionRequest::new(id.to_string(), cwd);
                rpc::request(SESSION, AGENT_METHOD_NAMES.session_load, &request)
            }
            Some(_) => return false,
        };
        self.set_due(SESSION, line)
    }

    fn on_session(&mut self, result: &Value) {
        let named = result.get("sessionId").and_then(Value::as_str).map(SessionId::from);
        let history = self.start.as_ref().and_then(|start| start.history.clone());
        self.session = named.or(history).filter(SessionId::is_name);
        let modes = result.pointer("/modes/availableModes").and_then(Value::as_array).into_iter().flatten();
        self.modes = modes.filter_map(|mode| Some(mode.get("id")?.as_str()?.to_owned())).collect();
        self.read_options(result);
    }

    /// Reads the model among the options of the session.
    fn read_options(&mut self, result: &Value) {
        let options = result.get("configOptions").and_then(Value::as_array).into_iter().flatten();
        let options =
            options.filter_map(|option| serde_json::from_value::<SessionConfigOption>(option.clone()).ok());
        for option in options.filter(|option| option.category == Some(SessionConfigOptionCategory::Model)) {
            if let SessionConfigKind::Select(select) = option.kind {
                self.model = Some(select.current_value.to_string());
                self.model_option = Some(option.id);
            }
        }
    }

    fn request_mode(&mut self) -> bool {
        let mode = self.start.as_ref().and_then(|start| start.mode.clone());
        let (Some(session), Some(mode)) = (&self.session, mode) else { return self.request_model() };
        let request = SetSessionModeRequest::new(session.to_string(), mode);
        let line = rpc::request(MODE, AGENT_METHOD_NAMES.session_set_mode, &request);
        self.set_due(MODE, line)
    }

    /// Sets the model. An agent that offers no choice of models receives the prompt only if none is requested.
    fn request_model(&mut self) -> bool {
        let model = self.start.as_ref().and_then(|start| start.model.clone());
        let Some(model) = model.filter(|model| self.model.as_ref() != Some(model)) else {
            return self.request_prompt();
        };
        let (Some(session), Some(option)) = (&self.session, &self.model_option) else { return false };
        let request = SetSessionConfigOptionRequest::new(session.to_string(), option.clone(), model);
        let line = rpc::request(MODEL, AGENT_METHOD_NAMES.session_set_config_option, &request);
        self.set_due(MODEL, line)
    }

    /// Returns what the agent accepts at this stage, for people. `None` if that is unknown.
    pub(super) fn choices(&self, stage: Stage) -> Option<String> {
        match stage {
            Stage::Mode if !self.modes.is_empty() => {
                Some(format!("the agent's modes are {}", self.modes.join(", ")))
            }
            Stage::Model if self.model_option.is_none() => {
                Some("the agent offers no choice of models; name the model in its command".to_owned())
            }
            Stage::Initialize | Stage::Session | Stage::Mode | Stage::Model | Stage::Prompt => None,
        }
    }

    fn request_prompt(&mut self) -> bool {
        if let (Some(session), Some(start)) = (&self.session, &self.start)
            && !start.prompt.is_empty()
        {
            self.due = Some(prompt(session, 1, &start.prompt));
        }
        true
    }

    fn set_due(&mut self, id: &str, line: Vec<u8>) -> bool {
        self.due = Some(AgentRequest { id: id.to_owned(), line });
        true
    }
}

//! The API itself: its routes, its state, and the handle that whoever runs a drill keeps.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use std::{future, io};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time;

use super::conversation::{ScriptPosition, notes_text, place, prompt_text, reply};
use super::listener::{ClientConnection, FaultyListener};
use super::request_log::{LoggedRequest, RequestKind, RequestLog};
use super::send::{self, Sender};
use super::state::{ApiState, ParsedRequest};
use super::{error_responses, send_plan};
use crate::scenario::{Auth, FaultKind, KillAt, Scenario, Signal};

/// The API key that is accepted, and no other.
pub const DUMMY_KEY: &str = "sk-ant-drill-dummy";
/// The OAuth token that is accepted, and no other.
pub const DUMMY_TOKEN: &str = "sk-ant-oat01-drill-dummy";

/// The real API's own limit on a request.
const REQUEST_BYTES_MAX: usize = 32 << 20;
/// Bytes of a request per token, about what JSON with English in it has.
const BYTES_PER_TOKEN: u64 = 4;
// More than a conversation with a script has.
const REPLY_MESSAGES_MAX: u32 = 10_000;

/// Why the API could not start.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No port could be bound.
    #[error("bind a port of 127.0.0.1: {0}")]
    Bind(#[source] io::Error),
}

/// A moment of killing that a scenario asked for: whoever runs the drill may now send the signal to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalPoint {
    /// The turn it belongs to.
    pub turn: u32,
    /// What the agent is doing.
    pub at: KillAt,
    /// What to send it.
    pub signal: Signal,
    /// Milliseconds since the API started.
    pub at_ms: u64,
}

/// A running API. It stops when dropped.
#[derive(Debug)]
pub struct Api {
    stage: Arc<ApiState>,
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Api {
    /// Starts an API that plays `scenario` on a free port of 127.0.0.1. The same seed gives the same ids, the same
    /// pieces of text and the same turns for faults that may strike one of several.
    ///
    /// # Errors
    /// If no port can be bound.
    pub async fn start(scenario: &Scenario, seed: u64) -> Result<Self, ApiError> {
        let (doorway, keeper) = FaultyListener::open().await.map_err(ApiError::Bind)?;
        let address = doorway.address();
        let stage = Arc::new(ApiState::new(scenario, seed, keeper));
        let routes = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/messages/count_tokens", post(count_tokens))
            .route("/", get(async || "ok"))
            .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
            .with_state(Arc::clone(&stage))
            .into_make_service_with_connect_info::<ClientConnection>();
        let server = tokio::spawn(async move {
            // Serving never ends by itself; there is nobody to tell if it did.
            let _ = axum::serve(doorway, routes).await;
        });
        Ok(Self { stage, address, server })
    }

    /// Where the API listens, for `ANTHROPIC_BASE_URL`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the agent needs in its environment to talk to this API: its address, the dummy credential, the scenario's
    /// own variables and the time scale of the scripted agent.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let scenario = &self.stage.scenario;
        let credential = match scenario.auth {
            Auth::Key => ("ANTHROPIC_API_KEY", DUMMY_KEY),
            Auth::Oauth => ("CLAUDE_CODE_OAUTH_TOKEN", DUMMY_TOKEN),
        };
        let mut environment = vec![
            ("ANTHROPIC_BASE_URL".to_owned(), self.url()),
            (credential.0.to_owned(), credential.1.to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".to_owned(), "1".to_owned()),
        ];
        if let Some(scale) = scenario.run.time_scale {
            environment.push((crate::scripted::TIME_SCALE.to_owned(), scale.to_string()));
        }
        environment.extend(scenario.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        environment
    }

    /// A copy of the account as it stands.
    #[must_use]
    pub fn account(&self) -> RequestLog {
        self.stage.account()
    }

    /// Moments of killing from now on.
    #[must_use]
    pub fn signal_points(&self) -> broadcast::Receiver<SignalPoint> {
        self.stage.moments.subscribe()
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn messages(
    State(stage): State<Arc<ApiState>>,
    ConnectInfo(caller): ConnectInfo<ClientConnection>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let asked = Arc::new(read(&stage, &headers, &body));
    let mut response = if stage.accepts(&headers) {
        respond(&stage, Arc::clone(&asked), caller).await
    } else {
        error_responses::error(401, "authentication_error", "invalid x-api-key", &[])
    };
    stage.answered(asked.entry, response.status().as_u16());
    error_responses::add_headers(
        response.headers_mut(),
        &[("request-id".to_owned(), asked.request_id.clone())],
    );
    response
}

async fn respond(
    stage: &Arc<ApiState>,
    asked: Arc<ParsedRequest>,
    caller: ClientConnection,
) -> Response<Body> {
    let strike = stage.take_fault(&asked);
    let fault = strike.as_ref().map(|strike| &strike.kind);
    let resets_in = strike.as_ref().map_or(Duration::ZERO, |strike| strike.resets_in);
    match fault {
        Some(FaultKind::Status(status)) => return error_responses::status(status, resets_in),
        Some(FaultKind::UsageLimit { window, .. }) => return error_responses::usage_limit(window, resets_in),
        Some(FaultKind::Html {}) => return error_responses::html(),
        Some(FaultKind::Refuse { lasting }) => {
            stage.keeper.close_for(*lasting);
            // The door ends this connection too, and with it this wait.
            return future::pending().await;
        }
        Some(FaultKind::Hold { lasting }) => time::sleep(*lasting).await,
        _ => {}
    }
    let answer = stage.answer(&asked, fault);
    let limits = if stage.scenario.auth == Auth::Oauth { error_responses::allowed() } else { Vec::new() };
    if !asked.stream {
        let bill = stage.bill(&asked, &answer);
        stage.sent(bill, answer.tokens.output, true);
        return error_responses::json_body(&answer.json(), &limits);
    }
    let steps = send_plan::steps(stage.events(&answer), fault);
    let playing = Sender { stage: Arc::clone(stage), caller, requests: asked, answer };
    let mut response = Response::new(send::start(playing, steps));
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    error_responses::add_headers(response.headers_mut(), &limits);
    response
}

async fn count_tokens(State(stage): State<Arc<ApiState>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let (entry, request_id) =
        stage.note(LoggedRequest::asked(RequestKind::Count, session(&headers), stage.at_ms()));
    let response = if stage.accepts(&headers) {
        error_responses::json_body(
            &json!({"input_tokens": tokens_of(&body)}),
            &[("request-id".to_owned(), request_id)],
        )
    } else {
        error_responses::error(401, "authentication_error", "invalid x-api-key", &[])
    };
    stage.answered(entry, response.status().as_u16());
    response
}

fn read(stage: &ApiState, headers: &HeaderMap, body: &[u8]) -> ParsedRequest {
    // A body that is not JSON asks for nothing in particular; it gets the first turn.
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let tools = request["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let side = tools.iter().all(is_search);
    let messages = &request["messages"];
    let to: Vec<&str> = stage.scenario.replies.iter().map(|reply| reply.to.as_str()).collect();
    let reply = reply(messages, &to);
    let place = match reply {
        // It belongs to no turn of the script, and no fault strikes it but those that always do.
        Some((reply, _)) => {
            // Its calls are named by the reply and by how long the conversation is, so that no two have one name.
            let before = messages.as_array().map_or(0, Vec::len);
            ScriptPosition { turn: 0, repeat: reply as u32 * REPLY_MESSAGES_MAX + before as u32 + 1, done: 0 }
        }
        None => place(messages, stage.scenario.turns.len() as u32),
    };
    let session = session(headers);
    let kind = if side { RequestKind::Side } else { RequestKind::Model };
    let told = prompt_text(messages);
    let (entry, request_id) = stage.note(LoggedRequest {
        turn: (!side).then_some(place.turn),
        prompt: told.clone(),
        notes: notes_text(messages),
        blocked_domains: tools.iter().flat_map(blocked_domains).collect(),
        ..LoggedRequest::asked(kind, session.clone(), stage.at_ms())
    });
    ParsedRequest {
        position: place,
        reply,
        prompt: told,
        side,
        stream: request["stream"] == true,
        model: request["model"].as_str().unwrap_or_default().to_owned(),
        session,
        input: tokens_of(body),
        entry,
        request_id,
    }
}

/// Whether a tool is the API's own search: what asks for one is a request beside the conversation.
fn is_search(tool: &Value) -> bool {
    tool["type"].as_str().is_some_and(|kind| kind.starts_with("web_search_"))
}

fn blocked_domains(search: &Value) -> Vec<String> {
    let domains = search["blocked_domains"].as_array().into_iter().flatten();
    domains.filter_map(|domain| domain.as_str().map(str::to_owned)).collect()
}

fn tokens_of(body: &[u8]) -> u64 {
    (body.len() as u64 / BYTES_PER_TOKEN).max(1)
}

fn session(headers: &HeaderMap) -> Option<String> {
    headers.get("x-claude-code-session-id").and_then(|value| value.to_str().ok()).map(str::to_owned)
}

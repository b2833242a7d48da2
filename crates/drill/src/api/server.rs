//! Serves the API: its routes, its state, and the handle that the drill keeps.

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

use super::conversation::{ScriptPosition, next_position, notes_text, prompt_text, reply};
use super::listener::{ClientConnection, FaultyListener};
use super::request_log::{LoggedRequest, RequestKind, RequestLog};
use super::send::{self, Sender};
use super::state::{ApiState, DUMMY_KEY, DUMMY_TOKEN, ParsedRequest};
use super::{error_responses, send_plan};
use crate::scenario::{Auth, FaultKind, Scenario, Signal};

/// The limit on a request of the real API.
const REQUEST_BYTES_MAX: usize = 32 << 20;
/// Bytes of a request per token. Four is roughly right for JSON with English text.
const BYTES_PER_TOKEN: u64 = 4;
// More messages than a conversation with a script has.
const REPLY_MESSAGES_MAX: u32 = 10_000;

/// A running API. It stops when dropped.
#[derive(Debug)]
pub struct Api {
    state: Arc<ApiState>,
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Api {
    /// Starts an API that plays `scenario` on a free port of 127.0.0.1.
    ///
    /// The same seed yields the same ids and the same pieces of text. It also selects the same turns for
    /// faults that have several possible turns.
    pub async fn start(scenario: &Scenario, seed: u64) -> io::Result<Self> {
        let (listener, closures) = FaultyListener::open().await?;
        let address = listener.address();
        let state = Arc::new(ApiState::new(scenario, seed, closures));
        let routes = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/messages/count_tokens", post(count_tokens))
            .route("/", get(async || "ok"))
            .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
            .with_state(Arc::clone(&state))
            .into_make_service_with_connect_info::<ClientConnection>();
        let server = tokio::spawn(async move {
            // The server never stops on its own, and an error could not be reported.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { state, address, server })
    }

    /// Returns the API's address, for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the environment that lets an agent talk to this API: the address, the dummy credential, the
    /// scenario's variables and the time scale of the scripted agent.
    pub fn environment(&self) -> Vec<(String, String)> {
        let scenario = &self.state.scenario;
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

    /// Returns a copy of the request log.
    pub fn request_log(&self) -> RequestLog {
        self.state.request_log()
    }

    /// Returns a receiver of the signals of all later signal points: the drill may then send one to the agent.
    pub fn signal_points(&self) -> broadcast::Receiver<Signal> {
        self.state.signal_points.subscribe()
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn messages(
    State(state): State<Arc<ApiState>>,
    ConnectInfo(client): ConnectInfo<ClientConnection>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let request = Arc::new(read(&state, &headers, &body));
    let response = if state.accepts(&headers) {
        respond(&state, Arc::clone(&request), client).await
    } else {
        error_responses::unauthorized()
    };
    state.set_status(request.log_index, response.status().as_u16());
    response
}

async fn respond(
    state: &Arc<ApiState>,
    request: Arc<ParsedRequest>,
    client: ClientConnection,
) -> Response<Body> {
    let active_fault = state.take_fault(&request);
    let fault = active_fault.as_ref().map(|active| &active.kind);
    let resets_in = active_fault.as_ref().map_or(Duration::ZERO, |active| active.resets_in);
    match fault {
        Some(FaultKind::Status(status)) => return error_responses::status(status, resets_in),
        Some(FaultKind::UsageLimit { .. }) => return error_responses::usage_limit(resets_in),
        Some(FaultKind::Html {}) => return error_responses::html(),
        Some(FaultKind::Refuse { duration }) => {
            // The listener exists as long as the API. Without it, every connection is refused anyway.
            let _ = state.closures.send(*duration);
            // Closing the listener ends this connection too, and with it this wait.
            return future::pending().await;
        }
        Some(FaultKind::Hold { duration }) => time::sleep(*duration).await,
        _ => {}
    }
    let message = state.message_for(&request, fault);
    let limits = if state.scenario.auth == Auth::Oauth { error_responses::allowed() } else { Vec::new() };
    if !request.stream {
        let bill = state.bill(&request, &message);
        state.record_sent(bill, message.tokens.output, true);
        return error_responses::json_body(&message.json(), &limits);
    }
    let steps = send_plan::steps(state.events(&message), fault);
    let sender = Sender { state: Arc::clone(state), client, request, message };
    let mut response = Response::new(send::start(sender, steps));
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    error_responses::add_headers(response.headers_mut(), &limits);
    response
}

async fn count_tokens(State(state): State<Arc<ApiState>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let log_index = state.log_request(LoggedRequest { kind: RequestKind::Count, ..LoggedRequest::default() });
    let response = if state.accepts(&headers) {
        error_responses::json_body(&json!({"input_tokens": tokens_of(&body)}), &[])
    } else {
        error_responses::unauthorized()
    };
    state.set_status(log_index, response.status().as_u16());
    response
}

fn read(state: &ApiState, headers: &HeaderMap, body: &[u8]) -> ParsedRequest {
    // A body that is not JSON selects the first turn.
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let tools = json["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let side = tools.iter().all(is_search);
    let messages = &json["messages"];
    let patterns: Vec<&str> = state.scenario.replies.iter().map(|reply| reply.to.as_str()).collect();
    let reply = reply(messages, &patterns);
    let position = match reply {
        // A reply belongs to no turn of the script. Only faults without a turn strike it.
        Some((reply, _)) => {
            // The ids of its calls contain the reply and the conversation's length, so that they are unique.
            let messages_before = messages.as_array().map_or(0, Vec::len);
            ScriptPosition {
                turn: 0,
                repeat: reply as u32 * REPLY_MESSAGES_MAX + messages_before as u32 + 1,
                done: 0,
            }
        }
        None => next_position(messages, state.scenario.turns.len() as u32),
    };
    let kind = if side { RequestKind::Side } else { RequestKind::Model };
    let prompt = prompt_text(messages);
    let session = headers.get("x-claude-code-session-id").and_then(|value| value.to_str().ok());
    let log_index = state.log_request(LoggedRequest {
        kind,
        turn: (!side).then_some(position.turn),
        prompt: prompt.clone(),
        notes: notes_text(messages),
        blocked_domains: tools.iter().flat_map(blocked_domains).collect(),
        ..LoggedRequest::default()
    });
    ParsedRequest {
        position,
        reply,
        prompt,
        side,
        stream: json["stream"] == true,
        model: json["model"].as_str().unwrap_or_default().to_owned(),
        session: session.map(str::to_owned).unwrap_or_default(),
        input: tokens_of(body),
        log_index,
    }
}

/// Returns whether a tool is the API's web search. A request for it is not part of the conversation.
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

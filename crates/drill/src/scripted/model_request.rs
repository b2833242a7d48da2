//! Requests one message from the API, with the agent's own retries. It handles error responses, lost
//! connections, cut streams and silence, and reports them to the host.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::environment::Credential;
use super::exchange::Exchange;
use super::failure::{self, ErrorResponse, Failure, RetryDecision};
use super::http::ConnectionHandle;
use super::http_request::{self, Request};
use super::inbox::{InboxEvent, ResponseChunk};
use super::message_builder::Message;
use super::{VERSION, init, retry};

/// Interval between reports of a long wait.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(30);
/// Streaming retries after an SSE error before any content.
const STREAM_REPEATS: u32 = 2;

/// The result of a request with its retries.
pub(super) enum RequestOutcome {
    /// A message, or the received part of a message whose stream was lost after usable content.
    Message(Message),
    Failed(Failure),
}

/// The result of a single request.
enum RawOutcome {
    Message(Message),
    ErrorResponse(ErrorResponse),
    /// No response, or an unusable one.
    Lost(Failure),
    /// A stream without usable content. A request without streaming may succeed.
    Useless(Failure),
    /// An SSE error. The flag is `true` if the message had started.
    Error(Failure, bool),
    /// Only pings for too long. The request is repeated without a report to the host.
    OnlyPings,
}

impl Agent {
    /// Requests the next message.
    pub(super) fn request_message(&mut self, exchange: &mut Exchange) -> Result<RequestOutcome, Stop> {
        if self.environment.credential == Credential::None {
            return Ok(RequestOutcome::Failed(failure::from_missing_login()));
        }
        let (mut attempt, mut silent_retries, mut stream, mut error_events) = (0, 0, true, 0);
        if self.flags.partial_messages {
            self.out.system("status", json!({"status": "requesting"}));
        }
        loop {
            let started = Instant::now();
            let outcome = self.send_once(exchange, stream);
            self.api_time += started.elapsed();
            let (status, decision, failure) = match outcome? {
                RawOutcome::Message(message) => return Ok(RequestOutcome::Message(message)),
                RawOutcome::OnlyPings => continue,
                RawOutcome::ErrorResponse(response) => {
                    let oauth = matches!(self.environment.credential, Credential::Token(_));
                    let host =
                        self.environment.base.as_ref().map(|base| base.authority.clone()).unwrap_or_default();
                    let (decision, failure) =
                        failure::from_error_response(&response, oauth, &self.model, &host);
                    self.emit_limits(&response.headers);
                    (Some(response.status), decision, failure)
                }
                RawOutcome::Lost(failure) => {
                    (None, RetryDecision::Retry { at_most: None, after_s: None }, failure)
                }
                RawOutcome::Useless(failure) => (None, RetryDecision::RetryWithoutStreaming, failure),
                RawOutcome::Error(failure, started) => {
                    error_events += 1;
                    let repeat = !started && error_events <= STREAM_REPEATS;
                    (
                        None,
                        if repeat {
                            RetryDecision::RetrySilently(u32::MAX)
                        } else {
                            RetryDecision::RetryWithoutStreaming
                        },
                        failure,
                    )
                }
            };
            match decision {
                RetryDecision::GiveUp => return Ok(RequestOutcome::Failed(failure)),
                RetryDecision::RetryWithoutStreaming if !stream => {
                    return Ok(RequestOutcome::Failed(failure));
                }
                RetryDecision::RetryWithoutStreaming => stream = false,
                RetryDecision::RetrySilently(at_most) if silent_retries < at_most => silent_retries += 1,
                RetryDecision::RetrySilently(_) => return Ok(RequestOutcome::Failed(failure)),
                RetryDecision::Retry { at_most, after_s } => {
                    let retries = self.environment.max_retries;
                    if attempt >= retries {
                        // A connection that keeps breaking gets a last request without streaming.
                        if status.is_none() && stream && exchange.lost_in_stream {
                            stream = false;
                            continue;
                        }
                        return Ok(RequestOutcome::Failed(failure));
                    }
                    attempt += 1;
                    self.wait_to_retry(attempt, retries, status, after_s)?;
                    if at_most.is_some_and(|limit| attempt >= limit) {
                        return Ok(RequestOutcome::Failed(failure));
                    }
                }
            }
        }
    }

    fn wait_to_retry(
        &mut self,
        attempt: u32,
        retries: u32,
        status: Option<u16>,
        after_s: Option<u64>,
    ) -> Result<(), Stop> {
        let delay = retry::delay(attempt, after_s, &mut self.out.rng);
        let end = Instant::now() + self.scaled(delay);
        let mut is_logged = false;
        loop {
            let remaining = end.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Ok(());
            }
            self.out.system(
                "api_retry",
                json!({"attempt": attempt, "max_retries": retries, "retry_delay_ms": remaining.as_millis() as u64,
                    "error_status": status, "error": failure::retry_word(status)}),
            );
            if !is_logged {
                is_logged = true;
                let uuid = self.out.rng.uuid();
                let row = json!({"subtype": "api_error", "level": "error", "error": {"status": status},
                    "retryInMs": remaining.as_millis() as u64, "retryAttempt": attempt, "maxRetries": retries});
                self.session.link("system", uuid, row);
            }
            let until = end.min(Instant::now() + ANNOUNCE_EVERY);
            // A late chunk of an earlier response does not end the wait.
            while self.wait(Some(until))?.is_some() {}
        }
    }

    /// Sends one request and processes its response.
    fn send_once(&mut self, exchange: &mut Exchange, stream: bool) -> Result<RawOutcome, Stop> {
        let Some(request) = self.request(stream) else {
            return Ok(RawOutcome::Lost(failure::from_connection_error(ErrorKind::ConnectionRefused)));
        };
        self.serial += 1;
        let call = self.serial;
        let connection = http_request::send(request, call, self.inbox.sender.clone());
        let mut message = Message::default();
        let result = self.receive(exchange, &mut message, call);
        if result.is_err() && message.has_started() && !message.complete {
            exchange.truncated = Some(message.clone());
        }
        // Later chunks of this response are discarded.
        ConnectionHandle::abort(&connection);
        let outcome = result?;
        if matches!(outcome, RawOutcome::Lost(_) | RawOutcome::Error(..) | RawOutcome::Useless(_))
            && message.has_started()
        {
            exchange.lost_in_stream = true;
            self.bill(exchange, &message);
            self.abandon(&message);
        }
        Ok(outcome)
    }

    fn receive(
        &mut self,
        exchange: &mut Exchange,
        message: &mut Message,
        call: u64,
    ) -> Result<RawOutcome, Stop> {
        let started = Instant::now();
        let mut headers = None;
        let (mut last_byte, mut last_event, mut last_ping) = (started, started, started);
        loop {
            let deadline = match headers {
                None => started + self.environment.headers_wait,
                Some(_) => {
                    (last_byte + self.environment.stream_wait).min(last_event + self.environment.pings_wait)
                }
            };
            let piece = match self.wait(Some(deadline))? {
                Some(InboxEvent::Response(number, piece)) if number == call => piece,
                Some(_) => continue,
                None if headers.is_none() => {
                    return Ok(RawOutcome::Lost(failure::from_timeout(started.elapsed().as_millis())));
                }
                None if last_byte > last_event => return Ok(RawOutcome::OnlyPings),
                None => {
                    return Ok(RawOutcome::Useless(failure::from_timeout(last_byte.elapsed().as_millis())));
                }
            };
            last_byte = Instant::now();
            match piece {
                ResponseChunk::Streaming(response_headers) => {
                    message.request_id =
                        super::http::header(&response_headers, "request-id").map(str::to_owned);
                    headers = Some(response_headers);
                    last_event = last_byte;
                }
                ResponseChunk::Event(Some(event)) => {
                    if event["type"] == "ping" {
                        if last_ping.elapsed() >= self.environment.ping_every {
                            last_ping = last_byte;
                            self.stream_event(message, event, None);
                        }
                        continue;
                    }
                    last_event = last_byte;
                    if event["type"] == "error" {
                        return Ok(RawOutcome::Error(
                            failure::from_error_event(&event),
                            message.has_started(),
                        ));
                    }
                    self.take_event(exchange, message, &event);
                    if event["type"] == "message_stop" {
                        return Ok(self.finish(message, headers.as_deref()));
                    }
                }
                ResponseChunk::Event(None) => {}
                ResponseChunk::Whole { status: 200, headers, body } => {
                    let parsed = serde_json::from_slice(&body).ok();
                    let id = super::http::header(&headers, "request-id").map(str::to_owned);
                    let Some(whole) = parsed.and_then(|body| Message::from_json(body, id)) else {
                        return Ok(RawOutcome::Useless(failure::from_malformed_response(body.len())));
                    };
                    *message = whole;
                    for block in &message.blocks {
                        self.emit_block(message, block);
                    }
                    return Ok(self.finish(message, Some(&headers)));
                }
                ResponseChunk::Whole { status, headers, body } => {
                    let body = serde_json::from_slice(&body).unwrap_or_default();
                    return Ok(RawOutcome::ErrorResponse(ErrorResponse { status, headers, body }));
                }
                ResponseChunk::Failed(kind) => {
                    return Ok(RawOutcome::Lost(failure::from_connection_error(kind)));
                }
                ResponseChunk::End(is_proper) => {
                    return Ok(self.end_without_stop(message, is_proper, headers.as_deref()));
                }
            }
        }
    }

    fn take_event(&mut self, exchange: &mut Exchange, message: &mut Message, event: &Value) {
        if let Some(block) = message.feed(event) {
            // The block is emitted before the event that closed it.
            self.emit_block(message, &block);
        }
        if event["type"] == "message_start" {
            exchange.started_messages.push(message.id.clone());
        }
        self.stream_event(message, event.clone(), None);
    }

    fn finish(&mut self, message: &Message, headers: Option<&[(String, String)]>) -> RawOutcome {
        self.emit_limits(headers.unwrap_or_default());
        RawOutcome::Message(message.clone())
    }

    /// Returns the outcome of a stream that ended without `message_stop`.
    fn end_without_stop(
        &mut self,
        message: &Message,
        is_proper: bool,
        headers: Option<&[(String, String)]>,
    ) -> RawOutcome {
        if message.complete || !message.blocks.is_empty() {
            if !message.complete {
                self.abandon(message);
            }
            return self.finish(message, headers);
        }
        if is_proper && !message.has_started() {
            return RawOutcome::Useless(failure::from_malformed_response(0));
        }
        RawOutcome::Lost(failure::from_connection_error(ErrorKind::ConnectionReset))
    }

    fn request(&self, stream: bool) -> Option<Request> {
        let base = self.environment.base.clone()?;
        let user_agent = format!("claude-cli/{VERSION} (drill {})", env!("CARGO_PKG_VERSION"));
        let mut headers: Vec<(String, String)> = [
            ("content-type", "application/json"),
            ("accept", "application/json"),
            ("anthropic-version", "2023-06-01"),
            ("user-agent", &user_agent),
            ("x-claude-code-session-id", &self.session.id),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
        headers.push(match &self.environment.credential {
            Credential::Key(key) => ("x-api-key".to_owned(), key.clone()),
            Credential::Token(token) => ("authorization".to_owned(), format!("Bearer {token}")),
            Credential::None => return None,
        });
        let default_prompt = || format!("You are an agent in {}.", self.environment.cwd.display());
        let system = format!(
            "{}{}",
            self.flags.system_prompt.clone().unwrap_or_else(default_prompt),
            self.flags.append_system_prompt.as_deref().map(|text| format!(" {text}")).unwrap_or_default()
        );
        let mut tools = init::tool_definitions(init::tools(&self.flags));
        tools.extend(self.servers.tool_definitions());
        let body = json!({"model": self.model, "max_tokens": 32_000, "stream": stream, "system": system,
            "tools": tools, "messages": merge_neighbors(&self.messages)});
        Some(Request { base, headers, body: body.to_string().into_bytes() })
    }
}

/// Returns the messages with neighbors of the same role merged.
fn merge_neighbors(messages: &[Value]) -> Vec<Value> {
    let blocks = |content: &Value| match content {
        Value::Array(blocks) => blocks.clone(),
        text => vec![json!({"type": "text", "text": text})],
    };
    let mut merged: Vec<Value> = Vec::new();
    for message in messages {
        match merged.last_mut() {
            Some(last) if last["role"] == message["role"] => {
                let mut content = blocks(&last["content"]);
                content.extend(blocks(&message["content"]));
                last["content"] = Value::Array(content);
            }
            _ => merged.push(json!({"role": message["role"], "content": blocks(&message["content"])})),
        }
    }
    merged
}

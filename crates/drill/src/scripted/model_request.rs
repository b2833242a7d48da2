//! Requests one message from the API, with the agent's own retries. It handles error responses, lost
//! connections, cut streams and silence, and reports them to the host.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, Request};
use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::environment::Credential;
use super::exchange_state::Exchange;
use super::failure::{self, ErrorResponse, Failure, RetryDecision};
use super::http;
use super::inbox::{InboxEvent, ResponseChunk};
use super::message_builder::Message;
use super::{VERSION, init};

/// Interval between reports of a long wait.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(30);

/// No message: the status of the response, if there was one, the reaction and the failure to report.
type Rejection = Box<(Option<u16>, RetryDecision, Failure)>;

impl Agent {
    /// Returns a message, or the received part of a message whose stream was lost after usable content.
    pub(super) fn request_message(
        &mut self,
        exchange: &mut Exchange,
    ) -> Result<Result<Message, Failure>, Stop> {
        let (mut attempt, mut silent_retries, mut stream) = (0, 0, true);
        if self.flags.partial_messages {
            self.out.system("status", json!({"status": "requesting"}));
        }
        loop {
            let started = Instant::now();
            let outcome = self.send_once(exchange, stream);
            self.api_time += started.elapsed();
            let (status, decision, failure) = match outcome? {
                Ok(message) => return Ok(Ok(message)),
                Err(rejection) => *rejection,
            };
            match decision {
                RetryDecision::GiveUp => return Ok(Err(failure)),
                RetryDecision::RetryWithoutStreaming if stream => stream = false,
                RetryDecision::RetryWithoutStreaming => return Ok(Err(failure)),
                RetryDecision::RetrySilently(at_most) if silent_retries < at_most => silent_retries += 1,
                RetryDecision::RetrySilently(_) => return Ok(Err(failure)),
                RetryDecision::Retry { at_most, after_s } => {
                    let retries = self.environment.max_retries;
                    if attempt >= retries {
                        // A connection that keeps breaking gets a last request without streaming.
                        if status.is_none() && stream && exchange.lost_in_stream {
                            stream = false;
                            continue;
                        }
                        return Ok(Err(failure));
                    }
                    attempt += 1;
                    self.wait_to_retry(attempt, retries, status, after_s)?;
                    if at_most.is_some_and(|limit| attempt >= limit) {
                        return Ok(Err(failure));
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
        let delay = failure::retry_delay(attempt, after_s, &mut self.out.rng);
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
                let row = json!({"subtype": "api_error", "level": "error", "error": {"status": status},
                    "retryInMs": remaining.as_millis() as u64, "retryAttempt": attempt, "maxRetries": retries});
                self.link("system", row);
            }
            let until = end.min(Instant::now() + ANNOUNCE_EVERY);
            // A late chunk of an earlier response does not end the wait.
            while self.wait(Some(until))?.is_some() {}
        }
    }

    fn send_once(
        &mut self,
        exchange: &mut Exchange,
        stream: bool,
    ) -> Result<Result<Message, Rejection>, Stop> {
        let Some(request) = self.request(stream) else {
            return Ok(Err(lost(failure::from_connection_error(ErrorKind::ConnectionRefused))));
        };
        self.serial += 1;
        let call = self.serial;
        let pending = http::send(request, call, self.inbox.sender.clone());
        let mut message = Message::default();
        let result = self.receive(&mut message, call);
        if result.is_err() && message.has_started() && !message.complete {
            exchange.truncated = Some(message.clone());
        }
        // Later chunks of this response are discarded.
        drop(pending);
        let outcome = result?;
        if outcome.is_err() && message.has_started() {
            exchange.lost_in_stream = true;
            self.bill(exchange, &message);
            self.abandon(&message);
        }
        Ok(outcome)
    }

    fn receive(&mut self, message: &mut Message, call: u64) -> Result<Result<Message, Rejection>, Stop> {
        let (mut headers, mut last_ping) = (None, Instant::now());
        loop {
            let piece = match self.wait(None)? {
                Some(InboxEvent::Response(number, piece)) if number == call => piece,
                Some(_) | None => continue,
            };
            match piece {
                ResponseChunk::Streaming(response_headers) => headers = Some(response_headers),
                ResponseChunk::Event(Some(event)) => {
                    if event["type"] == "ping" {
                        if last_ping.elapsed() >= self.environment.ping_every {
                            last_ping = Instant::now();
                            self.stream_event(message, event);
                        }
                        continue;
                    }
                    if let Some(block) = message.feed(&event) {
                        // The block is emitted before the event that closed it.
                        self.emit_block(message, &block);
                    }
                    let is_stop = event["type"] == "message_stop";
                    self.stream_event(message, event);
                    if is_stop {
                        return Ok(Ok(self.finish(message, headers.as_ref())));
                    }
                }
                ResponseChunk::Event(None) => {}
                ResponseChunk::Whole { status: 200, headers, body } => {
                    let parsed = serde_json::from_slice(&body).ok();
                    let Some(whole) = parsed.and_then(Message::from_json) else {
                        return Ok(Err(useless(failure::from_malformed_response(body.len()))));
                    };
                    *message = whole;
                    for block in &message.blocks {
                        self.emit_block(message, block);
                    }
                    return Ok(Ok(self.finish(message, Some(&headers))));
                }
                ResponseChunk::Whole { status, headers, body } => {
                    let body = serde_json::from_slice(&body).unwrap_or_default();
                    return Ok(Err(self.reject(&ErrorResponse { status, headers, body })));
                }
                ResponseChunk::Failed(kind) => return Ok(Err(lost(failure::from_connection_error(kind)))),
                ResponseChunk::End(is_proper) => {
                    return Ok(self.end_without_stop(message, is_proper, headers.as_ref()));
                }
            }
        }
    }

    fn reject(&mut self, response: &ErrorResponse) -> Rejection {
        let oauth = self.environment.is_oauth();
        let (decision, failure) = failure::from_error_response(response, oauth, &self.model);
        self.emit_limits(&response.headers);
        Box::new((Some(response.status), decision, failure))
    }

    fn finish(&mut self, message: &Message, headers: Option<&HeaderMap>) -> Message {
        if let Some(headers) = headers {
            self.emit_limits(headers);
        }
        message.clone()
    }

    /// Returns the outcome of a stream that ended without `message_stop`.
    fn end_without_stop(
        &mut self,
        message: &Message,
        is_proper: bool,
        headers: Option<&HeaderMap>,
    ) -> Result<Message, Rejection> {
        if message.complete || !message.blocks.is_empty() {
            if !message.complete {
                self.abandon(message);
            }
            return Ok(self.finish(message, headers));
        }
        if is_proper && !message.has_started() {
            return Err(useless(failure::from_malformed_response(0)));
        }
        Err(lost(failure::from_connection_error(ErrorKind::ConnectionReset)))
    }

    /// Returns the next request, or `None` without a usable address of the API.
    fn request(&self, stream: bool) -> Option<Request<String>> {
        let uri = http::endpoint(self.environment.base.as_ref()?, "/v1/messages?beta=true")?;
        let default_prompt = || format!("You are an agent in {}.", self.environment.cwd.display());
        let mut system = self.flags.system_prompt.clone().unwrap_or_else(default_prompt);
        if let Some(text) = &self.flags.append_system_prompt {
            system = format!("{system} {text}");
        }
        let mut tools = init::tool_definitions(&init::tools(&self.flags));
        tools.extend(self.servers.tool_definitions());
        let body = json!({"model": self.model, "max_tokens": 32_000, "stream": stream, "system": system,
            "tools": tools, "messages": merge_neighbors(&self.messages)});
        let request = Request::post(uri)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .header("anthropic-version", "2023-06-01")
            .header("user-agent", format!("claude-cli/{VERSION} (drill {})", env!("CARGO_PKG_VERSION")))
            .header("x-claude-code-session-id", &self.session.id)
            .header("connection", "close");
        let request = match &self.environment.credential {
            Some(Credential::Key(key)) => request.header("x-api-key", key),
            Some(Credential::Token(token)) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        };
        request.body(body.to_string()).ok()
    }
}

/// No response, or one that broke off.
fn lost(failure: Failure) -> Rejection {
    Box::new((None, RetryDecision::Retry { at_most: None, after_s: None }, failure))
}

/// A stream without usable content. A request without streaming may succeed.
fn useless(failure: Failure) -> Rejection {
    Box::new((None, RetryDecision::RetryWithoutStreaming, failure))
}

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

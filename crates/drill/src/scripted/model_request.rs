//! Requests one message from the API, with the agent's own retries. It handles refusals, lost connections,
//! cut streams and silence, and reports them to the host.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::environment::Credential;
use super::exchange::Exchange;
use super::failure::{self, Failure, Refusal, RetryDecision};
use super::http::ConnectionHandle;
use super::http_request::{self, Request, ResponseChunk};
use super::inbox::InboxEvent;
use super::message_builder::Message;
use super::{VERSION, init, retry};

/// Interval between reports of a long wait.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(30);
/// Streaming retries after an SSE error before any content.
const STREAM_REPEATS: u32 = 2;

/// The result of a request with its retries.
pub(super) enum RequestOutcome {
    /// A message, or the received part of a message whose stream was lost after usable content.
    Answered(Message),
    Failed(Failure),
}

/// The result of a single request.
enum RawOutcome {
    Message(Message),
    Refused(Refusal),
    /// No response, or an unusable one.
    Lost(Failure),
    /// A stream without usable content. A request without streaming may succeed.
    Useless(Failure),
    /// An SSE error. The flag says whether content had started.
    Error(Failure, bool),
    /// Only pings for too long. The request is repeated without a report.
    OnlyPings,
}

impl Agent {
    /// Requests the next message.
    pub(super) fn request_message(&mut self, exchange: &mut Exchange) -> Result<RequestOutcome, Stop> {
        if self.environment.credential == Credential::None {
            return Ok(RequestOutcome::Failed(failure::of_no_login()));
        }
        let (mut attempt, mut silent, mut stream, mut events) = (0, 0, true, 0);
        if self.flags.partial_messages {
            self.out.system("status", json!({"status": "requesting"}));
        }
        loop {
            let started = Instant::now();
            let outcome = self.send_once(exchange, stream);
            self.api_time += started.elapsed();
            let (status, decision, failure) = match outcome? {
                RawOutcome::Message(message) => return Ok(RequestOutcome::Answered(message)),
                RawOutcome::OnlyPings => continue,
                RawOutcome::Refused(refusal) => {
                    let oauth = matches!(self.environment.credential, Credential::Token(_));
                    let host =
                        self.environment.base.as_ref().map(|base| base.authority.clone()).unwrap_or_default();
                    let (decision, failure) = failure::of_refusal(&refusal, oauth, &self.model, &host);
                    self.emit_limits(&refusal.headers);
                    (Some(refusal.status), decision, failure)
                }
                RawOutcome::Lost(failure) => {
                    (None, RetryDecision::Retry { at_most: None, after_s: None }, failure)
                }
                RawOutcome::Useless(failure) => (None, RetryDecision::Whole, failure),
                RawOutcome::Error(failure, started) => {
                    events += 1;
                    let repeat = !started && events <= STREAM_REPEATS;
                    (
                        None,
                        if repeat { RetryDecision::Silently(u32::MAX) } else { RetryDecision::Whole },
                        failure,
                    )
                }
            };
            match decision {
                RetryDecision::GiveUp => return Ok(RequestOutcome::Failed(failure)),
                RetryDecision::Whole if !stream => return Ok(RequestOutcome::Failed(failure)),
                RetryDecision::Whole => stream = false,
                RetryDecision::Silently(at_most) if silent < at_most => silent += 1,
                RetryDecision::Silently(_) => return Ok(RequestOutcome::Failed(failure)),
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
                    if at_most.is_some_and(|most| attempt >= most) {
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
        let mut written = false;
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
            if !written {
                written = true;
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
            return Ok(RawOutcome::Lost(failure::of_connection(ErrorKind::ConnectionRefused)));
        };
        self.serial += 1;
        let call = self.serial;
        let connection = http_request::send(request, call, self.inbox.sender.clone());
        let mut message = Message::default();
        let received = self.receive(exchange, &mut message, call);
        if received.is_err() && message.started() && !message.complete {
            exchange.cut = Some(message.clone());
        }
        // Later chunks of this response are discarded.
        ConnectionHandle::abort(&connection);
        let outcome = received?;
        if matches!(outcome, RawOutcome::Lost(_) | RawOutcome::Error(..) | RawOutcome::Useless(_))
            && message.started()
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
        let (mut any_byte, mut any_event, mut pinged) = (started, started, started);
        loop {
            let deadline = match headers {
                None => started + self.environment.headers_wait,
                Some(_) => {
                    (any_byte + self.environment.stream_wait).min(any_event + self.environment.pings_wait)
                }
            };
            let piece = match self.wait(Some(deadline))? {
                Some(InboxEvent::Answered(number, piece)) if number == call => piece,
                Some(_) => continue,
                None if headers.is_none() => {
                    return Ok(RawOutcome::Lost(failure::of_timeout(started.elapsed().as_millis())));
                }
                None if any_byte > any_event => return Ok(RawOutcome::OnlyPings),
                None => return Ok(RawOutcome::Useless(failure::of_timeout(any_byte.elapsed().as_millis()))),
            };
            any_byte = Instant::now();
            match piece {
                ResponseChunk::Streaming(response_headers) => {
                    message.request_id =
                        super::http::header(&response_headers, "request-id").map(str::to_owned);
                    headers = Some(response_headers);
                    any_event = any_byte;
                }
                ResponseChunk::Event(Some(event)) => {
                    if event["type"] == "ping" {
                        if pinged.elapsed() >= self.environment.ping_every {
                            pinged = any_byte;
                            self.stream_event(message, event, None);
                        }
                        continue;
                    }
                    any_event = any_byte;
                    if event["type"] == "error" {
                        return Ok(RawOutcome::Error(failure::of_event(&event), message.started()));
                    }
                    self.take_event(exchange, message, &event);
                    if event["type"] == "message_stop" {
                        return Ok(self.finished(message, headers.as_deref()));
                    }
                }
                ResponseChunk::Event(None) => {}
                ResponseChunk::Whole { status: 200, headers, body } => {
                    let parsed = serde_json::from_slice(&body).ok();
                    let id = super::http::header(&headers, "request-id").map(str::to_owned);
                    let Some(whole) = parsed.and_then(|body| Message::whole(body, id)) else {
                        return Ok(RawOutcome::Useless(failure::of_malformed(body.len())));
                    };
                    *message = whole;
                    for block in &message.blocks {
                        self.emit_block(message, block);
                    }
                    return Ok(self.finished(message, Some(&headers)));
                }
                ResponseChunk::Whole { status, headers, body } => {
                    let body = serde_json::from_slice(&body).unwrap_or_default();
                    return Ok(RawOutcome::Refused(Refusal { status, headers, body }));
                }
                ResponseChunk::Failed(kind) => return Ok(RawOutcome::Lost(failure::of_connection(kind))),
                ResponseChunk::End(proper) => {
                    return Ok(self.broken_off(message, proper, headers.as_deref()));
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
            exchange.started_at.push(message.id.clone());
        }
        self.stream_event(message, event.clone(), None);
    }

    fn finished(&mut self, message: &Message, headers: Option<&[(String, String)]>) -> RawOutcome {
        self.emit_limits(headers.unwrap_or_default());
        RawOutcome::Message(message.clone())
    }

    /// Returns the outcome of a stream that ended without `message_stop`.
    fn broken_off(
        &mut self,
        message: &Message,
        proper: bool,
        headers: Option<&[(String, String)]>,
    ) -> RawOutcome {
        if message.complete || !message.blocks.is_empty() {
            if !message.complete {
                self.abandon(message);
            }
            return self.finished(message, headers);
        }
        if proper && !message.started() {
            return RawOutcome::Useless(failure::of_malformed(0));
        }
        RawOutcome::Lost(failure::of_connection(ErrorKind::ConnectionReset))
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
        let mut tools = init::declared(init::tools(&self.flags));
        tools.extend(self.servers.declared());
        let body = json!({"model": self.model, "max_tokens": 32_000, "stream": stream, "system": system,
            "tools": tools, "messages": merged(&self.messages)});
        Some(Request { base, headers, body: body.to_string().into_bytes() })
    }
}

/// Returns the messages with neighbors of the same role merged.
fn merged(messages: &[Value]) -> Vec<Value> {
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

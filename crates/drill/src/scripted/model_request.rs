//! One message from the API, with the agent's own retries: what it does on refusals, lost connections, cut streams and
//! silence, and what it tells its host meanwhile.

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

/// How often a long wait is announced again.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(30);
/// Streaming repeats for an SSE error before any content.
const STREAM_REPEATS: u32 = 2;

/// What came of asking.
pub(super) enum RequestOutcome {
    /// A message, or what is left of one that broke off after something usable.
    Answered(Message),
    Failed(Failure),
}

/// What came of one request.
enum RawOutcome {
    Message(Message),
    Refused(Refusal),
    /// No answer, or none that could be kept.
    Lost(Failure),
    /// A stream that said nothing usable; without streaming it may work.
    Useless(Failure),
    /// An SSE error; whether content had begun.
    Error(Failure, bool),
    /// Nothing but pings for too long; repeated without a word.
    OnlyPings,
}

impl Agent {
    /// Asks for the next message.
    pub(super) fn ask(&mut self, turn: &mut Exchange) -> Result<RequestOutcome, Stop> {
        if self.environment.credential == Credential::None {
            return Ok(RequestOutcome::Failed(failure::of_no_login()));
        }
        let (mut attempt, mut silent, mut stream, mut events) = (0, 0, true, 0);
        if self.flags.partial_messages {
            self.out.system("status", json!({"status": "requesting"}));
        }
        loop {
            let started = Instant::now();
            let exchange = self.exchange(turn, stream);
            self.api_time += started.elapsed();
            let (status, next, failure) = match exchange? {
                RawOutcome::Message(message) => return Ok(RequestOutcome::Answered(message)),
                RawOutcome::OnlyPings => continue,
                RawOutcome::Refused(refusal) => {
                    let oauth = matches!(self.environment.credential, Credential::Token(_));
                    let host =
                        self.environment.base.as_ref().map(|base| base.authority.clone()).unwrap_or_default();
                    let (next, failure) = failure::of_refusal(&refusal, oauth, &self.model, &host);
                    self.emit_limits(&refusal.headers);
                    (Some(refusal.status), next, failure)
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
            match next {
                RetryDecision::GiveUp => return Ok(RequestOutcome::Failed(failure)),
                RetryDecision::Whole if !stream => return Ok(RequestOutcome::Failed(failure)),
                RetryDecision::Whole => stream = false,
                RetryDecision::Silently(at_most) if silent < at_most => silent += 1,
                RetryDecision::Silently(_) => return Ok(RequestOutcome::Failed(failure)),
                RetryDecision::Retry { at_most, after_s } => {
                    let retries = self.environment.max_retries;
                    if attempt >= retries {
                        // A connection that kept breaking gets a last request without a stream.
                        if status.is_none() && stream && turn.lost_in_stream {
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
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.out.system(
                "api_retry",
                json!({"attempt": attempt, "max_retries": retries, "retry_delay_ms": left.as_millis() as u64,
                    "error_status": status, "error": failure::retry_word(status)}),
            );
            if !written {
                written = true;
                let uuid = self.out.rng.uuid();
                let row = json!({"subtype": "api_error", "level": "error", "error": {"status": status},
                    "retryInMs": left.as_millis() as u64, "retryAttempt": attempt, "maxRetries": retries});
                self.session.link("system", uuid, row);
            }
            let until = end.min(Instant::now() + ANNOUNCE_EVERY);
            // A late piece of an earlier answer ends no wait.
            while self.wait(Some(until))?.is_some() {}
        }
    }

    /// Sends one request and takes in its answer.
    fn exchange(&mut self, turn: &mut Exchange, stream: bool) -> Result<RawOutcome, Stop> {
        let Some(request) = self.request(stream) else {
            return Ok(RawOutcome::Lost(failure::of_connection(ErrorKind::ConnectionRefused)));
        };
        self.serial += 1;
        let call = self.serial;
        let plug = http_request::send(request, call, self.inbox.sender.clone());
        let mut message = Message::default();
        let received = self.receive(turn, &mut message, call);
        if received.is_err() && message.started() && !message.complete {
            turn.cut = Some(message.clone());
        }
        // Whatever is still to come of this answer is for nobody.
        ConnectionHandle::abort(&plug);
        let exchange = received?;
        if matches!(exchange, RawOutcome::Lost(_) | RawOutcome::Error(..) | RawOutcome::Useless(_))
            && message.started()
        {
            turn.lost_in_stream = true;
            self.bill(turn, &message);
            self.abandon(&message);
        }
        Ok(exchange)
    }

    fn receive(&mut self, turn: &mut Exchange, message: &mut Message, call: u64) -> Result<RawOutcome, Stop> {
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
                ResponseChunk::Streaming(found) => {
                    message.request_id = super::http::header(&found, "request-id").map(str::to_owned);
                    headers = Some(found);
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
                    self.take_event(turn, message, &event);
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

    fn take_event(&mut self, turn: &mut Exchange, message: &mut Message, event: &Value) {
        if let Some(block) = message.feed(event) {
            // The block is told before the event that closed it.
            self.emit_block(message, &block);
        }
        if event["type"] == "message_start" {
            turn.started_at.push(message.id.clone());
        }
        self.stream_event(message, event.clone(), None);
    }

    fn finished(&mut self, message: &Message, headers: Option<&[(String, String)]>) -> RawOutcome {
        self.emit_limits(headers.unwrap_or_default());
        RawOutcome::Message(message.clone())
    }

    /// What is left of a stream that ended without `message_stop`.
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
        let ours = || format!("You are an agent in {}.", self.environment.cwd.display());
        let system = format!(
            "{}{}",
            self.flags.system_prompt.clone().unwrap_or_else(ours),
            self.flags.append_system_prompt.as_deref().map(|text| format!(" {text}")).unwrap_or_default()
        );
        let mut tools = init::declared(init::tools(&self.flags));
        tools.extend(self.servers.declared());
        let body = json!({"model": self.model, "max_tokens": 32_000, "stream": stream, "system": system,
            "tools": tools, "messages": merged(&self.messages)});
        Some(Request { base, headers, body: body.to_string().into_bytes() })
    }
}

/// The messages with neighbours of the same role made one.
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

//! What all requests share: the script, the faults still to come and the account. It decides what a request is answered
//! with; it sends nothing.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::HeaderMap;
use serde::Serialize;
use serde_json::json;
use tokio::sync::broadcast;

use super::conversation::ScriptPosition;
use super::faults::{ActiveFault, Faults};
use super::listener::ListenerControl;
use super::request_log::{Billed, InjectedFault, LoggedRequest, RequestLog};
use super::scripted_message::{self, ScriptedMessage, SseEvent};
use super::server::{DUMMY_KEY, DUMMY_TOKEN, SignalPoint};
use crate::price::Tokens;
use crate::rng::Rng;
use crate::scenario::{FaultKind, KillAt, Scenario, Signal};

/// Moments of killing that may wait unread; a scenario has a handful.
const MOMENTS_MAX: usize = 256;

/// What all requests share.
#[derive(Debug)]
pub(super) struct ApiState {
    pub(super) scenario: Scenario,
    pub(super) keeper: ListenerControl,
    pub(super) moments: broadcast::Sender<SignalPoint>,
    started: Instant,
    books: Mutex<MutableState>,
}

#[derive(Debug)]
struct MutableState {
    account: RequestLog,
    faults: Faults,
    rng: Rng,
    /// The input of each session's last message: what the prompt cache holds of it.
    read: HashMap<String, u64>,
    /// Numbers requests and messages.
    serial: u64,
    seed: u64,
}

/// What a model request asks for.
#[derive(Debug)]
pub(super) struct ParsedRequest {
    pub(super) position: ScriptPosition,
    /// The reply that it asks for, and which of its turns.
    pub(super) reply: Option<(usize, usize)>,
    /// What the prompts say.
    pub(super) prompt: String,
    /// Whether it is a side request, which belongs to no turn.
    pub(super) side: bool,
    pub(super) stream: bool,
    pub(super) model: String,
    pub(super) session: Option<String>,
    /// Its size in tokens.
    pub(super) input: u64,
    /// Its entry in the account's list of requests.
    pub(super) entry: usize,
    pub(super) request_id: String,
}

/// Where in the account a message stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct BilledIndex {
    side: bool,
    index: usize,
}

impl ApiState {
    pub(super) fn new(scenario: &Scenario, seed: u64, keeper: ListenerControl) -> Self {
        let mut rng = Rng::new(seed);
        let faults = Faults::new(&scenario.faults, &scenario.side, &mut rng);
        let books = MutableState {
            account: RequestLog::default(),
            faults,
            rng,
            read: HashMap::new(),
            serial: 0,
            seed,
        };
        Self {
            scenario: scenario.clone(),
            keeper,
            moments: broadcast::channel(MOMENTS_MAX).0,
            started: Instant::now(),
            books: Mutex::new(books),
        }
    }

    /// A copy of the account as it stands.
    pub(super) fn account(&self) -> RequestLog {
        self.books().account.clone()
    }

    /// The events that carry an answer.
    pub(super) fn events(&self, answer: &ScriptedMessage) -> Vec<SseEvent> {
        answer.events(&mut self.books().rng)
    }

    pub(super) fn announce(&self, turn: u32, at: KillAt, signal: Signal) {
        // Nobody listening is nobody who would kill.
        let _ = self.moments.send(SignalPoint { turn, at, signal, at_ms: self.at_ms() });
    }

    /// Notes how much of a message has gone out.
    pub(super) fn sent(&self, bill: BilledIndex, output: u64, complete: bool) {
        let mut books = self.books();
        let billed = if bill.side { &mut books.account.side } else { &mut books.account.messages };
        if let Some(billed) = billed.get_mut(bill.index) {
            billed.complete |= complete;
            billed.tokens.output = if billed.complete { billed.output_whole } else { output };
        }
    }

    fn books(&self) -> MutexGuard<'_, MutableState> {
        // A request that died while it wrote its line leaves an account that is still worth reading.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn at_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Notes a request; the returned number and id are its own.
    pub(super) fn note(&self, request: LoggedRequest) -> (usize, String) {
        let mut books = self.books();
        books.serial += 1;
        let request_id = format!("req_drill_{:x}_{}", books.seed, books.serial);
        books.account.requests.push(request);
        (books.account.requests.len() - 1, request_id)
    }

    pub(super) fn answered(&self, entry: usize, status: u16) {
        if let Some(request) = self.books().account.requests.get_mut(entry) {
            request.status = status;
        }
    }

    pub(super) fn take_fault(&self, asked: &ParsedRequest) -> Option<ActiveFault> {
        let at_ms = self.at_ms();
        let mut books = self.books();
        let strike = if asked.side {
            books.faults.strike_side(asked.stream, Instant::now())?
        } else {
            books.faults.take_fault(asked.position.turn, asked.stream, Instant::now())?
        };
        let detail = detail(&strike);
        let injected =
            InjectedFault { fault: strike.kind.name().to_owned(), detail, turn: asked.position.turn, at_ms };
        books.account.injected.push(injected);
        Some(strike)
    }

    /// The message for a request, as the script and the fault have it.
    pub(super) fn answer(&self, asked: &ParsedRequest, fault: Option<&FaultKind>) -> ScriptedMessage {
        let turn = match asked.reply {
            Some((reply, turn)) => self
                .scenario
                .replies
                .get(reply)
                .and_then(|reply| reply.turns.get(turn).or(reply.turns.last())),
            None => self.scenario.turns.get(asked.position.turn.saturating_sub(1) as usize),
        };
        let (mut content, mut output) = match turn {
            _ if asked.side && asked.reply.is_none() => {
                (vec![json!({"type": "text", "text": self.scenario.side.text})], None)
            }
            Some(turn) => {
                (scripted_message::content(turn, asked.position, &asked.prompt), turn.output_tokens)
            }
            None => (Vec::new(), None),
        };
        let calls = content.iter().any(|block| block["type"] == "tool_use");
        let scripted = turn.and_then(|turn| turn.stop_reason.clone()).filter(|_| !asked.side);
        let mut stop_reason = scripted.unwrap_or(if calls { "tool_use" } else { "end_turn" }.to_owned());
        let mut instead = |text: &str, reason: &str| {
            content = if text.is_empty() { Vec::new() } else { vec![json!({"type": "text", "text": text})] };
            (stop_reason, output) = (reason.to_owned(), None);
        };
        match fault {
            Some(FaultKind::Refusal {}) => instead("I can't help with", "refusal"),
            Some(FaultKind::Empty {}) => instead("", "end_turn"),
            Some(FaultKind::PauseTurn {}) => instead("I will go on in a moment.", "pause_turn"),
            Some(FaultKind::MaxTokens {}) => {
                instead("A long text that ends in the middle of a", "max_tokens")
            }
            _ => {}
        }
        let output = output.unwrap_or_else(|| scripted_message::output_tokens(&content));
        let mut books = self.books();
        books.serial += 1;
        let id = format!("msg_drill_{:x}_{}", books.seed, books.serial);
        let session = asked.session.clone().unwrap_or_default();
        let cache_read = books.read.get(&session).copied().unwrap_or(0).min(asked.input.saturating_sub(3));
        let fresh = asked.input - cache_read;
        // What the cache did not hold is written to it, but for a few tokens at the end.
        let input = fresh.min(3 + fresh % 8);
        let tokens = Tokens { input, cache_creation: fresh - input, cache_read, output };
        ScriptedMessage { id, model: asked.model.clone(), content, stop_reason, tokens }
    }

    /// Enters a message in the account, with one token of output so far.
    pub(super) fn bill(&self, asked: &ParsedRequest, answer: &ScriptedMessage) -> BilledIndex {
        let at_ms = self.at_ms();
        let mut books = self.books();
        books.read.insert(asked.session.clone().unwrap_or_default(), asked.input);
        let billed = Billed {
            id: answer.id.clone(),
            request_id: asked.request_id.clone(),
            session: asked.session.clone(),
            turn: if asked.side { 0 } else { asked.position.turn },
            model: answer.model.clone(),
            at_ms,
            tokens: Tokens { output: 1, ..answer.tokens },
            output_whole: answer.tokens.output,
            complete: false,
        };
        let list = if asked.side { &mut books.account.side } else { &mut books.account.messages };
        list.push(billed);
        BilledIndex { side: asked.side, index: list.len() - 1 }
    }

    pub(super) fn accepts(&self, headers: &HeaderMap) -> bool {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        text("x-api-key") == Some(DUMMY_KEY)
            || text("authorization").and_then(|value| value.strip_prefix("Bearer ")) == Some(DUMMY_TOKEN)
    }
}

fn detail(strike: &ActiveFault) -> String {
    match &strike.kind {
        FaultKind::Status(status) => match status.retry_after {
            Some(seconds) => format!("{}, retry-after {seconds}", status.code),
            None => status.code.to_string(),
        },
        FaultKind::UsageLimit { .. } => format!("resets in {:.1} s", strike.resets_in.as_secs_f64()),
        FaultKind::Refuse { lasting } | FaultKind::Hold { lasting } => {
            format!("{:.1} s", lasting.as_secs_f64())
        }
        FaultKind::Reset { after } | FaultKind::Cut { after } | FaultKind::Silence { after, .. } => {
            status_word(after)
        }
        FaultKind::SseError { error, .. } => error.clone(),
        FaultKind::Kill { at, signal: Signal::Kill, .. } => status_word(at),
        FaultKind::Kill { at, signal, .. } => format!("{}, {}", status_word(signal), status_word(at)),
        FaultKind::Pings { .. }
        | FaultKind::Html {}
        | FaultKind::Refusal {}
        | FaultKind::Empty {}
        | FaultKind::PauseTurn {}
        | FaultKind::MaxTokens {} => String::new(),
    }
}

/// The word that a scenario has for a value.
fn status_word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

//! Holds the state that all requests share: the script, the pending faults and the request log. It chooses
//! the response to a request; it never sends one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use serde::Serialize;
use serde_json::json;
use tokio::sync::{broadcast, mpsc};

use super::conversation::ScriptPosition;
use super::faults::{ActiveFault, Faults};
use super::request_log::{Billed, InjectedFault, LoggedRequest, RequestLog};
use super::scripted_message::{self, ScriptedMessage, SseEvent};
use crate::rng::Rng;
use crate::scenario::{FaultKind, Scenario, Signal};
use longhaul_core::Tokens;

/// The only API key that is accepted.
pub const DUMMY_KEY: &str = "sk-ant-drill-dummy";
/// The only OAuth token that is accepted.
pub const DUMMY_TOKEN: &str = "sk-ant-oat01-drill-dummy";

/// Maximum number of unread signal points. A scenario has a handful.
const SIGNAL_POINTS_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct ApiState {
    pub scenario: Scenario,
    pub closures: mpsc::UnboundedSender<Duration>,
    pub signal_points: broadcast::Sender<Signal>,
    started: Instant,
    mutable: Mutex<MutableState>,
}

#[derive(Debug)]
struct MutableState {
    log: RequestLog,
    faults: Faults,
    rng: Rng,
    /// Input tokens of each session's last message. The prompt cache holds this much input.
    cached_input: HashMap<String, u64>,
    serial: u64,
    seed: u64,
}

#[derive(Debug)]
pub(super) struct ParsedRequest {
    pub position: ScriptPosition,
    /// The index of the reply that the last prompt selects, and the index of its turn.
    pub reply: Option<(usize, usize)>,
    pub prompt: String,
    pub side: bool,
    pub stream: bool,
    pub model: String,
    pub session: String,
    /// Size of the request in tokens.
    pub input: u64,
    /// Index in the log's list of requests.
    pub log_index: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BilledIndex {
    side: bool,
    index: usize,
}

impl ApiState {
    pub(super) fn new(scenario: &Scenario, seed: u64, closures: mpsc::UnboundedSender<Duration>) -> Self {
        let mut rng = Rng::new(seed);
        let faults = Faults::new(&scenario.faults, &scenario.side, &mut rng);
        let mutable = MutableState {
            log: RequestLog::default(),
            faults,
            rng,
            cached_input: HashMap::new(),
            serial: 0,
            seed,
        };
        Self {
            scenario: scenario.clone(),
            closures,
            signal_points: broadcast::channel(SIGNAL_POINTS_MAX).0,
            started: Instant::now(),
            mutable: Mutex::new(mutable),
        }
    }

    pub(super) fn request_log(&self) -> RequestLog {
        self.lock().log.clone()
    }

    pub(super) fn events(&self, message: &ScriptedMessage) -> Vec<SseEvent> {
        message.events(&mut self.lock().rng)
    }

    pub(super) fn announce(&self, signal: Signal) {
        // Without a subscriber, no drill is running that could send the signal.
        let _ = self.signal_points.send(signal);
    }

    pub(super) fn record_sent(&self, bill: BilledIndex, output: u64, complete: bool) {
        let mut lock = self.lock();
        let billed = if bill.side { &mut lock.log.side } else { &mut lock.log.messages };
        if let Some(billed) = billed.get_mut(bill.index) {
            billed.complete |= complete;
            billed.tokens.output = if billed.complete { billed.output_whole } else { output };
        }
    }

    fn lock(&self) -> MutexGuard<'_, MutableState> {
        // The log stays readable if a request panicked while it wrote its line.
        self.mutable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn at_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Logs a request that arrives now, and returns its index.
    pub(super) fn log_request(&self, request: LoggedRequest) -> usize {
        let request = LoggedRequest { at_ms: self.at_ms(), ..request };
        let mut lock = self.lock();
        lock.log.requests.push(request);
        lock.log.requests.len() - 1
    }

    pub(super) fn set_status(&self, log_index: usize, status: u16) {
        if let Some(request) = self.lock().log.requests.get_mut(log_index) {
            request.status = status;
        }
    }

    /// Consumes the fault that strikes a request, and logs it.
    pub(super) fn take_fault(&self, request: &ParsedRequest) -> Option<ActiveFault> {
        let at_ms = self.at_ms();
        let mut lock = self.lock();
        let turn = request.position.turn;
        let fault = lock.faults.take_fault(request.side, turn, request.stream, Instant::now())?;
        let detail = detail(&fault);
        lock.log.injected.push(InjectedFault { fault: fault.kind.name(), detail, at_ms });
        Some(fault)
    }

    /// Returns the message for a request, from the script and the fault.
    pub(super) fn message_for(&self, request: &ParsedRequest, fault: Option<&FaultKind>) -> ScriptedMessage {
        let turn = match request.reply {
            Some((reply, turn)) => self
                .scenario
                .replies
                .get(reply)
                .and_then(|reply| reply.turns.get(turn).or(reply.turns.last())),
            None => self.scenario.turns.get(request.position.turn.saturating_sub(1) as usize),
        };
        let mut content = match turn {
            _ if request.side && request.reply.is_none() => {
                vec![json!({"type": "text", "text": self.scenario.side.text})]
            }
            Some(turn) => scripted_message::content(turn, request.position, &request.prompt),
            None => Vec::new(),
        };
        let calls_tool = content.iter().any(|block| block["type"] == "tool_use");
        let mut stop_reason = if calls_tool { "tool_use" } else { "end_turn" };
        let mut replace = |text: &str, reason| {
            content = if text.is_empty() { Vec::new() } else { vec![json!({"type": "text", "text": text})] };
            stop_reason = reason;
        };
        match fault {
            Some(FaultKind::Refusal {}) => replace("I can't help with", "refusal"),
            Some(FaultKind::Empty {}) => replace("", "end_turn"),
            Some(FaultKind::PauseTurn {}) => replace("I will continue in a moment.", "pause_turn"),
            _ => {}
        }
        let output = scripted_message::output_tokens(&content);
        let mut lock = self.lock();
        lock.serial += 1;
        let id = format!("msg_drill_{:x}_{}", lock.seed, lock.serial);
        let cache_read = lock
            .cached_input
            .get(&request.session)
            .copied()
            .unwrap_or(0)
            .min(request.input.saturating_sub(3));
        let fresh = request.input - cache_read;
        // Input that the cache does not hold is written to it, except for a few tokens at the end.
        let input = fresh.min(3 + fresh % 8);
        let tokens = Tokens { input, cache_write: fresh - input, cache_read, output };
        ScriptedMessage { id, model: request.model.clone(), content, stop_reason, tokens }
    }

    /// Adds a message to the request log, with one token of output so far.
    pub(super) fn bill(&self, request: &ParsedRequest, message: &ScriptedMessage) -> BilledIndex {
        let at_ms = self.at_ms();
        let mut lock = self.lock();
        lock.cached_input.insert(request.session.clone(), request.input);
        let billed = Billed {
            id: message.id.clone(),
            turn: if request.side { 0 } else { request.position.turn },
            model: message.model.clone(),
            at_ms,
            tokens: Tokens { output: 1, ..message.tokens },
            output_whole: message.tokens.output,
            complete: false,
        };
        let list = if request.side { &mut lock.log.side } else { &mut lock.log.messages };
        list.push(billed);
        BilledIndex { side: request.side, index: list.len() - 1 }
    }

    /// Returns whether the headers contain one of the dummy credentials.
    pub(super) fn accepts(&self, headers: &HeaderMap) -> bool {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        text("x-api-key") == Some(DUMMY_KEY)
            || text("authorization").and_then(|value| value.strip_prefix("Bearer ")) == Some(DUMMY_TOKEN)
    }
}

fn detail(fault: &ActiveFault) -> String {
    match &fault.kind {
        FaultKind::Status(status) => match status.retry_after {
            Some(seconds) => format!("{}, retry-after {seconds}", status.code),
            None => status.code.to_string(),
        },
        FaultKind::UsageLimit { .. } => format!("resets in {:.1} s", fault.resets_in.as_secs_f64()),
        FaultKind::Refuse { duration } | FaultKind::Hold { duration } => {
            format!("{:.1} s", duration.as_secs_f64())
        }
        FaultKind::Reset { after } | FaultKind::Cut { after } | FaultKind::Silence { after } => {
            status_word(after)
        }
        FaultKind::Kill { at, signal: Signal::Kill, .. } => status_word(at),
        FaultKind::Kill { at, signal, .. } => format!("{}, {}", status_word(signal), status_word(at)),
        FaultKind::Pings {}
        | FaultKind::Html {}
        | FaultKind::Refusal {}
        | FaultKind::Empty {}
        | FaultKind::PauseTurn {} => String::new(),
    }
}

fn status_word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

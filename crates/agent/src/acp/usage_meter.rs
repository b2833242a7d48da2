//! Measures the usage of a process from what the agent states: tokens per request, tokens per turn, and the
//! cost of the session so far. Without a stated cost, the price table gives one. A message whose tokens the
//! agent never states counts as truncated: its output is estimated from its text, its input from the context
//! before it.

use crate::Prices;
use crate::prices::{BilledTokens, usd_from_nano};
use agent_client_protocol_schema::{Usage as StatedUsage, UsageUpdate};
use longhaul_core::{Tokens, Usage, Usd};

// English and code are about four bytes a token.
const BYTES_PER_TOKEN: u64 = 4;

/// The usage of one process.
#[derive(Debug)]
pub(super) struct AcpUsageMeter {
    prices: Prices,
    /// Usage of the ended turns.
    committed: Usage,
    turn: TurnUsage,
    /// The session's cost at the end of the last turn. `None` if it is unknown.
    cost_before: Option<Usd>,
    /// The session's cost.
    cost: Option<Usd>,
    /// Tokens in the session's context, as last stated. 0 if they are unknown.
    context: u64,
    has_update: bool,
}

/// The usage of the open turn.
#[derive(Clone, Copy, Debug, Default)]
struct TurnUsage {
    tokens: Tokens,
    /// Messages whose tokens are stated.
    stated: u32,
    /// Messages whose tokens are not stated yet.
    unstated: u32,
    /// Whether a message is in progress.
    is_open: bool,
    /// Whether the tokens of the last message are stated and its tools may follow.
    awaits_tools: bool,
    /// Bytes of text in messages whose tokens are not stated.
    bytes: u64,
}

impl AcpUsageMeter {
    pub(super) fn new(prices: Prices) -> AcpUsageMeter {
        AcpUsageMeter {
            prices,
            committed: Usage::default(),
            turn: TurnUsage::default(),
            cost_before: None,
            cost: None,
            context: 0,
            has_update: false,
        }
    }

    pub(super) fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Records that the session is open. A new session has cost nothing; of a resumed one, only costs that
    /// the agent stated before are known.
    pub(super) fn on_session(&mut self, is_new: bool) {
        self.cost_before = if is_new { Some(Usd::ZERO) } else { self.cost };
    }

    /// Records text of the model.
    pub(super) fn on_text(&mut self, bytes: usize) {
        self.turn.is_open = true;
        self.turn.awaits_tools = false;
        self.turn.bytes += bytes as u64;
    }

    /// Records a tool call. Agents state the tokens of a message before or after its calls.
    pub(super) fn on_call(&mut self) {
        self.turn.is_open |= !self.turn.awaits_tools;
    }

    /// Records that the message in progress is complete: its tools have run.
    pub(super) fn on_message_end(&mut self) {
        self.turn.awaits_tools = false;
        if std::mem::take(&mut self.turn.is_open) {
            self.turn.unstated += 1;
            self.has_update = true;
        }
    }

    /// Records the tokens of one request.
    pub(super) fn on_request(&mut self, stated: &StatedUsage) {
        (self.turn.is_open, self.turn.awaits_tools) = (false, true);
        self.turn.bytes = 0;
        self.turn.stated += 1;
        self.turn.tokens += tokens(stated);
        self.context = tokens(stated).total();
        self.has_update = true;
    }

    /// Records the session's context and its cost so far.
    pub(super) fn on_session_usage(&mut self, update: &UsageUpdate) {
        self.context = update.used;
        let dollars = update.cost.as_ref().filter(|cost| cost.currency == "USD");
        if let Some(cost) = dollars.and_then(|cost| Usd::from_dollars(cost.amount)) {
            self.has_update |= self.cost != Some(cost) && self.cost_before.is_some();
            self.cost = Some(cost);
        }
    }

    /// Ends the turn. Tokens that its result states replace those of its requests.
    pub(super) fn on_result(&mut self, stated: Option<&StatedUsage>, model: Option<&str>) {
        self.on_message_end();
        if let Some(stated) = stated {
            let messages = (self.turn.stated + self.turn.unstated).max(1);
            self.turn = TurnUsage { tokens: tokens(stated), stated: messages, ..TurnUsage::default() };
        }
        self.committed = self.usage(model);
        self.turn = TurnUsage::default();
        self.cost_before = self.cost.or(self.cost_before);
        self.has_update = true;
    }

    /// Returns the usage so far.
    pub(super) fn usage(&self, model: Option<&str>) -> Usage {
        let TurnUsage { tokens, stated, unstated, is_open, bytes, .. } = self.turn;
        let truncated_messages = unstated + u32::from(is_open);
        let truncated = Tokens {
            input: self.context * u64::from(truncated_messages),
            output: bytes / BYTES_PER_TOKEN,
            ..Tokens::default()
        };
        let reported = self.cost_before.zip(self.cost).map(|(before, now)| now.saturating_sub(before));
        let all = tokens + truncated;
        let price = self
            .prices
            .price(model.unwrap_or_default(), BilledTokens { tokens: all, ..BilledTokens::default() });
        let estimated = if reported.is_some() { None } else { price };
        let turn = Usage {
            tokens,
            truncated_tokens: truncated,
            messages: stated,
            truncated_messages,
            turns: stated + unstated,
            reported_cost: reported.unwrap_or(Usd::ZERO),
            estimated_cost: estimated.map_or(Usd::ZERO, usd_from_nano),
            unpriced: reported.is_none() && price.is_none() && all.total() > 0,
        };
        self.committed.plus(turn)
    }

    /// Returns whether the usage changed since the last call.
    pub(super) fn take_update(&mut self) -> bool {
        std::mem::take(&mut self.has_update)
    }
}

/// Returns stated tokens. Thinking is part of the output.
pub(super) fn tokens(stated: &StatedUsage) -> Tokens {
    Tokens {
        input: stated.input_tokens,
        output: stated.output_tokens,
        cache_read: stated.cached_read_tokens.unwrap_or(0),
        cache_write: stated.cached_write_tokens.unwrap_or(0),
    }
}

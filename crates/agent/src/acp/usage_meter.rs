//! Measures the usage of a process from what the agent states: tokens per request, tokens per turn, and the
//! cost of the session so far. Without a stated cost, the price table gives one. A message whose tokens the
//! agent never states counts as truncated: its output is estimated from its text, its input from the context
//! before it, and its price is added to a cost that does not contain it.

use crate::Prices;
use crate::prices::{BilledTokens, usd_from_nano};
use agent_client_protocol_schema::{Usage as StatedUsage, UsageUpdate};
use longhaul_core::{Tokens, Usage, Usd};
use std::mem;

// English and code are about four bytes a token.
const BYTES_PER_TOKEN: u64 = 4;

#[derive(Debug, Default)]
pub(super) struct AcpUsageMeter {
    /// Tokens that results stated so far, if they are totals of the process.
    process: Tokens,
    pub(super) prices: Prices,
    committed: Usage,
    turn: TurnUsage,
    /// The session's cost at the end of the last turn. `None` if it is unknown.
    cost_before: Option<Usd>,
    cost: Option<Usd>,
    /// The session's context, which is the input of the next message. Zero if it is unknown.
    context: Tokens,
    has_update: bool,
}

#[derive(Clone, Debug, Default)]
struct TurnUsage {
    tokens: Tokens,
    /// Messages whose tokens are stated.
    stated: u32,
    /// Messages whose tokens are not stated, with the one in progress.
    unstated: UnstatedMessages,
    /// Tokens of those messages, if the result states them.
    truncated: Option<Tokens>,
    /// Those of them that the stated cost does not cover.
    uncovered: UnstatedMessages,
    /// Bytes of the last message. `None` if its tokens are stated.
    last: Option<u64>,
    is_open: bool,
    /// Id of the last message, if the agent states ids.
    message: Option<String>,
    /// Whether the tokens of the last message are stated and its tools may follow.
    awaits_tools: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct UnstatedMessages {
    messages: u32,
    /// Bytes of their text and of the input of their calls.
    bytes: u64,
}

impl UnstatedMessages {
    /// Returns an estimate of their tokens.
    fn tokens(self, context: Tokens) -> Tokens {
        let messages = u64::from(self.messages);
        Tokens {
            input: context.input.saturating_mul(messages),
            cache_read: context.cache_read.saturating_mul(messages),
            output: self.bytes / BYTES_PER_TOKEN,
            cache_write: 0,
        }
    }
}

impl AcpUsageMeter {
    pub(super) fn new(prices: Prices) -> AcpUsageMeter {
        AcpUsageMeter { prices, ..AcpUsageMeter::default() }
    }

    /// Records that the session is open. A new session has cost nothing; of a resumed one, only costs that
    /// the agent stated before are known.
    pub(super) fn on_session(&mut self, is_new: bool) {
        self.cost_before = if is_new { Some(Usd::ZERO) } else { self.cost };
    }

    /// Records text of the model. Returns whether it starts another message: its id differs from the last.
    pub(super) fn on_text(&mut self, message: Option<&str>, bytes: usize) -> bool {
        let is_other = message.is_some_and(|id| {
            self.turn.message.as_deref() != message && self.turn.message.replace(id.to_owned()).is_some()
        });
        if is_other {
            self.on_message_end();
        }
        self.turn.awaits_tools = false;
        self.on_content(bytes);
        is_other
    }

    /// Records a tool call. Agents state the tokens of a message before or after its calls.
    pub(super) fn on_call(&mut self, bytes: usize) {
        if !self.turn.awaits_tools {
            self.on_content(bytes);
        }
    }

    fn on_content(&mut self, bytes: usize) {
        let turn = &mut self.turn;
        if !mem::replace(&mut turn.is_open, true) {
            turn.unstated.messages += 1;
            turn.uncovered.messages += 1;
            turn.last = Some(0);
        }
        let bytes = bytes as u64;
        turn.unstated.bytes += bytes;
        turn.uncovered.bytes += bytes;
        turn.last = turn.last.map(|before| before + bytes);
    }

    /// Records that the message in progress is complete: its tools have run.
    pub(super) fn on_message_end(&mut self) {
        self.turn.awaits_tools = false;
        self.has_update |= mem::take(&mut self.turn.is_open);
    }

    pub(super) fn on_request(&mut self, stated: &StatedUsage) {
        let turn = &mut self.turn;
        turn.is_open = false;
        if let Some(bytes) = turn.last.take() {
            turn.unstated.messages -= 1;
            turn.unstated.bytes -= bytes;
            turn.uncovered.messages = turn.uncovered.messages.min(turn.unstated.messages);
            turn.uncovered.bytes = turn.uncovered.bytes.saturating_sub(bytes);
        }
        turn.awaits_tools = true;
        turn.stated += 1;
        let tokens = tokens(stated);
        turn.tokens += tokens;
        self.context = Tokens {
            input: tokens.input.saturating_add(tokens.output),
            cache_read: tokens.cache_read.saturating_add(tokens.cache_write),
            ..Tokens::default()
        };
        self.has_update = true;
    }

    /// Records the session's context and its cost so far.
    pub(super) fn on_session_usage(&mut self, update: &UsageUpdate) {
        // Agents send what they sent before, and the API serves it from its cache.
        self.context.input = self.context.input.min(update.used);
        self.context.cache_read = update.used - self.context.input;
        let dollars = update.cost.as_ref().filter(|cost| cost.currency == "USD");
        let cost = dollars.and_then(|cost| Usd::from_dollars(cost.amount));
        // The cost stays zero if the session is free. Another cost that stays lacks the new messages.
        if cost.is_some_and(|cost| cost == Usd::ZERO || self.cost != Some(cost)) {
            self.has_update |= self.cost_before.is_some();
            self.cost = cost;
            self.turn.uncovered = UnstatedMessages::default();
        }
    }

    /// Ends the turn. The scope of the tokens that its result states differs from agent to agent.
    pub(super) fn on_result(&mut self, stated: Option<&StatedUsage>, agent: &str, model: Option<&str>) {
        if let Some(stated) = stated {
            match agent {
                // opencode 1.18: the last request.
                "OpenCode" => self.on_request(stated),
                // copilot 1.0: all turns of the process.
                "Copilot" => {
                    let total = tokens(stated);
                    self.turn.set_total(total.saturating_sub(self.process));
                    self.process = total;
                }
                // All messages of the turn.
                _ => self.turn.set_total(tokens(stated)),
            }
        }
        self.on_message_end();
        self.committed = self.usage(model);
        self.turn = TurnUsage::default();
        self.cost_before = self.cost.or(self.cost_before);
        self.has_update = true;
    }

    pub(super) fn usage(&self, model: Option<&str>) -> Usage {
        let turn = &self.turn;
        let truncated = turn.truncated.unwrap_or_else(|| turn.unstated.tokens(self.context));
        let reported = self.cost_before.zip(self.cost).map(|(before, now)| now.saturating_sub(before));
        let all = turn.tokens + truncated;
        let priced = if reported.is_some() { turn.uncovered.tokens(self.context) } else { all };
        let billed = BilledTokens { tokens: priced, ..BilledTokens::default() };
        let price = self.prices.price(model.unwrap_or_default(), billed);
        let usage = Usage {
            tokens: turn.tokens,
            truncated_tokens: truncated,
            messages: turn.stated,
            truncated_messages: turn.unstated.messages,
            turns: turn.stated + turn.unstated.messages - u32::from(turn.is_open),
            reported_cost: reported.unwrap_or(Usd::ZERO),
            estimated_cost: price.map_or(Usd::ZERO, usd_from_nano),
            unpriced: price.is_none() && priced.total() > 0,
        };
        self.committed.plus(usage)
    }

    pub(super) fn take_update(&mut self) -> bool {
        mem::take(&mut self.has_update)
    }
}

impl TurnUsage {
    /// Records the tokens of all messages. Those that no message states belong to truncated messages, unless
    /// the agent states tokens only for turns.
    fn set_total(&mut self, total: Tokens) {
        if self.stated == 0 {
            let stated = self.unstated.messages.max(1);
            *self = TurnUsage { tokens: total, stated, ..TurnUsage::default() };
            return;
        }
        let rest = total.saturating_sub(self.tokens);
        if rest.total() > 0 {
            // All output that was sent is billed. Agents state less of it.
            let output = rest.output.max(self.unstated.bytes / BYTES_PER_TOKEN);
            self.truncated = Some(Tokens { output, ..rest });
            self.unstated.messages = self.unstated.messages.max(1);
            let bytes = (output - rest.output).saturating_mul(BYTES_PER_TOKEN);
            self.uncovered = UnstatedMessages { messages: 0, bytes };
        }
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

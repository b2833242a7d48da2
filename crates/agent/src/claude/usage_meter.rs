//! What the process used: tokens of each API message once, dollars as the vendor states them.
//!
//! Tokens come from the deltas: `message_start` has the input side, `message_delta` the final numbers.
//! A message without a final `message_delta` was cut; its output is estimated from what arrived. Where
//! there are no deltas (sub-agents never have any), `assistant` rows tell the input side, and the next
//! result's sum the rest. A result also states the cost of all since the last one, and with that
//! settles it; what no result follows is priced by us. Whose it was, model by model, is in `shares`.

mod by_model;

use super::compaction::{CompactionFilter, fingerprint};
use super::recent_messages::RecentMessages;
use super::wire::{Head, Message, ModelUsage, ResultLine, WireUsage};
use crate::Prices;
use crate::prices::{BilledTokens, usd_from_nano};
use by_model::{ModelShares, Models, ReportedUsage};
use longhaul_core::{Tokens, Usage, Usd};
use std::mem;

// Threads write at once: the main one and its sub-agents. The oldest is closed for the next.
const LIVE_MESSAGES_MAX: usize = 256;
// English and code are about four bytes a token.
const BYTES_PER_TOKEN: u64 = 4;

/// The spending of one process.
#[derive(Clone, Debug)]
pub(super) struct UsageMeter {
    prices: Prices,
    /// All that results have settled.
    settled: Usage,
    /// All since the last result.
    span: UsageInterval,
    /// The same, model by model.
    shares: ModelShares,
    /// Messages that are being written.
    live: Vec<OpenMessage>,
    /// Messages that are done with, as fingerprints.
    recent: RecentMessages,
    /// Messages that were cut.
    pub(super) truncated: CompactionFilter,
    /// The last result's cumulative cost, for versions that state no difference.
    total: Usd,
    /// Whether anything was counted since somebody asked.
    news: bool,
}

/// What one or more messages used.
#[derive(Clone, Copy, Debug, Default)]
struct UsageInterval {
    usage: Usage,
    /// What its messages cost by our table, in billionths of a dollar. The tally's money is not set before the end.
    nano: u64,
    /// The part of it that is output of cut messages: the agent states less of that than is billed.
    truncated_output_nano: u64,
    /// Whether the final usage of a message is not known.
    guessed: bool,
}

/// A message that is being written.
#[derive(Clone, Debug)]
struct OpenMessage {
    id: String,
    thread: String,
    model: String,
    usage: BilledTokens,
    /// How much content arrived.
    bytes: u64,
    source: Source,
}

/// Where a message is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Its deltas: it is complete when the final one came.
    Deltas,
    /// Its rows alone: it is complete when the next one comes; with this its final usage is known.
    Rows { is_final: bool },
}

impl UsageMeter {
    pub(super) fn new(prices: Prices) -> UsageMeter {
        UsageMeter {
            prices,
            settled: Usage::default(),
            span: UsageInterval::default(),
            shares: ModelShares::default(),
            live: Vec::new(),
            recent: RecentMessages::default(),
            truncated: CompactionFilter::default(),
            total: Usd::ZERO,
            news: false,
        }
    }

    /// Takes in an event of the Messages API.
    pub(super) fn stream_event(&mut self, head: &Head<'_>) {
        let (event, thread) = (&head.event, head.parent_tool_use_id.as_str());
        match event.kind.as_str() {
            "content_block_delta" => {
                let delta = &event.delta;
                if let Some(place) = self.place(head.api_message_id.as_str(), thread) {
                    self.live[place].bytes += delta.text.0 + delta.partial_json.0 + delta.thinking.0;
                }
            }
            "message_start" => self.start(&event.message, thread),
            "message_delta" => {
                let Some(place) = self.place(head.api_message_id.as_str(), thread) else { return };
                let mut message = self.live.remove(place);
                message.usage = message.usage.or_later(billed(&event.usage));
                // An interrupt ends the message without a reason.
                self.close(message, event.delta.stop_reason.stated().is_some());
            }
            "message_stop" => {
                if let Some(place) = self.place(head.api_message_id.as_str(), thread) {
                    let message = self.live.remove(place);
                    self.close(message, false);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, message: &Message<'_>, thread: &str) {
        let id = message.id.as_str();
        if id.is_empty() || self.is_known(id) {
            return;
        }
        self.close_thread(thread);
        self.open(message, thread, Source::Deltas);
    }

    /// Takes in a block of a message of the model's, as a row of its own.
    pub(super) fn row(&mut self, message: &Message<'_>, thread: &str) {
        let id = message.id.as_str();
        if self.recent.contains(fingerprint(id)) {
            return;
        }
        let is_final = message.stop_reason.stated().is_some();
        let place = self.live.iter().position(|live| live.id == id).unwrap_or_else(|| {
            self.close_thread(thread);
            self.open(message, thread, Source::Rows { is_final });
            self.live.len() - 1
        });
        let live = &mut self.live[place];
        if live.source != Source::Deltas {
            live.source = Source::Rows { is_final };
            live.usage = live.usage.or_later(billed(&message.usage));
            live.bytes += message
                .content
                .0
                .iter()
                .map(|block| block.text.as_str().len() as u64 + block.thinking.0 + block.input.bytes())
                .sum::<u64>();
        }
    }

    fn open(&mut self, message: &Message<'_>, thread: &str, source: Source) {
        if self.live.len() >= LIVE_MESSAGES_MAX {
            let oldest = self.live.remove(0);
            self.close_unfinished(oldest);
        }
        self.live.push(OpenMessage {
            id: message.id.as_str().to_owned(),
            thread: thread.to_owned(),
            model: message.model.as_str().to_owned(),
            usage: billed(&message.usage),
            bytes: 0,
            source,
        });
    }

    /// The process is gone.
    pub(super) fn close_all(&mut self) {
        self.close_where(|_| true);
    }

    /// A thread writes one message at a time: when the next begins, the one before is done with.
    fn close_thread(&mut self, thread: &str) {
        self.close_where(|live| live.thread == thread);
    }

    fn close_where(&mut self, is: impl Fn(&OpenMessage) -> bool) {
        while let Some(place) = self.live.iter().position(&is) {
            let message = self.live.remove(place);
            self.close_unfinished(message);
        }
    }

    fn close_unfinished(&mut self, message: OpenMessage) {
        let complete = message.source != Source::Deltas;
        self.close(message, complete);
    }

    fn close(&mut self, mut message: OpenMessage, complete: bool) {
        let print = fingerprint(&message.id);
        self.recent.remember(print);
        self.news = true;

        let exact = complete && message.source != (Source::Rows { is_final: false });
        if !exact {
            let output = &mut message.usage.tokens.output;
            // Rounded down: where the cut fell inside a token, that token was not sent.
            *output = (*output).max(message.bytes / BYTES_PER_TOKEN);
        }
        if !complete {
            self.truncated.remember(print);
        }
        let used = self.used(&message, complete, exact);
        self.span.add(used);
        self.shares.add(&message.model, used);
    }

    /// What a message used.
    fn used(&self, message: &OpenMessage, complete: bool, exact: bool) -> UsageInterval {
        let usage = message.usage;
        let mut tally = if complete {
            let turns = u32::from(message.thread.is_empty());
            Usage { tokens: usage.tokens, messages: 1, turns, ..Usage::default() }
        } else {
            Usage { truncated_tokens: usage.tokens, truncated_messages: 1, ..Usage::default() }
        };
        let price = self.prices.price(&message.model, usage);
        tally.unpriced = price.is_none() && usage.tokens.total() > 0;
        let cut_output_nano = price.filter(|_| !complete).map(|nano| {
            let silent = BilledTokens { tokens: Tokens { output: 0, ..usage.tokens }, ..usage };
            nano.saturating_sub(self.prices.price(&message.model, silent).unwrap_or(nano))
        });
        UsageInterval {
            usage: tally,
            nano: price.unwrap_or_default(),
            truncated_output_nano: cut_output_nano.unwrap_or_default(),
            guessed: complete && !exact,
        }
    }

    /// A result covers all that was used since the last one.
    pub(super) fn settle(&mut self, line: &ResultLine<'_>) {
        // Messages known from rows alone have no end of their own. Those of sub-agents may not be complete
        // yet; the next result counts them then.
        self.close_where(|live| live.thread.is_empty() || live.source != Source::Deltas);
        let mut span = self.closed_span();
        let reported = stated_tokens(line);
        let cost = self.stated_cost(line);
        if let Some(cost) = cost {
            let estimated_cost = reported.map(|reported| self.left_out(reported)).unwrap_or_default();
            span = Usage { reported_cost: cost, estimated_cost, unpriced: false, ..span };
        }
        if let Some(reported) = reported {
            span.tokens = reconcile(span.tokens, span.truncated_tokens, reported, self.span.guessed);
        }
        self.shares.settle(
            span,
            ReportedUsage {
                models: stated_models(line),
                only: only_model(line),
                has_cost: cost.is_some(),
                guessed: self.span.guessed,
            },
        );
        self.settled = self.settled.plus(span);
        self.span = UsageInterval::default();
        self.news = true;
    }

    /// What a statement leaves out: of a message that was cut it counts the input and the first token,
    /// while all that was sent until the cut is billed (2.1.330).
    fn left_out(&self, reported: Tokens) -> Usd {
        let (counted, cut) = (self.span.usage.tokens.output, self.span.usage.truncated_tokens.output);
        let missing = (counted + cut).saturating_sub(reported.output).min(cut);
        let nano = u128::from(self.span.truncated_output_nano) * u128::from(missing) / u128::from(cut.max(1));
        usd_from_nano(nano as u64)
    }

    fn stated_cost(&mut self, line: &ResultLine<'_>) -> Option<Usd> {
        let total = line.total_cost_usd.0.and_then(Usd::from_dollars);
        let before = self.total;
        self.total = total.unwrap_or(before);
        match &line.since_last {
            Some(models) => Usd::from_dollars(models.0.iter().filter_map(|(_, model)| model.cost.0).sum()),
            // Cumulative over the session: the first one of a resumed session is too much.
            None => total.map(|total| total.saturating_sub(before)),
        }
    }

    /// The same as [`Spend::tally`], if there is anything in it that nobody asked for yet.
    pub(super) fn take_update(&mut self) -> Option<Usage> {
        mem::take(&mut self.news).then(|| self.tally())
    }

    /// All that was used, as far as it is known now.
    pub(super) fn tally(&self) -> Usage {
        self.settled.plus(self.closed_span())
    }

    /// The same, model by model, sorted by name. The parts add up to it.
    pub(super) fn by_model(&self) -> Vec<(String, Usage)> {
        self.shares.by_model(self.closed_span())
    }

    fn closed_span(&self) -> Usage {
        Usage { estimated_cost: usd_from_nano(self.span.nano), ..self.span.usage }
    }

    fn is_known(&self, id: &str) -> bool {
        self.live.iter().any(|live| live.id == id) || self.recent.contains(fingerprint(id))
    }

    /// The live message of an event: by its id where the event names it, else by its thread.
    fn place(&self, id: &str, thread: &str) -> Option<usize> {
        self.live.iter().position(|live| {
            live.source == Source::Deltas && if id.is_empty() { live.thread == thread } else { live.id == id }
        })
    }
}

/// What a result says was used since the last one; versions that do not say so tell the turn's.
fn stated_tokens(line: &ResultLine<'_>) -> Option<Tokens> {
    let Some(models) = &line.since_last else {
        let tokens = billed(&line.usage).tokens;
        return (tokens.total() > 0).then_some(tokens);
    };
    Some(models.0.iter().fold(Tokens::default(), |sum, (_, model)| sum + tokens_of(model)))
}

/// The same by model, with what each cost; nothing in versions that do not say so.
fn stated_models(line: &ResultLine<'_>) -> Option<Models> {
    let mut reported = Models::default();
    for (name, model) in &line.since_last.as_ref()?.0 {
        let cost = model.cost.0.and_then(Usd::from_dollars).unwrap_or_default();
        let usage = Usage { tokens: tokens_of(model), reported_cost: cost, ..Usage::default() };
        reported.add(name.as_str(), UsageInterval { usage, ..UsageInterval::default() });
    }
    Some(reported)
}

/// The one model that the session has used up to a result, if it is only one; an empty name otherwise.
fn only_model<'a>(line: &'a ResultLine<'_>) -> &'a str {
    match line.model_usage.0.as_slice() {
        [(name, _)] => name.as_str(),
        _ => "",
    }
}

fn tokens_of(model: &ModelUsage<'_>) -> Tokens {
    Tokens {
        input: model.input.or_zero(),
        output: model.output.or_zero(),
        cache_read: model.cache_read.or_zero(),
        cache_write: model.cache_write.or_zero(),
    }
}

/// Completes what we counted with what the agent states. The agent also makes requests that the stream
/// does not show (compaction, titles), and knows what sub-agents wrote; its sum includes its own guess
/// at cut messages, which we leave to ours.
fn reconcile(counted: Tokens, cut: Tokens, reported: Tokens, guessed: bool) -> Tokens {
    let reported = rest(reported, cut);
    match (guessed, prompt(reported) > prompt(counted)) {
        // Each request was seen, and the deltas are exact.
        (false, false) => counted,
        (true, _) => reported,
        (false, true) => Tokens {
            input: reported.input.max(counted.input),
            output: reported.output.max(counted.output),
            cache_read: reported.cache_read.max(counted.cache_read),
            cache_write: reported.cache_write.max(counted.cache_write),
        },
    }
}

/// What is left of some tokens without others.
fn rest(tokens: Tokens, others: Tokens) -> Tokens {
    Tokens {
        input: tokens.input.saturating_sub(others.input),
        output: tokens.output.saturating_sub(others.output),
        cache_read: tokens.cache_read.saturating_sub(others.cache_read),
        cache_write: tokens.cache_write.saturating_sub(others.cache_write),
    }
}

/// All that the model was given.
fn prompt(tokens: Tokens) -> u64 {
    tokens.input + tokens.cache_read + tokens.cache_write
}

/// What a usage states, as it is billed.
pub(super) fn billed(usage: &WireUsage<'_>) -> BilledTokens {
    BilledTokens {
        tokens: Tokens {
            input: usage.input.or_zero(),
            output: usage.output.or_zero(),
            cache_read: usage.cache_read.or_zero(),
            cache_write: usage.cache_write.or_zero(),
        },
        cache_write_hour: usage.cache_creation.hour.or_zero(),
    }
}

impl UsageInterval {
    fn add(&mut self, other: UsageInterval) {
        self.usage = self.usage.plus(other.usage);
        self.nano = self.nano.saturating_add(other.nano);
        self.truncated_output_nano = self.truncated_output_nano.saturating_add(other.truncated_output_nano);
        self.guessed |= other.guessed;
    }
}

impl BilledTokens {
    /// Cumulative numbers of the same message, stated later; a later event may leave the input out.
    fn or_later(self, later: BilledTokens) -> BilledTokens {
        BilledTokens {
            tokens: Tokens {
                input: self.tokens.input.max(later.tokens.input),
                output: self.tokens.output.max(later.tokens.output),
                cache_read: self.tokens.cache_read.max(later.tokens.cache_read),
                cache_write: self.tokens.cache_write.max(later.tokens.cache_write),
            },
            cache_write_hour: self.cache_write_hour.max(later.cache_write_hour),
        }
    }
}

#[cfg(test)]
mod tests;

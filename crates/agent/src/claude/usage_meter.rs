//! Measures the usage of a process: the tokens of each API message once, and the cost that the vendor
//! reports.
//!
//! Tokens come from the deltas: `message_start` has the input side, and `message_delta` has the final
//! numbers. A message without a final `message_delta` is truncated; its output is estimated from the bytes
//! that arrived. Sub-agents have no deltas: their `assistant` rows give the input side, and the next result's
//! sum, or else the agent's own files, give the rest. A result also reports the cost since the previous result,
//! which replaces our estimate. Usage after the last result is priced by our table. Usage is kept by model only, and
//! the total is its sum. `by_model` attributes a result to models.

mod by_model;

use super::compaction::{TruncatedMessages, fingerprint};
use super::wire::{Block, Map, Message, Raw, ResultLine, SessionUsage, StreamLine, WireUsage};
use crate::Prices;
use crate::prices::{BilledTokens, prompt_tokens, usd_from_nano};
use by_model::{Models, ReportedUsage};
use longhaul_core::{Tokens, Usage, Usd};
use std::collections::BTreeSet;
use std::mem;

// A message of a sub-agent stays open until the next result, and a sub-agent writes a few hundred. At the limit, the
// oldest message is closed for the next.
const LIVE_MESSAGES_MAX: usize = 1024;
// English and code are about four bytes a token.
const BYTES_PER_TOKEN: u64 = 4;
// The messages of a day.
const COUNTED_MAX: usize = 16_384;

#[derive(Clone, Debug, Default)]
pub(super) struct UsageMeter {
    pub(super) prices: Prices,
    /// Usage that results have reported, by the reported names. Only its `usage` is used.
    committed: Models,
    /// Usage since the last result, by the names in the messages.
    interval: Models,
    live: Vec<OpenMessage>,
    /// Fingerprints of counted messages, of which later rows may repeat a part.
    counted: BTreeSet<u64>,
    pub(super) truncated: TruncatedMessages,
    /// The last result's cumulative cost, for versions that do not report differences.
    total: Usd,
    /// The last result's cumulative tokens.
    total_tokens: Tokens,
    has_update: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct UsageInterval {
    usage: Usage,
    /// Cost of the messages by our table, in billionths of a dollar. The cost in `usage` is set at the end.
    nano: u64,
    /// The parts of that cost that are input and output of truncated messages. The agent reports less of them
    /// than is billed.
    truncated_input_nano: u64,
    truncated_output_nano: u64,
    /// Whether a truncated message has no price.
    truncated_unpriced: bool,
    /// Whether the final usage of a message is unknown.
    guessed: bool,
}

#[derive(Clone, Debug)]
struct OpenMessage {
    id: String,
    thread: String,
    model: String,
    usage: BilledTokens,
    /// Bytes of content that arrived.
    bytes: u64,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Deltas: the message is complete with its final delta.
    Deltas,
    /// Rows only: they do not show when the message is complete. `is_final` means that its final usage is known.
    Rows { is_final: bool },
}

impl UsageMeter {
    pub(super) fn new(prices: Prices) -> UsageMeter {
        UsageMeter { prices, ..UsageMeter::default() }
    }

    pub(super) fn stream_event(&mut self, head: &StreamLine<'_>) {
        let (event, thread) = (&head.event, head.parent_tool_use_id.as_str());
        match event.kind.as_str() {
            "content_block_delta" => {
                let delta = &event.delta;
                if let Some(index) = self.live_index(head.api_message_id.as_str(), thread) {
                    self.live[index].bytes += delta.written_bytes();
                }
            }
            "message_start" => self.start(&event.message, thread),
            "message_delta" | "message_stop" => {
                let Some(index) = self.live_index(head.api_message_id.as_str(), thread) else { return };
                let mut message = self.live.remove(index);
                message.usage = message.usage.max_with(billed(&event.usage));
                // An interrupt ends the message without a reason.
                self.close(message, event.delta.stop_reason.non_empty().is_some());
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

    pub(super) fn row(&mut self, message: &Message<'_>, thread: &str) {
        let id = message.id.as_str();
        if self.counted.contains(&fingerprint(id)) {
            return;
        }
        let is_final = message.stop_reason.non_empty().is_some();
        let index = self.live.iter().rposition(|live| live.id == id).unwrap_or_else(|| {
            self.close_thread(thread);
            self.open(message, thread, Source::Rows { is_final });
            self.live.len() - 1
        });
        let live = &mut self.live[index];
        if live.source != Source::Deltas {
            self.has_update |= !live.thread.is_empty();
            live.source = Source::Rows { is_final };
            live.usage = live.usage.max_with(billed(&message.usage));
            live.bytes += message.content.0.iter().map(Block::written_bytes).sum::<u64>();
        }
    }

    /// Reads a row of a sub-agent's own file, which states the final usage. A message that the stream lacks belongs to
    /// another attempt, or a result has reported it.
    pub(super) fn file_row(&mut self, message: &Message<'_>) {
        if self.live.iter().any(|live| message.id.is(&live.id)) {
            self.row(message, "");
        }
    }

    /// Returns whether the usage of an open message is estimated although its rows arrived.
    pub(super) fn has_estimates(&self) -> bool {
        self.live.iter().any(|live| live.source == Source::Rows { is_final: false })
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

    pub(super) fn close_all(&mut self) {
        self.close_where(|_| true);
    }

    /// Closes the message of a thread, which writes one message at a time. Those of a sub-agent stay open if they have
    /// only rows: its own file may state their usage.
    fn close_thread(&mut self, thread: &str) {
        self.close_where(|live| {
            live.thread == thread && (thread.is_empty() || live.source == Source::Deltas)
        });
    }

    fn close_where(&mut self, condition: impl Fn(&OpenMessage) -> bool) {
        while let Some(index) = self.live.iter().position(&condition) {
            let message = self.live.remove(index);
            self.close_unfinished(message);
        }
    }

    fn close_unfinished(&mut self, message: OpenMessage) {
        let is_complete = message.source != Source::Deltas;
        self.close(message, is_complete);
    }

    fn close(&mut self, message: OpenMessage, complete: bool) {
        let hash = fingerprint(&message.id);
        self.counted.insert(hash);
        if self.counted.len() > COUNTED_MAX {
            // Any but the last few is as good as the oldest: its rows do not come again.
            self.counted.pop_first();
        }
        self.has_update = true;
        if !complete {
            self.truncated.remember(hash);
        }
        self.interval.add(&message.model, self.message_interval(&message, complete));
    }

    /// Returns the open messages of sub-agents with their usage, which counts from the first row on.
    fn open_rows(&self) -> impl Iterator<Item = (&OpenMessage, UsageInterval)> {
        let rows = self.live.iter().filter(|live| live.source != Source::Deltas && !live.thread.is_empty());
        rows.map(|live| (live, self.message_interval(live, true)))
    }

    /// Returns the usage since the last result.
    fn open_total(&self) -> UsageInterval {
        let mut total = self.interval.total();
        self.open_rows().for_each(|(_, interval)| total.add(interval));
        total
    }

    fn message_interval(&self, message: &OpenMessage, complete: bool) -> UsageInterval {
        let exact = complete && message.source != (Source::Rows { is_final: false });
        let mut usage = message.usage;
        if !exact {
            let output = &mut usage.tokens.output;
            // Rounded down, because a token that was truncated was not sent.
            *output = (*output).max(message.bytes / BYTES_PER_TOKEN);
        }
        let mut counted = if complete {
            let turns = u32::from(message.thread.is_empty());
            Usage { tokens: usage.tokens, messages: 1, turns, ..Usage::default() }
        } else {
            Usage { truncated_tokens: usage.tokens, truncated_messages: 1, ..Usage::default() }
        };
        let price = self.prices.price(&message.model, usage);
        counted.unpriced = price.is_none() && usage.tokens.total() > 0;
        let nano = price.unwrap_or_default();
        let (truncated_input_nano, truncated_output_nano) = if complete {
            (0, 0)
        } else {
            let without_output = BilledTokens { tokens: Tokens { output: 0, ..usage.tokens }, ..usage };
            let input = self.prices.price(&message.model, without_output).unwrap_or(nano);
            (input, nano.saturating_sub(input))
        };
        UsageInterval {
            usage: counted,
            nano,
            truncated_input_nano,
            truncated_output_nano,
            truncated_unpriced: counted.unpriced && !complete,
            guessed: complete && !exact,
        }
    }

    /// Records a result, which covers all usage since the previous one.
    pub(super) fn on_result(&mut self, line: &ResultLine<'_>) {
        self.close_where(|live| live.thread.is_empty());
        let models = reported_models(line);
        let unreported = models.as_ref().map(|models| self.take_unreported(models.total().usage.tokens));
        // Other messages known only from rows are complete, although they have no end event.
        self.close_where(|live| live.source != Source::Deltas);
        self.live.extend(unreported.unwrap_or_default());
        let reported_tokens = match &models {
            Some(models) => Some(models.total().usage.tokens),
            None => exchange_tokens(line),
        };
        let cost = self.reported_cost(line);
        self.total_tokens = sum_of(&line.model_usage);
        self.commit(models, reported_tokens, cost, only_model(&line.model_usage));
    }

    /// Takes the messages of sub-agents that a result does not include because they were incomplete: the youngest, as
    /// far as prompts exceed the reported ones. The next result includes them.
    fn take_unreported(&mut self, reported: Tokens) -> Vec<OpenMessage> {
        let counted = self.open_total().usage.tokens;
        let mut excess = prompt_tokens(counted).saturating_sub(prompt_tokens(reported));
        let mut unreported = Vec::new();
        while let Some(index) = self.live.iter().rposition(|live| {
            let is_row = live.source != Source::Deltas && !live.thread.is_empty();
            is_row && (1..=excess).contains(&prompt_tokens(live.usage.tokens))
        }) {
            let message = self.live.remove(index);
            excess -= prompt_tokens(message.usage.tokens);
            unreported.insert(0, message);
        }
        unreported
    }

    /// Records the usage of the session at the end of the process, which includes that of sub-agents since the last
    /// result. Before the first result, it may include usage of earlier processes.
    pub(super) fn on_usage_report(&mut self, session: &SessionUsage<'_>) {
        let total = session.total_cost_usd.number().and_then(Usd::from_dollars);
        let Some(total) = total.filter(|_| self.total > Usd::ZERO) else { return };
        self.close_where(|live| live.source != Source::Deltas);
        if self.interval.is_empty() {
            return;
        }
        let cost = total.saturating_sub(mem::replace(&mut self.total, total));
        let tokens = sum_of(&session.model_usage).saturating_sub(self.total_tokens);
        self.commit(None, Some(tokens), Some(cost), only_model(&session.model_usage));
    }

    fn commit(
        &mut self,
        models: Option<Models>,
        reported_tokens: Option<Tokens>,
        cost: Option<Usd>,
        only: &str,
    ) {
        let interval = mem::take(&mut self.interval);
        let counted = interval.total();
        let mut total = counted.priced_usage();
        if let Some(cost) = cost {
            let unreported = reported_tokens.map(|reported| counted.unreported_cost(reported));
            let (estimated_cost, unpriced) = unreported.unwrap_or_default();
            total = Usage { reported_cost: cost, estimated_cost, unpriced, ..total };
        }
        if let Some(reported) = reported_tokens {
            total.tokens = reconcile(total.tokens, total.truncated_tokens, reported, counted.guessed);
        }
        let report = ReportedUsage { total, models, only, has_cost: cost.is_some() };
        self.committed.merge(interval.attribute(&report, &self.committed));
        self.has_update = true;
    }

    fn reported_cost(&mut self, line: &ResultLine<'_>) -> Option<Usd> {
        let total = line.total_cost_usd.number().and_then(Usd::from_dollars);
        let before = self.total;
        self.total = total.unwrap_or(before);
        match &line.since_last {
            Some(models) => {
                Usd::from_dollars(models.0.iter().filter_map(|(_, model)| model.cost.number()).sum())
            }
            // Cumulative over the session, so the first value of a resumed session is too high.
            None => total.map(|total| total.saturating_sub(before)),
        }
    }

    pub(super) fn take_update(&mut self) -> Option<Usage> {
        mem::take(&mut self.has_update).then(|| self.usage())
    }

    /// Returns the usage so far, which is the sum over the models.
    pub(super) fn usage(&self) -> Usage {
        self.committed.total().usage.plus(self.open_total().priced_usage())
    }

    /// Returns the usage so far by model, sorted by name.
    pub(super) fn by_model(&self) -> Vec<(String, Usage)> {
        let mut models = self.interval.clone();
        self.open_rows().for_each(|(live, interval)| models.add(&live.model, interval));
        self.committed.parts_with(models)
    }

    fn is_known(&self, id: &str) -> bool {
        self.live.iter().any(|live| live.id == id) || self.counted.contains(&fingerprint(id))
    }

    /// Returns the message of an event: by its id if the event has one, else by its thread.
    fn live_index(&self, id: &str, thread: &str) -> Option<usize> {
        self.live.iter().rposition(|live| {
            live.source == Source::Deltas && if id.is_empty() { live.thread == thread } else { live.id == id }
        })
    }
}

/// Returns the tokens of the exchange, which versions report that do not report those since the previous result.
fn exchange_tokens(line: &ResultLine<'_>) -> Option<Tokens> {
    Some(billed(&line.usage).tokens).filter(|tokens| tokens.total() > 0)
}

/// Returns the reported usage and cost by model, or `None` in versions that do not report them.
fn reported_models(line: &ResultLine<'_>) -> Option<Models> {
    let mut reported = Models::default();
    for (name, model) in &line.since_last.as_ref()?.0 {
        let cost = model.cost.number().and_then(Usd::from_dollars).unwrap_or_default();
        let usage = Usage { tokens: billed(model).tokens, reported_cost: cost, ..Usage::default() };
        reported.add(name.as_str(), UsageInterval { usage, ..UsageInterval::default() });
    }
    Some(reported)
}

/// Returns the only model that the session has used up to this result, or an empty name if there are several.
fn only_model<'a>(models: &'a Map<'_, WireUsage<'_>>) -> &'a str {
    match models.0.as_slice() {
        [(name, _)] => name.as_str(),
        _ => "",
    }
}

fn sum_of(models: &Map<'_, WireUsage<'_>>) -> Tokens {
    models.0.iter().map(|(_, model)| billed(model).tokens).fold(Tokens::default(), |sum, tokens| sum + tokens)
}

/// Combines our count with the agent's report. The agent also makes requests that the stream does not show
/// (compaction, titles), and knows the output of sub-agents. Its sum includes its own estimate for truncated
/// messages, for which we use ours.
fn reconcile(counted: Tokens, truncated: Tokens, reported: Tokens, guessed: bool) -> Tokens {
    let reported = reported.saturating_sub(truncated);
    match (guessed, prompt_tokens(reported) > prompt_tokens(counted)) {
        // Every request was visible, and the deltas are exact.
        (false, false) => counted,
        (true, _) => reported,
        (false, true) => reported.combine(counted, u64::max),
    }
}

pub(super) fn billed(usage: &WireUsage<'_>) -> BilledTokens {
    let count = |raw: Raw<'_>| raw.count().unwrap_or_default();
    BilledTokens {
        tokens: Tokens {
            input: count(usage.input),
            output: count(usage.output),
            cache_read: count(usage.cache_read),
            cache_write: count(usage.cache_write),
        },
        cache_write_hour: count(usage.cache_creation.hour),
    }
}

impl UsageInterval {
    /// Returns its usage with the cost by our table.
    fn priced_usage(&self) -> Usage {
        Usage { estimated_cost: usd_from_nano(self.nano), ..self.usage }
    }

    /// Returns the cost that a report omits, because all that was sent is billed, and whether part of it has no price.
    /// Of a truncated message, the report contains the input and the first token. If the API sent an error in the
    /// stream, it lacks both (2.1.330).
    fn unreported_cost(&self, reported: Tokens) -> (Usd, bool) {
        let Usage { tokens: counted, truncated_tokens: truncated, .. } = self.usage;
        let missing = |nano: u64, tokens: fn(Tokens) -> u64| {
            let (sent, truncated) = (tokens(counted + truncated), tokens(truncated));
            let missing = sent.saturating_sub(tokens(reported)).min(truncated);
            let cost = (u128::from(nano) * u128::from(missing) / u128::from(truncated.max(1))) as u64;
            (cost, missing > 0)
        };
        let input = missing(self.truncated_input_nano, prompt_tokens);
        let output = missing(self.truncated_output_nano, |tokens| tokens.output);
        let unpriced = self.truncated_unpriced && (input.1 || output.1);
        (usd_from_nano(input.0.saturating_add(output.0)), unpriced)
    }

    fn add(&mut self, other: UsageInterval) {
        self.usage = self.usage.plus(other.usage);
        self.nano = self.nano.saturating_add(other.nano);
        self.truncated_input_nano = self.truncated_input_nano.saturating_add(other.truncated_input_nano);
        self.truncated_output_nano = self.truncated_output_nano.saturating_add(other.truncated_output_nano);
        self.truncated_unpriced |= other.truncated_unpriced;
        self.guessed |= other.guessed;
    }
}

impl BilledTokens {
    /// Merges later cumulative numbers of the same message. A later event may omit the input.
    pub(super) fn max_with(self, later: BilledTokens) -> BilledTokens {
        BilledTokens {
            tokens: self.tokens.combine(later.tokens, u64::max),
            cache_write_hour: self.cache_write_hour.max(later.cache_write_hour),
        }
    }
}

#[cfg(test)]
mod tests;

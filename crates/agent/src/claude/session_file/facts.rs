//! Extracts facts from a session file: the rows of the conversation, the end to resume from, open tool calls,
//! and the usage of each message.

use super::{is_conversation, rows};
use crate::Prices;
use crate::claude::session_file::continuity::{Link, RowTree};
use crate::claude::wire::Row;
use crate::claude::{SYNTHETIC, vendor_terms};
use crate::prices::{BilledTokens, usd_from_nano};
use longhaul_core::{Tokens, Usage};
use std::collections::{BTreeMap, BTreeSet};

/// The facts in a session file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// The uuids of the conversation's rows, in file order.
    pub rows: Vec<String>,
    /// The rows that a continuation may descend from. There may be several: each result of parallel calls has
    /// its own row, and the agent continues from that of the last call.
    pub end: BTreeSet<String>,
    /// Ids of tool calls with a result.
    pub answered: BTreeSet<String>,
    /// Ids of tool calls with an unknown outcome, in order: without a result, or with the placeholder for an
    /// interrupted call.
    pub unanswered: Vec<String>,
    /// Usage of each message of the model, in order, including those of sub-agents in this file.
    pub messages: Vec<BilledMessage>,
}

/// The usage of one message of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BilledMessage {
    /// The message.
    pub id: String,
    /// The model.
    pub model: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// Number of cache-write tokens with a lifetime of one hour, which cost more.
    pub cache_write_hour: u64,
}

impl SessionFacts {
    /// Returns the uuid of the last row of the conversation.
    pub fn last(&self) -> Option<&str> {
        self.rows.last().map(String::as_str)
    }

    /// Returns the usage of the messages in the file, priced by the table, for usage that no stream contains.
    /// It is a lower bound: compactions, truncated messages and sub-agents with their own files are missing.
    pub fn usage(&self, prices: &Prices) -> Usage {
        let mut usage = Usage::default();
        let mut nano = 0;
        for message in &self.messages {
            let billed = BilledTokens { tokens: message.tokens, cache_write_hour: message.cache_write_hour };
            usage.tokens += message.tokens;
            usage.messages += 1;
            match prices.price(&message.model, billed) {
                Some(price) => nano += price,
                None => usage.unpriced |= message.tokens.total() > 0,
            }
        }
        usage.estimated_cost = usd_from_nano(nano);
        usage
    }
}

/// Extracts the facts of a session file.
pub fn facts(bytes: &[u8]) -> SessionFacts {
    let mut conversation = RowTree::default();
    let mut messages = Messages::default();
    let mut calls = Vec::new();
    let mut answered = BTreeSet::new();
    for row in rows(bytes) {
        if row.kind.is("assistant") && !row.message.model.is(SYNTHETIC) {
            messages.add(&row);
        }
        if !is_conversation(&row) {
            continue;
        }
        let mut has_results = false;
        for part in row.message.content.parts() {
            match part.kind.as_str() {
                "tool_use" => calls.push(part.id.as_str().to_owned()),
                "tool_result" => {
                    has_results = true;
                    if !vendor_terms::is_interrupted(row.denial_kind.as_str(), row.permission_decision.0) {
                        answered.insert(part.tool_use_id.as_str().to_owned());
                    }
                }
                _ => {}
            }
        }
        conversation.push(Link::new(&row, has_results));
    }
    let mut seen = BTreeSet::new();
    calls.retain(|call| !answered.contains(call) && seen.insert(call.clone()));
    SessionFacts {
        end: conversation.end(),
        rows: conversation.links.into_iter().map(|link| link.uuid).collect(),
        answered,
        unanswered: calls,
        messages: messages.in_order,
    }
}

/// The messages, each once: every block has a row of its own, and all of them state the same final usage.
#[derive(Debug, Default)]
struct Messages {
    in_order: Vec<BilledMessage>,
    indices: BTreeMap<String, usize>,
}

impl Messages {
    fn add(&mut self, row: &Row<'_>) {
        let Some(id) = row.message.id.non_empty() else { return };
        let usage = &row.message.usage;
        let usage = BilledMessage {
            id: id.to_owned(),
            model: row.message.model.as_str().to_owned(),
            tokens: Tokens {
                input: usage.input.or_zero(),
                output: usage.output.or_zero(),
                cache_read: usage.cache_read.or_zero(),
                cache_write: usage.cache_write.or_zero(),
            },
            cache_write_hour: usage.cache_creation.hour.or_zero(),
        };
        match self.indices.get(id).and_then(|&index| self.in_order.get_mut(index)) {
            // Older versions state the usage so far, so the last statement is final.
            Some(existing) => *existing = usage,
            None => {
                self.indices.insert(id.to_owned(), self.in_order.len());
                self.in_order.push(usage);
            }
        }
    }
}

//! What a session file states, as far as a supervisor goes by it: the rows of the conversation, the end
//! that a resume must go on from, open tool calls, and what each message used.

use super::{is_conversation, rows};
use crate::Prices;
use crate::claude::session_file::continuity::{Link, RowTree};
use crate::claude::wire::Row;
use crate::claude::{SYNTHETIC, vendor_terms};
use crate::prices::{BilledTokens, usd_from_nano};
use longhaul_core::{Tokens, Usage};
use std::collections::{BTreeMap, BTreeSet};

/// What a session file states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    /// The rows of the conversation by uuid, in the order of the file.
    pub rows: Vec<String>,
    /// The rows that a continuation may descend from. It is not the last one alone: results of parallel
    /// calls hang on a row each, and the agent goes on from that of the last call.
    pub end: BTreeSet<String>,
    /// Tool calls with a result, by id.
    pub answered: BTreeSet<String>,
    /// Tool calls whose outcome the file does not tell, in their order: there is no result, or only the
    /// one that the agent makes up for an interrupted call.
    pub unanswered: Vec<String>,
    /// What each message of the model used, in their order, sub-agents included where they are in the file.
    pub messages: Vec<BilledMessage>,
}

/// What one message of the model used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BilledMessage {
    /// The message.
    pub id: String,
    /// The model.
    pub model: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// How many of the tokens written to the cache were written for an hour, which costs more.
    pub cache_write_hour: u64,
}

impl SessionFacts {
    /// The uuid of the last row of the conversation.
    pub fn last(&self) -> Option<&str> {
        self.rows.last().map(String::as_str)
    }

    /// What the messages in the file used, priced by the table: for a spend that no stream tells. It is the
    /// least that was used: compactions, cut messages and sub-agents with files of their own are not in it.
    pub fn tally(&self, prices: &Prices) -> Usage {
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

/// Reads a session file.
pub fn facts(bytes: &[u8]) -> SessionFacts {
    let mut conversation = RowTree::default();
    let mut messages = Messages::default();
    let mut calls = Vec::new();
    let mut answered = BTreeSet::new();
    for row in rows(bytes) {
        if row.kind.is("assistant") && !row.message.model.is(SYNTHETIC) {
            messages.take(&row);
        }
        if !is_conversation(&row) {
            continue;
        }
        let mut answers = false;
        for part in row.message.content.parts() {
            match part.kind.as_str() {
                "tool_use" => calls.push(part.id.as_str().to_owned()),
                "tool_result" => {
                    answers = true;
                    if !vendor_terms::is_interrupted(row.denial_kind.as_str(), row.permission_decision.0) {
                        answered.insert(part.tool_use_id.as_str().to_owned());
                    }
                }
                _ => {}
            }
        }
        conversation.push(Link::new(&row, answers));
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

/// Messages once each: every block has a row of its own, and all of them state the same final usage.
#[derive(Debug, Default)]
struct Messages {
    in_order: Vec<BilledMessage>,
    indices: BTreeMap<String, usize>,
}

impl Messages {
    fn take(&mut self, row: &Row<'_>) {
        let Some(id) = row.message.id.stated() else { return };
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
        match self.indices.get(id).and_then(|&place| self.in_order.get_mut(place)) {
            // Older versions state the usage so far; the last statement is the final one.
            Some(known) => *known = usage,
            None => {
                self.indices.insert(id.to_owned(), self.in_order.len());
                self.in_order.push(usage);
            }
        }
    }
}

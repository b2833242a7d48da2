//! The API's own account: every request with its status, every message with what was announced and what was sent.
//! It is what a supervisor's ledger is held against, so it never looks at what the agent reports.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::price::{Nanodollars, Tokens, price};

/// Everything the API has seen and billed so far.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RequestLog {
    /// Every request, in the order of arrival.
    pub requests: Vec<LoggedRequest>,
    /// Every message of the conversation whose `message_start` was sent.
    pub messages: Vec<Billed>,
    /// Messages of side requests (titles and the like), which belong to no turn.
    pub side: Vec<Billed>,
    /// Every fault that struck.
    pub injected: Vec<InjectedFault>,
}

/// One request and how it was answered.
#[derive(Debug, Clone, Serialize)]
pub struct LoggedRequest {
    /// Milliseconds since the API started.
    pub at_ms: u64,
    /// What was asked for.
    pub kind: RequestKind,
    /// The turn the conversation stood at, for a model request.
    pub turn: Option<u32>,
    /// The session the agent named.
    pub session: Option<String>,
    /// What the prompts of the conversation said.
    #[serde(skip)]
    pub prompt: String,
    /// What the agent's program said beside them.
    #[serde(skip)]
    pub notes: String,
    /// The hosts whose pages a search by the API is not to find.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
    /// The status sent; 0 while there is none, and for ever if the connection was dropped before one.
    pub status: u16,
}

/// What a request asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// The next message of the conversation.
    Model,
    /// A message without tools of the agent, such as a title, or a search by the API.
    Side,
    /// A token count.
    Count,
}

/// One message, as billed.
#[derive(Debug, Clone, Serialize)]
pub struct Billed {
    /// The message's id.
    pub id: String,
    /// The `request-id` header it was sent under.
    pub request_id: String,
    /// The session the agent named.
    pub session: Option<String>,
    /// The turn, 0 for a side request.
    pub turn: u32,
    /// The model asked for.
    pub model: String,
    /// Milliseconds since the API started.
    pub at_ms: u64,
    /// Input as announced, and the output that was sent: all of it for a complete message, else what was sent until the
    /// cut.
    pub tokens: Tokens,
    /// The output the whole message has.
    pub output_whole: u64,
    /// Whether the final usage was sent.
    pub complete: bool,
}

/// One fault that struck one request.
#[derive(Debug, Clone, Serialize)]
pub struct InjectedFault {
    /// The fault's name in the scenario file.
    pub fault: String,
    /// More about it, such as the status.
    pub detail: String,
    /// The turn it struck.
    pub turn: u32,
    /// Milliseconds since the API started.
    pub at_ms: u64,
}

impl LoggedRequest {
    pub(super) fn asked(kind: RequestKind, session: Option<String>, at_ms: u64) -> LoggedRequest {
        LoggedRequest {
            at_ms,
            kind,
            turn: None,
            session,
            prompt: String::new(),
            notes: String::new(),
            blocked_domains: Vec::new(),
            status: 0,
        }
    }
}

impl RequestLog {
    /// All messages, of side requests too.
    pub fn billed(&self) -> impl Iterator<Item = &Billed> {
        self.messages.iter().chain(&self.side)
    }

    /// The tokens of all messages, by model.
    #[must_use]
    pub fn tokens_by_model(&self) -> BTreeMap<String, Tokens> {
        let mut tokens = BTreeMap::<String, Tokens>::new();
        for billed in self.billed() {
            *tokens.entry(billed.model.clone()).or_default() += billed.tokens;
        }
        tokens
    }

    /// The tokens of all messages.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.billed().fold(Tokens::default(), |sum, billed| sum + billed.tokens)
    }

    /// What all messages cost; models without a known price cost nothing.
    #[must_use]
    pub fn cost(&self) -> Nanodollars {
        self.billed().filter_map(Billed::cost).fold(Nanodollars(0), |sum, cost| sum + cost)
    }

    /// How many model requests there were.
    #[must_use]
    pub fn model_requests(&self) -> usize {
        self.requests.iter().filter(|request| request.kind == RequestKind::Model).count()
    }
}

impl Billed {
    /// What it cost, if its model has a known price.
    #[must_use]
    pub fn cost(&self) -> Option<Nanodollars> {
        price(&self.model, &self.tokens)
    }
}

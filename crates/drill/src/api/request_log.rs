//! Records the API's request log: every request with its status, and every message with its announced and
//! sent tokens. It serves to verify a supervisor's counts, so it never reads usage that the agent reports.

use crate::price::{Nanodollars, price};
use longhaul_core::Tokens;

/// Everything the API received and billed so far.
#[derive(Debug, Clone, Default)]
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

/// One request and the status of its response.
#[derive(Debug, Clone, Default)]
pub struct LoggedRequest {
    /// Milliseconds since the API started.
    pub at_ms: u64,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The turn of the script, for a model request.
    pub turn: Option<u32>,
    /// The text of the conversation's prompts.
    pub prompt: String,
    /// The notes that the agent added between the prompts.
    pub notes: String,
    /// The hosts that a web search by the API must exclude.
    pub blocked_domains: Vec<String>,
    /// The status sent. It is 0 before a response, and stays 0 if the connection was dropped before one.
    pub status: u16,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestKind {
    /// The next message of the conversation.
    #[default]
    Model,
    /// A message without tools for the agent, such as a title, or a web search by the API.
    Side,
    /// A token count.
    Count,
}

/// One message, as billed.
#[derive(Debug, Clone)]
pub struct Billed {
    /// The message's id.
    pub id: String,
    /// The turn, 0 for a side request.
    pub turn: u32,
    /// The requested model.
    pub model: String,
    /// Milliseconds since the API started.
    pub at_ms: u64,
    /// Announced input and sent output. A truncated message counts the output sent before the cut.
    pub tokens: Tokens,
    /// Output tokens of the whole message.
    pub output_whole: u64,
    /// Whether the final usage was sent.
    pub complete: bool,
}

/// One fault that struck one request.
#[derive(Debug, Clone)]
pub struct InjectedFault {
    /// The fault's name in the scenario file.
    pub fault: String,
    /// Details, such as the status.
    pub detail: String,
    /// Milliseconds since the API started.
    pub at_ms: u64,
}

impl RequestLog {
    /// Returns all messages, including those of side requests.
    pub fn billed(&self) -> impl Iterator<Item = &Billed> {
        self.messages.iter().chain(&self.side)
    }

    /// Returns the tokens of all messages.
    pub fn tokens(&self) -> Tokens {
        self.billed().fold(Tokens::default(), |sum, billed| sum + billed.tokens)
    }

    /// Returns the cost of all messages. Models without a known price count as free.
    pub fn cost(&self) -> Nanodollars {
        self.billed().filter_map(Billed::cost).fold(Nanodollars(0), |sum, cost| sum + cost)
    }

    /// Returns the number of model requests.
    pub fn model_requests(&self) -> usize {
        self.requests.iter().filter(|request| request.kind == RequestKind::Model).count()
    }
}

impl Billed {
    /// Returns the cost of the message, or `None` if its model has no known price.
    pub fn cost(&self) -> Option<Nanodollars> {
        price(&self.model, &self.tokens)
    }
}

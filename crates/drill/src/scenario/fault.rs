//! The faults a scenario can inject, as written in its file. This only names them; `api` acts them out.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::Error as _;

use super::duration::{maybe_seconds, seconds};
use super::duration_range::DurationRange;
use super::signal::Signal;

/// One fault: when it strikes, how often, and what it is.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The turns it may strike.
    pub when: When,
    /// How many requests it strikes.
    pub times: Times,
    /// What happens to them.
    pub kind: FaultKind,
}

/// The turns a fault may strike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum When {
    /// This turn (the first is 1).
    Turn(u32),
    /// One of these turns; the seed draws which.
    OneOf(Vec<u32>),
    /// Whatever turn is asked for.
    #[default]
    Always,
}

/// How many requests a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// This many.
    Count(u32),
    /// Every one, for ever (`times = "always"`).
    Always,
    /// Every one from the first that it strikes until this long after it, whatever turn they are for (`wall_s = 14`).
    Outage(Duration),
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Count(u32),
            Word(String),
        }
        match Written::deserialize(input)? {
            Written::Count(count) => Ok(Self::Count(count)),
            Written::Word(word) if word == "always" => Ok(Self::Always),
            Written::Word(word) => {
                Err(D::Error::custom(format!("times is a number or \"always\", not `{word}`")))
            }
        }
    }
}

/// What a fault does to the request it strikes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultKind {
    /// Answers with this HTTP status.
    Status(Status),
    /// Answers 429 as a subscription whose window is used up, until the reset.
    UsageLimit {
        /// From the first request that is refused until the window opens again.
        #[serde(rename = "reset_s", deserialize_with = "seconds")]
        reset: Duration,
        /// `five_hour` or `seven_day`.
        #[serde(default = "five_hour")]
        window: String,
    },
    /// Drops the request and closes the listener, so that connections are refused; then listens on the same port again.
    Refuse {
        /// How long nobody listens.
        #[serde(rename = "for_s", deserialize_with = "seconds")]
        lasting: Duration,
    },
    /// Resets the connection (RST) at this point of the answer.
    Reset {
        /// Where.
        after: CutPoint,
    },
    /// Ends the connection in the middle of the answer, without the last chunk.
    Cut {
        /// Where.
        after: CutPoint,
    },
    /// Sends only SSE pings, every half second, then drops the connection.
    Pings {
        /// For how long; without it until the client leaves.
        #[serde(default, rename = "for_s", deserialize_with = "maybe_seconds")]
        lasting: Option<Duration>,
    },
    /// Sends nothing more, then drops the connection.
    Silence {
        /// After which part of the answer.
        #[serde(default)]
        after: CutPoint,
        /// For how long; without it until the client leaves.
        #[serde(default, rename = "for_s", deserialize_with = "maybe_seconds")]
        lasting: Option<Duration>,
    },
    /// Sends an SSE `error` event and ends the stream.
    SseError {
        /// The error's type, such as `overloaded_error`.
        error: String,
        /// Its message.
        #[serde(default)]
        message: String,
        /// After which part of the answer.
        #[serde(default)]
        after: CutPoint,
    },
    /// Answers 200 with an HTML page, as a captive portal does.
    Html {},
    /// The model stops with `refusal`.
    Refusal {},
    /// The model says nothing: empty content, `end_turn`.
    Empty {},
    /// The model stops with `pause_turn`.
    PauseTurn {},
    /// The model stops with `max_tokens`.
    MaxTokens {},
    /// Announces that now is the moment to send the agent a signal. The API itself sends none.
    Kill {
        /// The moment.
        at: KillAt,
        /// For `mid-tool`: how long after the answer was delivered; of a span, the seed draws it.
        #[serde(default = "half_a_second", rename = "after_s")]
        after: DurationRange,
        /// Which signal.
        #[serde(default)]
        signal: Signal,
    },
    /// Answers normally, but late.
    Hold {
        /// The delay before the first byte.
        #[serde(rename = "for_s", deserialize_with = "seconds")]
        lasting: Duration,
    },
}

impl FaultKind {
    /// The word the scenario file uses for it, for reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::UsageLimit { .. } => "usage_limit",
            Self::Refuse { .. } => "refuse",
            Self::Reset { .. } => "reset",
            Self::Cut { .. } => "cut",
            Self::Pings { .. } => "pings",
            Self::Silence { .. } => "silence",
            Self::SseError { .. } => "sse_error",
            Self::Html {} => "html",
            Self::Refusal {} => "refusal",
            Self::Empty {} => "empty",
            Self::PauseTurn {} => "pause_turn",
            Self::MaxTokens {} => "max_tokens",
            Self::Kill { .. } => "kill",
            Self::Hold { .. } => "hold",
        }
    }

    /// Whether it can only happen to a streamed answer.
    #[must_use]
    pub fn needs_stream(&self) -> bool {
        match self {
            Self::Reset { .. }
            | Self::Cut { .. }
            | Self::Pings { .. }
            | Self::Silence { .. }
            | Self::SseError { .. }
            | Self::Kill { .. } => true,
            Self::Status(_)
            | Self::UsageLimit { .. }
            | Self::Refuse { .. }
            | Self::Html {}
            | Self::Refusal {}
            | Self::Empty {}
            | Self::PauseTurn {}
            | Self::MaxTokens {}
            | Self::Hold { .. } => false,
        }
    }
}

/// An HTTP status and the error body that goes with it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The status code.
    pub code: u16,
    /// The API's `error.type`; the usual one of the code if absent.
    pub error: Option<String>,
    /// The API's `error.message`; the usual one of the code if absent.
    pub message: Option<String>,
    /// The `retry-after` header, in seconds; within a wall never more than what is left of it.
    pub retry_after: Option<u64>,
    /// The `x-should-retry` header.
    pub should_retry: Option<bool>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// A point in a streamed answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CutPoint {
    /// After the headers, before any event.
    #[default]
    Start,
    /// In the middle of the first text block.
    MidText,
    /// After the first complete text block.
    Text,
    /// In the middle of the first tool's input.
    MidTool,
    /// After the first complete `tool_use` block.
    Tool,
    /// After `message_delta`, so that only `message_stop` is missing.
    Delta,
}

/// The moment at which the agent should get a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KillAt {
    /// The request has arrived and nothing of the answer has been sent.
    BeforeFirstToken,
    /// About half the answer has been sent.
    MidStream,
    /// The answer was delivered and its tools are running.
    MidTool,
}

impl<'de> Deserialize<'de> for Fault {
    /// By hand, because serde cannot both flatten `kind` and refuse a misspelt field.
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(input)?;
        let when = match table.remove("turn") {
            Some(value) => {
                value.try_into().map_err(|_| D::Error::custom("turn is a number or a list of numbers"))?
            }
            None => When::Always,
        };
        let times = match (table.remove("times"), table.remove("wall_s")) {
            (Some(_), Some(_)) => return Err(D::Error::custom("a fault has times or wall_s, not both")),
            (Some(value), None) => value.try_into().map_err(D::Error::custom)?,
            (None, Some(value)) => Times::Outage(seconds(value).map_err(D::Error::custom)?),
            (None, None) => Times::Count(1),
        };
        if table.len() != 1 {
            let names: Vec<_> = table.keys().map(String::as_str).collect();
            return Err(D::Error::custom(format!(
                "a fault has turn, times or wall_s, and exactly one kind; found [{}]",
                names.join(", ")
            )));
        }
        let kind = toml::Value::Table(table).try_into().map_err(D::Error::custom)?;
        Ok(Self { when, times, kind })
    }
}

fn five_hour() -> String {
    "five_hour".to_owned()
}

fn half_a_second() -> DurationRange {
    DurationRange::exactly(Duration::from_millis(500))
}

//! Defines the faults that a scenario can inject, as written in its file. This module never injects them;
//! `api` does.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use super::duration::{range, seconds};

/// One fault: when it strikes, how often, and its kind.
#[derive(Debug, Clone)]
pub struct ScriptedFault {
    pub when: When,
    pub times: Times,
    pub kind: FaultKind,
}

/// The turns a fault may strike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum When {
    /// This turn (the first is 1), or any turn of a reply (0).
    Turn(u32),
    /// One of these turns, drawn by the seed.
    OneOf(Vec<u32>),
    #[default]
    Always,
}

/// How many requests a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// This many requests.
    Count(u32),
    /// Every request (`times = "always"`).
    Always,
    /// Every request of any turn, from the first strike until this long after it (`outage_s = 14`).
    Outage(Duration),
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum RawTimes {
            Count(u32),
            Word(String),
        }
        match RawTimes::deserialize(input)? {
            RawTimes::Count(count) => Ok(Self::Count(count)),
            RawTimes::Word(word) if word == "always" => Ok(Self::Always),
            RawTimes::Word(word) => {
                Err(D::Error::custom(format!("times is a number or \"always\", not `{word}`")))
            }
        }
    }
}

/// The effect of a fault on the request that it strikes.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultKind {
    /// Answers with this HTTP status.
    Status(StatusFault),
    /// Answers 429 like a subscription whose five-hour window is exhausted, until the reset.
    UsageLimit {
        /// Time from the first rejected request until the window resets.
        #[serde(rename = "reset_s", deserialize_with = "seconds")]
        reset: Duration,
    },
    /// Drops the request and closes the listener, so that connections are refused. Then listens on the same
    /// port again.
    Refuse {
        #[serde(rename = "for_s", deserialize_with = "seconds")]
        duration: Duration,
    },
    /// Resets the connection (RST) at this point of the response.
    Reset { after: CutPoint },
    /// Ends the connection in the middle of the response, without the last chunk.
    Cut { after: CutPoint },
    /// Sends only SSE pings, every half second, until the client disconnects.
    Pings {},
    /// Sends no more data until the client disconnects.
    Silence {
        /// The point of the response after which nothing is sent.
        #[serde(default)]
        after: CutPoint,
    },
    /// Answers 200 with an HTML page, as a captive portal does.
    Html {},
    /// The model stops with `refusal`.
    Refusal {},
    /// The model returns no text: empty content, `end_turn`.
    Empty {},
    /// The model stops with `pause_turn`.
    PauseTurn {},
    /// Announces the moment to send the agent a signal. The API itself never sends one.
    Kill {
        at: KillAt,
        /// For `mid-tool`: the delay after the response was delivered. The seed draws it from a range.
        #[serde(default = "half_a_second", rename = "after_s", deserialize_with = "range")]
        after: RangeInclusive<Duration>,
        #[serde(default)]
        signal: Signal,
    },
    /// Answers normally after a delay.
    Hold {
        /// The delay before the first byte.
        #[serde(rename = "for_s", deserialize_with = "seconds")]
        duration: Duration,
    },
}

impl FaultKind {
    /// Returns the fault's name in the scenario file, for reports.
    pub fn name(&self) -> String {
        let file = serde_json::to_value(self).unwrap_or_default();
        file.as_object().and_then(|fault| fault.keys().next().cloned()).unwrap_or_default()
    }

    /// Returns whether the fault applies only to a streamed response.
    pub fn needs_stream(&self) -> bool {
        match self {
            Self::Reset { .. }
            | Self::Cut { .. }
            | Self::Pings {}
            | Self::Silence { .. }
            | Self::Kill { .. } => true,
            Self::Status(_)
            | Self::UsageLimit { .. }
            | Self::Refuse { .. }
            | Self::Html {}
            | Self::Refusal {}
            | Self::Empty {}
            | Self::PauseTurn {}
            | Self::Hold { .. } => false,
        }
    }
}

/// An HTTP status and its error body.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StatusFault {
    pub code: u16,
    /// The API's `error.type`. If absent, the usual one for the code.
    pub error: Option<String>,
    /// The API's `error.message`. If absent, the usual one for the code.
    pub message: Option<String>,
    /// The `retry-after` header, in seconds. During an outage, never more than the remaining time.
    pub retry_after: Option<u64>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// A point in a streamed response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CutPoint {
    /// After the headers, before any event.
    #[default]
    Start,
    /// In the middle of the first text block.
    MidText,
    /// In the middle of the first tool's input.
    MidTool,
    /// After the first complete `tool_use` block.
    Tool,
}

/// The moment at which the agent should receive a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KillAt {
    /// The request arrived and no part of the response was sent.
    BeforeFirstToken,
    /// About half of the response was sent.
    MidStream,
    /// The response was delivered and its tools are running.
    MidTool,
}

/// A signal to the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// SIGKILL: ends only this process; its tools keep running.
    #[default]
    Kill,
    /// SIGSTOP: freezes the process until SIGCONT, which is never sent.
    Stop,
    /// SIGINT, as sent by Ctrl-C.
    Int,
    /// SIGTERM: asks the process to exit.
    Term,
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Kill => Self::KILL,
            Signal::Stop => Self::STOP,
            Signal::Int => Self::INT,
            Signal::Term => Self::TERM,
        }
    }
}

impl<'de> Deserialize<'de> for ScriptedFault {
    /// Implemented by hand, because serde cannot both flatten `kind` and reject a misspelled field.
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(input)?;
        let when = match table.remove("turn") {
            Some(value) => {
                value.try_into().map_err(|_| D::Error::custom("turn is a number or a list of numbers"))?
            }
            None => When::Always,
        };
        let times = match (table.remove("times"), table.remove("outage_s")) {
            (Some(_), Some(_)) => return Err(D::Error::custom("a fault has times or outage_s, not both")),
            (Some(value), None) => value.try_into().map_err(D::Error::custom)?,
            (None, Some(value)) => Times::Outage(seconds(value).map_err(D::Error::custom)?),
            (None, None) => Times::Count(1),
        };
        if table.len() != 1 {
            let names: Vec<_> = table.keys().map(String::as_str).collect();
            return Err(D::Error::custom(format!(
                "a fault has turn, times or outage_s, and exactly one kind; found [{}]",
                names.join(", ")
            )));
        }
        let kind = toml::Value::Table(table).try_into().map_err(D::Error::custom)?;
        Ok(Self { when, times, kind })
    }
}

fn half_a_second() -> RangeInclusive<Duration> {
    Duration::from_millis(500)..=Duration::from_millis(500)
}

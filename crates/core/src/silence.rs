//! What a silence is: how long nothing was heard, what the silent processes were seen to do meanwhile,
//! and how long that excuses it. Pure: whoever looked passes in what was seen.

use crate::{Moment, Span, StopWhy};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How long a look at silent processes may take: one is a second or two, and a machine that swaps takes several
/// times that. Then the silence is judged without it.
pub const EXAMINE_PATIENCE: Span = Span::from_secs(30);

/// A silence is excused until it has lasted so many times the limit, and not for ever: something that turns in
/// circles is busy, too. With the default limit that is an hour, which few builds that nobody hears of outlast.
pub const EXCUSED_TIMES_MAX: u64 = 9;

/// A silence, as it was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Silence {
    /// How long nothing at all was heard.
    pub unheard: Span,
    /// How long no message and no tool call was finished.
    pub unfinished: Span,
    /// Tool calls that were under way.
    #[serde(default)]
    pub tools: u32,
    /// What the run's processes were seen to do; nothing if nobody could look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signs: Option<Signs>,
}

/// What the processes of a run were seen to do, over a second or so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signs {
    /// What the agent's own process did.
    pub agent: Posture,
    /// Network connections that it and the others held open.
    pub connections: u32,
    /// Other processes that carry the run's mark: its tools, hooks, servers and what they started.
    pub others: u32,
    /// How many of them used the processor.
    pub busy: u32,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Posture {
    /// It waits for something.
    Idle,
    /// It uses the processor.
    Busy,
    /// It waits for the kernel, and takes no signal meanwhile: a dead disk or network file system.
    Blocked,
    /// Somebody stopped it, and nobody has let it go on.
    Halted,
}

impl Silence {
    /// Why it ended in this stop, in words for people that say no more than was seen.
    pub fn words(&self, why: StopWhy) -> String {
        let Silence { unheard, unfinished, tools, signs } = self;
        if why == StopWhy::NoProgress {
            return format!(
                "no message and no tool call finished for {unfinished}, last heard {unheard} ago"
            );
        }
        let tools = match tools {
            0 => "no tool running".to_owned(),
            1 => "a tool running".to_owned(),
            count => format!("{count} tools running"),
        };
        let seen = signs
            .map_or_else(|| "its processes could not be looked at".to_owned(), |signs| signs.to_string());
        format!("no bytes for {unheard}, {tools}, {seen}")
    }

    /// Until when the signs excuse it, if they do: something of the run works that its stream does not tell of (a
    /// hook, or what a tool left behind), and the agent itself could hear of its end.
    pub(crate) fn excused_until(&self, at: Moment, limit: Span) -> Option<Moment> {
        let works = self.signs.is_some_and(|signs| signs.busy > 0 && signs.agent != Posture::Halted);
        let longest = Span(limit.0.saturating_mul(EXCUSED_TIMES_MAX));
        let left = longest - self.unheard;
        (works && left > Span::ZERO).then(|| at + limit.at_most(left))
    }
}

impl fmt::Display for Signs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Signs { agent, connections, others, busy } = self;
        match agent {
            // That is what a process does that waits for bytes.
            Posture::Idle => {}
            Posture::Busy => write!(out, "the agent keeps the processor busy, ")?,
            Posture::Blocked => write!(out, "the agent waits for the kernel, ")?,
            Posture::Halted => write!(out, "the agent's process was stopped by somebody, ")?,
        }
        match connections {
            0 => write!(out, "no socket open"),
            1 => write!(out, "socket open"),
            count => write!(out, "{count} sockets open"),
        }?;
        match (others, busy) {
            (0, _) => Ok(()),
            (1, 0) => write!(out, ", its child process idle"),
            (_, 0) => write!(out, ", its {others} child processes idle"),
            (1, _) => write!(out, ", its child process busy"),
            _ => write!(out, ", {busy} of its {others} child processes busy"),
        }
    }
}

#[cfg(test)]
mod tests;

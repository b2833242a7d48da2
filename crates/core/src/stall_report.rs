//! What a silence is: how long nothing was heard, what the silent processes were seen to do meanwhile,
//! and how long that excuses it. Pure: whoever looked passes in what was seen.

use crate::{Moment, Span, StopCause};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How long a look at silent processes may take: one is a second or two, and a machine that swaps takes several
/// times that. Then the silence is judged without it.
pub const PROBE_TIMEOUT: Span = Span::from_secs(30);

/// A silence is excused until it has lasted so many times the limit, and not for ever: something that turns in
/// circles is busy, too. With the default limit that is an hour, which few builds that nobody hears of outlast.
pub const STALL_DEFERRAL_FACTOR_MAX: u64 = 9;

/// A silence, as it was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StallReport {
    /// How long nothing at all was heard.
    pub silent_for: Span,
    /// How long no message and no tool call was finished.
    pub no_progress_for: Span,
    /// Tool calls that were under way.
    #[serde(default)]
    pub open_tools: u32,
    /// What the run's processes were seen to do; nothing if nobody could look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessActivity>,
}

/// What the processes of a run were seen to do, over a second or so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessActivity {
    /// What the agent's own process did.
    pub agent: ProcessState,
    /// Network connections that it and the others held open.
    pub connections: u32,
    /// Other processes that carry the run's mark: its tools, hooks, servers and what they started.
    pub children: u32,
    /// How many of them used the processor.
    pub busy_children: u32,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It waits for something.
    Idle,
    /// It uses the processor.
    Busy,
    /// It waits for the kernel, and takes no signal meanwhile: a dead disk or network file system.
    Blocked,
    /// Somebody stopped it, and nobody has let it go on.
    Frozen,
}

impl StallReport {
    /// Why it ended in this stop, in words for people that say no more than was seen.
    pub fn describe(&self, why: StopCause) -> String {
        let StallReport {
            silent_for: unheard,
            no_progress_for: unfinished,
            open_tools: tools,
            processes: signs,
        } = self;
        if why == StopCause::NoProgress {
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
    pub(crate) fn deferred_until(&self, at: Moment, limit: Span) -> Option<Moment> {
        let works = self
            .processes
            .is_some_and(|signs| signs.busy_children > 0 && signs.agent != ProcessState::Frozen);
        let longest = Span(limit.0.saturating_mul(STALL_DEFERRAL_FACTOR_MAX));
        let left = longest - self.silent_for;
        (works && left > Span::ZERO).then(|| at + limit.at_most(left))
    }
}

impl fmt::Display for ProcessActivity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProcessActivity { agent, connections, children: others, busy_children: busy } = self;
        match agent {
            // That is what a process does that waits for bytes.
            ProcessState::Idle => {}
            ProcessState::Busy => write!(out, "the agent keeps the processor busy, ")?,
            ProcessState::Blocked => write!(out, "the agent waits for the kernel, ")?,
            ProcessState::Frozen => write!(out, "the agent's process was stopped by somebody, ")?,
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

//! Judges a silent agent: describes a stall and decides for how long the stall is deferred, at most nine times
//! the timeout.
//!
//! This module never probes a process. The caller passes in the observations.

use crate::{Moment, Span, StopCause};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Time limit of a process probe. A probe takes a second or two, and several times that on a machine that
/// swaps. After it, the silence is judged without observations.
pub const PROBE_TIMEOUT: Span = Span::from_secs(30);

/// Largest multiple of the stall timeout for which a stall is deferred. It is finite because a process in an
/// endless loop is busy, too. With the default timeout it is an hour, longer than most silent builds.
pub const STALL_DEFERRAL_FACTOR_MAX: u64 = 9;

/// Observations of a silent agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StallReport {
    /// Time without any output.
    pub silent_for: Span,
    /// Time without a completed message or tool call.
    pub no_progress_for: Span,
    /// Number of tool calls that were running.
    #[serde(default)]
    pub open_tools: u32,
    /// Activity of the run's processes. `None` if they could not be probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessActivity>,
}

/// The activity of a run's processes, observed for about a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessActivity {
    /// State of the agent's own process.
    pub agent: ProcessState,
    /// Number of open network connections of all processes.
    pub connections: u32,
    /// Number of other processes with the run marker: tools, hooks, servers and their children.
    pub children: u32,
    /// Number of children that used the CPU.
    pub busy_children: u32,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It waits.
    Idle,
    /// It uses the CPU.
    Busy,
    /// It waits in the kernel and reacts to no signal: a dead disk or network file system.
    Blocked,
    /// It was stopped by SIGSTOP and not continued.
    Frozen,
}

impl StallReport {
    /// Describes the stop for people. The text states only what was observed.
    pub fn describe(&self, cause: StopCause) -> String {
        let StallReport { silent_for, no_progress_for, open_tools, processes } = self;
        if cause == StopCause::NoProgress {
            return format!(
                "no message and no tool call finished for {no_progress_for}, last output {silent_for} ago"
            );
        }
        let tools = match open_tools {
            0 => "no tool running".to_owned(),
            1 => "a tool running".to_owned(),
            count => format!("{count} tools running"),
        };
        let activity = processes.map_or_else(
            || "its processes could not be inspected".to_owned(),
            |activity| activity.to_string(),
        );
        format!("no output for {silent_for}, {tools}, {activity}")
    }

    /// Returns how long the agent was idle before it was stopped for this cause.
    pub(crate) fn idle_for(&self, cause: StopCause) -> Span {
        if cause == StopCause::NoProgress { self.no_progress_for } else { self.silent_for }
    }

    /// Returns until when the observations defer the stall, or `None` if they do not. A stall is deferred
    /// if a child process is busy, such as a hook or a leftover process, and the agent itself is not frozen.
    pub(crate) fn deferred_until(&self, at: Moment, limit: Span) -> Option<Moment> {
        let is_working = self
            .processes
            .is_some_and(|activity| activity.busy_children > 0 && activity.agent != ProcessState::Frozen);
        let longest = Span(limit.0.saturating_mul(STALL_DEFERRAL_FACTOR_MAX));
        let remaining = longest - self.silent_for;
        (is_working && remaining > Span::ZERO).then(|| at + limit.at_most(remaining))
    }
}

impl fmt::Display for ProcessActivity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProcessActivity { agent, connections, children, busy_children } = self;
        match agent {
            // A process that waits for bytes is idle; that is the normal case.
            ProcessState::Idle => {}
            ProcessState::Busy => write!(out, "the agent is using the CPU, ")?,
            ProcessState::Blocked => write!(out, "the agent is blocked in the kernel, ")?,
            ProcessState::Frozen => write!(out, "the agent's process is frozen (SIGSTOP), ")?,
        }
        match connections {
            0 => write!(out, "no connection open"),
            1 => write!(out, "connection open"),
            count => write!(out, "{count} connections open"),
        }?;
        match (children, busy_children) {
            (0, _) => Ok(()),
            (1, 0) => write!(out, ", child process idle"),
            (_, 0) => write!(out, ", {children} child processes idle"),
            (1, _) => write!(out, ", child process busy"),
            _ => write!(out, ", {busy_children} of {children} child processes busy"),
        }
    }
}

#[cfg(test)]
mod tests;

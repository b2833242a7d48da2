//! Descriptions of stalls for people.

use super::{ProcessActivity, ProcessState, StallReport};
use crate::{Span, StopCause};

const REPORT: StallReport = StallReport {
    silent_for: Span::from_mins(7),
    no_progress_for: Span::from_mins(9),
    open_tools: 0,
    processes: None,
};
const ACTIVITY: ProcessActivity =
    ProcessActivity { agent: ProcessState::Idle, connections: 1, children: 0, busy_children: 0 };

#[test]
fn describes_stalls() {
    for (processes, expected) in [
        (ACTIVITY, "connection open"),
        (
            ProcessActivity { connections: 0, children: 1, ..ACTIVITY },
            "no connection open, child process idle",
        ),
        (
            ProcessActivity { connections: 3, children: 2, ..ACTIVITY },
            "3 connections open, 2 child processes idle",
        ),
        (
            ProcessActivity { children: 1, busy_children: 1, ..ACTIVITY },
            "connection open, child process busy",
        ),
        (
            ProcessActivity { children: 5, busy_children: 2, ..ACTIVITY },
            "connection open, 2 of 5 child processes busy",
        ),
        (
            ProcessActivity { agent: ProcessState::Busy, ..ACTIVITY },
            "the agent is using the CPU, connection open",
        ),
        (
            ProcessActivity { agent: ProcessState::Blocked, ..ACTIVITY },
            "the agent is blocked in the kernel, connection open",
        ),
        (
            ProcessActivity { agent: ProcessState::Frozen, ..ACTIVITY },
            "the agent's process is frozen (SIGSTOP), connection open",
        ),
    ] {
        let stall = StallReport { processes: Some(processes), ..REPORT };
        let expected = format!("no output for 7m, no tool running, {expected}");
        assert_eq!(stall.describe(StopCause::Stalled), expected);
    }
    assert_eq!(
        StallReport { open_tools: 2, ..REPORT }.describe(StopCause::Stalled),
        "no output for 7m, 2 tools running, its processes could not be inspected"
    );
    assert_eq!(
        REPORT.describe(StopCause::NoProgress),
        "no message and no tool call finished for 9m, last output 7m ago"
    );
}

//! What people read of a silence.

use super::{ProcessActivity, ProcessState, StallReport};
use crate::{Span, StopCause};

const UNSEEN: StallReport = StallReport {
    silent_for: Span::from_mins(7),
    no_progress_for: Span::from_mins(9),
    open_tools: 0,
    processes: None,
};
const SEEN: ProcessActivity =
    ProcessActivity { agent: ProcessState::Idle, connections: 1, children: 0, busy_children: 0 };

fn check(signs: ProcessActivity, expected: &str) {
    let stall = StallReport { processes: Some(signs), ..UNSEEN };
    assert_eq!(stall.describe(StopCause::Stalled), format!("no bytes for 7m, no tool running, {expected}"));
}

#[test]
fn describe() {
    check(SEEN, "socket open");
    check(ProcessActivity { connections: 0, children: 1, ..SEEN }, "no socket open, its child process idle");
    check(
        ProcessActivity { connections: 3, children: 2, ..SEEN },
        "3 sockets open, its 2 child processes idle",
    );
    check(ProcessActivity { children: 1, busy_children: 1, ..SEEN }, "socket open, its child process busy");
    check(
        ProcessActivity { children: 5, busy_children: 2, ..SEEN },
        "socket open, 2 of its 5 child processes busy",
    );
    check(
        ProcessActivity { agent: ProcessState::Busy, ..SEEN },
        "the agent keeps the processor busy, socket open",
    );
    check(
        ProcessActivity { agent: ProcessState::Blocked, ..SEEN },
        "the agent waits for the kernel, socket open",
    );
    check(
        ProcessActivity { agent: ProcessState::Frozen, ..SEEN },
        "the agent's process was stopped by somebody, socket open",
    );
    assert_eq!(
        StallReport { open_tools: 2, ..UNSEEN }.describe(StopCause::Stalled),
        "no bytes for 7m, 2 tools running, its processes could not be looked at"
    );
    assert_eq!(
        UNSEEN.describe(StopCause::NoProgress),
        "no message and no tool call finished for 9m, last heard 7m ago"
    );
}

//! What people read of a silence.

use super::{Posture, Signs, Silence};
use crate::{Span, StopWhy};

const UNSEEN: Silence =
    Silence { unheard: Span::from_mins(7), unfinished: Span::from_mins(9), tools: 0, signs: None };
const SEEN: Signs = Signs { agent: Posture::Idle, connections: 1, others: 0, busy: 0 };

fn check(signs: Signs, expected: &str) {
    let silence = Silence { signs: Some(signs), ..UNSEEN };
    assert_eq!(silence.words(StopWhy::Stalled), format!("no bytes for 7m, no tool running, {expected}"));
}

#[test]
fn words() {
    check(SEEN, "socket open");
    check(Signs { connections: 0, others: 1, ..SEEN }, "no socket open, its child process idle");
    check(Signs { connections: 3, others: 2, ..SEEN }, "3 sockets open, its 2 child processes idle");
    check(Signs { others: 1, busy: 1, ..SEEN }, "socket open, its child process busy");
    check(Signs { others: 5, busy: 2, ..SEEN }, "socket open, 2 of its 5 child processes busy");
    check(Signs { agent: Posture::Busy, ..SEEN }, "the agent keeps the processor busy, socket open");
    check(Signs { agent: Posture::Blocked, ..SEEN }, "the agent waits for the kernel, socket open");
    check(
        Signs { agent: Posture::Halted, ..SEEN },
        "the agent's process was stopped by somebody, socket open",
    );
    assert_eq!(
        Silence { tools: 2, ..UNSEEN }.words(StopWhy::Stalled),
        "no bytes for 7m, 2 tools running, its processes could not be looked at"
    );
    assert_eq!(
        UNSEEN.words(StopWhy::NoProgress),
        "no message and no tool call finished for 9m, last heard 7m ago"
    );
}

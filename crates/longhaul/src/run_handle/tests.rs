//! A reader that is too slow misses events, and receives a notice of it in their place.

use super::{EVENTS_MAX, RunEvent, RunHandle};
use crate::{Canceller, Observer};
use longhaul_core::RunId;
use std::path::Path;

#[tokio::test]
async fn a_slow_reader_learns_where_events_are_missing() {
    let (mut handle, mut sender, _outcome) = RunHandle::new(Canceller::new().0);
    let mut events = handle.events();
    let mut start = |count: usize| {
        for _ in 0..count {
            sender.on_start(&RunId::from("bcdfgh"), Path::new("/runs/bcdfgh"));
        }
    };
    start(EVENTS_MAX + 10);
    for _ in 1..EVENTS_MAX {
        assert!(matches!(events.next().await, Some(RunEvent::Started { .. })));
    }
    assert!(matches!(events.next().await, Some(RunEvent::Missed)));
    start(1);
    assert!(matches!(events.next().await, Some(RunEvent::Started { .. })), "the reader has caught up");
    drop(sender);
    assert!(events.next().await.is_none());
}

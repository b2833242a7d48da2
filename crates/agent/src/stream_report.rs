//! A whole recorded stream in one line: what it was, what it cost, what it means.

use crate::{Dialect, DoneSignals, Guards};
use longhaul_core::{AgentResult, Exit, Fault, Usage, classify};
use serde::Serialize;
use std::collections::BTreeMap;

/// A decoded stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamReport {
    /// What the stream is called.
    pub name: String,
    /// The session.
    pub session: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How the process ended.
    pub exit: Exit,
    /// What the vendor said at the end.
    pub ending: Option<AgentResult>,
    /// What that means; nothing if the work was finished.
    pub fault: Option<Fault>,
    /// The text of the last result.
    pub result: Option<String>,
    /// What was used.
    pub usage: Usage,
    /// Events by type.
    pub events: BTreeMap<String, u64>,
    /// Events of a type that is not known.
    pub unknown: u64,
    /// Lines that are no event.
    pub bad: u64,
}

/// Decodes a recorded stream.
pub fn stream_report(
    dialect: &dyn Dialect,
    name: &str,
    stream: &[u8],
    exit: Exit,
    stderr: &str,
) -> StreamReport {
    let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
    let mut notices = Vec::new();
    // In pieces, so that the notices of a long stream need not be kept.
    for piece in stream.chunks(1 << 16) {
        decoder.feed(piece, &mut notices);
        notices.clear();
    }
    let evidence = decoder.evidence(exit, stderr);
    let snapshot = decoder.snapshot();
    StreamReport {
        name: name.to_owned(),
        session: snapshot.session.as_ref().map(ToString::to_string),
        model: snapshot.model.clone(),
        exit,
        ending: evidence.result,
        fault: classify(&evidence),
        result: snapshot.result.clone(),
        usage: evidence.usage,
        events: snapshot.events.by_name(),
        unknown: snapshot.unknown_events,
        bad: snapshot.invalid_lines,
    }
}

//! Summarizes a recorded stream on one line: its events, cost and fault.

use crate::{Dialect, DoneSignals, Guards};
use longhaul_core::{AgentResult, Exit, Fault, Usage, classify};
use serde::Serialize;
use std::collections::BTreeMap;

/// The summary of a recorded stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamReport {
    /// The name of the stream.
    pub name: String,
    /// The session id.
    pub session: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How the process exited.
    pub exit: Exit,
    /// The final result, as the vendor reports it.
    pub ending: Option<AgentResult>,
    /// The fault, or `None` if the work was finished.
    pub fault: Option<Fault>,
    /// The text of the last result.
    pub result: Option<String>,
    /// Total usage.
    pub usage: Usage,
    /// Number of events by type.
    pub events: BTreeMap<String, u64>,
    /// Number of events of unknown type.
    pub unknown: u64,
    /// Number of lines that are not events.
    pub bad: u64,
}

/// Decodes a recorded stream and summarizes it.
pub fn stream_report(
    dialect: &dyn Dialect,
    name: &str,
    stream: &[u8],
    exit: Exit,
    stderr: &str,
) -> StreamReport {
    let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
    let mut notices = Vec::new();
    // The stream is decoded in pieces, so that the notices of a long stream do not fill the memory.
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

//! Checks whether a resumed session was continued from its end, or started from scratch or from an older
//! point. Each row names its parent, so the file is a tree. A resume that lost its history is a branch from an
//! older row, or a separate tree.

use super::session_row::{RowKind, SessionRow};
use longhaul_core::Continuity;
use std::collections::{BTreeMap, BTreeSet};

/// The rows of a session at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionHistory {
    /// The ids of the conversation's rows, in file order.
    pub rows: Vec<String>,
    /// The rows that a continuation may descend from. There may be several: each result of parallel calls has
    /// its own row, and the agent continues from that of the last call.
    pub end: BTreeSet<String>,
}

pub(super) fn continuity(before: &SessionHistory, after: &[SessionRow]) -> Continuity {
    let existing: BTreeSet<&str> = before.rows.iter().map(String::as_str).collect();
    let Some(newest) = after.iter().rev().find(|row| !existing.contains(row.uuid.as_str())) else {
        return Continuity::Unchanged;
    };
    let parents: BTreeMap<&str, &str> =
        after.iter().filter_map(|row| Some((row.uuid.as_str(), row.ancestor()?))).collect();
    let mut current = newest.uuid.as_str();
    // A damaged file may contain a cycle, but no path is longer than the number of rows.
    for _ in 0..=after.len() {
        if before.end.contains(current) {
            return Continuity::Continued;
        }
        if existing.contains(current) {
            return Continuity::Branched;
        }
        let Some(parent_row) = parents.get(current) else { break };
        current = parent_row;
    }
    Continuity::Unrelated
}

pub(super) fn history(rows: &[SessionRow]) -> SessionHistory {
    SessionHistory { rows: rows.iter().map(|row| row.uuid.clone()).collect(), end: end(rows) }
}

/// Returns the rows that a continuation may descend from: the last prompt or message, with the agent
/// program's additions. A message includes all its rows and results, because after a kill the agent continues
/// from the call without a result.
fn end(rows: &[SessionRow]) -> BTreeSet<String> {
    let by_uuid: BTreeMap<&str, &SessionRow> = rows.iter().map(|row| (row.uuid.as_str(), row)).collect();
    let mut end = BTreeSet::new();
    let mut current = rows.last();
    let mut message = None;
    // Each step up adds a row, so a cycle ends the loop.
    while let Some(row) = current.filter(|row| end.insert(row.uuid.clone())) {
        match &row.kind {
            RowKind::Message(id) | RowKind::ErrorReport(id) => message = Some(id),
            RowKind::Prompt => {}
            RowKind::ToolResult | RowKind::Addition => {
                current = row.ancestor().and_then(|uuid| by_uuid.get(uuid).copied());
                continue;
            }
        }
        break;
    }
    for row in rows {
        let is_part = match &row.kind {
            RowKind::Message(id) | RowKind::ErrorReport(id) => message == Some(id),
            RowKind::ToolResult | RowKind::Addition => {
                message.is_some() && row.ancestor().is_some_and(|uuid| end.contains(uuid))
            }
            RowKind::Prompt => false,
        };
        if is_part {
            end.insert(row.uuid.clone());
        }
    }
    end
}

//! Checks whether a resumed session was continued from its end, or started from scratch or from an older
//! point. Each row names its parent, so the file is a tree. A resume that lost its history is a branch from an
//! older row, or a separate tree.

use super::{SessionFacts, facts, rows};
use crate::claude::wire::Row;
use longhaul_core::Continuity;
use std::collections::{BTreeMap, BTreeSet};

/// Returns whether the session was continued from its end. Of several branches the last one counts, because
/// the next resume continues it.
pub fn continuity(before: &SessionFacts, after: &[u8]) -> Continuity {
    let existing: BTreeSet<&str> = before.rows.iter().map(String::as_str).collect();
    let later = facts(after);
    let Some(newest) = later.rows.iter().rev().find(|uuid| !existing.contains(uuid.as_str())) else {
        return Continuity::Unchanged;
    };
    let parents: BTreeMap<String, String> = rows(after).filter_map(|row| parent(&row)).collect();
    let mut current = newest.as_str();
    // A damaged file may contain a cycle, but no path is longer than the number of rows.
    for _ in 0..=later.rows.len() {
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

/// Returns a row and its parent. After a compaction the rows start again, with the previous row as logical
/// parent.
fn parent(row: &Row<'_>) -> Option<(String, String)> {
    let parent = row.parent.non_empty().or(row.logical_parent.non_empty())?;
    Some((row.uuid.non_empty()?.to_owned(), parent.to_owned()))
}

/// The rows of a conversation, in file order.
#[derive(Debug, Default)]
pub(super) struct RowTree {
    pub(super) links: Vec<Link>,
}

/// A row and its relation to others.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) uuid: String,
    parent: String,
    kind: LinkKind,
}

#[derive(Debug, PartialEq, Eq)]
enum LinkKind {
    /// A block of this message, of the model or of the agent program.
    Message(String),
    /// The result of a tool call.
    ToolResult,
    /// A prompt.
    Prompt,
    /// An addition of the agent program.
    Addition,
}

impl Link {
    pub(super) fn new(row: &Row<'_>, has_results: bool) -> Link {
        let kind = match row.kind.as_str() {
            "assistant" => LinkKind::Message(row.message.id.as_str().to_owned()),
            "user" if has_results => LinkKind::ToolResult,
            "user" => LinkKind::Prompt,
            _ => LinkKind::Addition,
        };
        let parent = row.parent.non_empty().or(row.logical_parent.non_empty()).unwrap_or_default().to_owned();
        Link { uuid: row.uuid.as_str().to_owned(), parent, kind }
    }
}

impl RowTree {
    pub(super) fn push(&mut self, link: Link) {
        self.links.push(link);
    }

    /// Returns the rows that a continuation may descend from: the last prompt or message, with the agent
    /// program's additions. A message includes all its rows and results, because after a kill the agent
    /// continues from the call without a result.
    pub(super) fn end(&self) -> BTreeSet<String> {
        let indices: BTreeMap<&str, usize> =
            self.links.iter().enumerate().map(|(index, link)| (link.uuid.as_str(), index)).collect();
        let parent_row =
            |link: &Link| indices.get(link.parent.as_str()).and_then(|&index| self.links.get(index));
        let mut end = BTreeSet::new();
        let mut current = self.links.last();
        let mut message = None;
        // Each step up adds a row, so a cycle ends the loop.
        while let Some(link) = current.filter(|link| end.insert(link.uuid.clone())) {
            match &link.kind {
                LinkKind::Message(id) => message = Some(id),
                LinkKind::Prompt => {}
                LinkKind::ToolResult | LinkKind::Addition => {
                    current = parent_row(link);
                    continue;
                }
            }
            break;
        }
        for link in &self.links {
            let is_part = match &link.kind {
                LinkKind::Message(id) => message == Some(id),
                LinkKind::ToolResult | LinkKind::Addition => message.is_some() && end.contains(&link.parent),
                LinkKind::Prompt => false,
            };
            if is_part {
                end.insert(link.uuid.clone());
            }
        }
        end
    }
}

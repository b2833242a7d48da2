//! Whether a session went on from where it ended. Each row names its parent, so that the file is a tree:
//! a resume that lost its history is a branch from an older row, or a tree of its own.

use super::{SessionFacts, facts, rows};
use crate::claude::wire::Row;
use longhaul_core::Continuity;
use std::collections::{BTreeMap, BTreeSet};

/// Whether the session went on from its end. Of several branches the last counts: it is the one that the
/// next resume goes on with.
pub fn continues(before: &SessionFacts, after: &[u8]) -> Continuity {
    let known: BTreeSet<&str> = before.rows.iter().map(String::as_str).collect();
    let later = facts(after);
    let Some(newest) = later.rows.iter().rev().find(|uuid| !known.contains(uuid.as_str())) else {
        return Continuity::Unchanged;
    };
    let parents: BTreeMap<String, String> = rows(after).filter_map(|row| parent(&row)).collect();
    let mut here = newest.as_str();
    // A damaged file may hold a circle; no way up is longer than there are rows.
    for _ in 0..=later.rows.len() {
        if before.end.contains(here) {
            return Continuity::Continued;
        }
        if known.contains(here) {
            return Continuity::Branched;
        }
        let Some(above) = parents.get(here) else { break };
        here = above;
    }
    Continuity::Unrelated
}

/// A row and its parent. After a compaction the rows begin anew; what came before is still named.
fn parent(row: &Row<'_>) -> Option<(String, String)> {
    let parent = row.parent.stated().or(row.logical_parent.stated())?;
    Some((row.uuid.stated()?.to_owned(), parent.to_owned()))
}

/// The rows of a conversation, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct RowTree {
    pub(super) links: Vec<Link>,
}

/// A row and how it is tied to others.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) uuid: String,
    parent: String,
    kind: LinkKind,
}

#[derive(Debug, PartialEq, Eq)]
enum LinkKind {
    /// A block of this message of the model, or of the agent's program.
    Message(String),
    /// A result of a tool.
    Answer,
    /// A prompt.
    Prompt,
    /// What the agent's program added: nobody said it.
    Addition,
}

impl Link {
    pub(super) fn new(row: &Row<'_>, answers: bool) -> Link {
        let kind = match row.kind.as_str() {
            "assistant" => LinkKind::Message(row.message.id.as_str().to_owned()),
            "user" if answers => LinkKind::Answer,
            "user" => LinkKind::Prompt,
            _ => LinkKind::Addition,
        };
        let parent = row.parent.stated().or(row.logical_parent.stated()).unwrap_or_default().to_owned();
        Link { uuid: row.uuid.as_str().to_owned(), parent, kind }
    }
}

impl RowTree {
    pub(super) fn push(&mut self, link: Link) {
        self.links.push(link);
    }

    /// The rows that a continuation may descend from: the last thing said, with what the agent's program
    /// added to it. If that is a message of the model or an answer to one, it is the whole message with
    /// all its answers: after a kill the agent goes on from the call that got none.
    pub(super) fn end(&self) -> BTreeSet<String> {
        let places: BTreeMap<&str, usize> =
            self.links.iter().enumerate().map(|(place, link)| (link.uuid.as_str(), place)).collect();
        let above = |link: &Link| places.get(link.parent.as_str()).and_then(|&place| self.links.get(place));
        let mut end = BTreeSet::new();
        let mut here = self.links.last();
        let mut message = None;
        // Each step up adds a row, so that a circle ends it.
        while let Some(link) = here.filter(|link| end.insert(link.uuid.clone())) {
            match &link.kind {
                LinkKind::Message(id) => message = Some(id),
                LinkKind::Prompt => {}
                LinkKind::Answer | LinkKind::Addition => {
                    here = above(link);
                    continue;
                }
            }
            break;
        }
        for link in &self.links {
            let belongs = match &link.kind {
                LinkKind::Message(id) => message == Some(id),
                LinkKind::Answer | LinkKind::Addition => message.is_some() && end.contains(&link.parent),
                LinkKind::Prompt => false,
            };
            if belongs {
                end.insert(link.uuid.clone());
            }
        }
        end
    }
}

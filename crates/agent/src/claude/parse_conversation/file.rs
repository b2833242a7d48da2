//! Builds a conversation from a file that the user names. The file's content determines whether it is a
//! session file or a stream.

use super::session::{from_session, from_sidechain};
use super::stream::read_stream;
use crate::claude::prompts::{is_longhaul_prompt, is_wrap_up, split_task};
use crate::claude::session_file::{lines, rows};
use crate::claude::wire::{FormatSignature, Row, parse};
use crate::conversation::{Conversation, ConversationEntry, EntryKind, Provenance};

/// Parses a session file, a sub-agent's session file, or the stream of one attempt. `None` if it is none of
/// these.
pub(in crate::claude) fn from_file(bytes: &[u8]) -> Option<Conversation> {
    if !is_session(bytes)? {
        let mut conversation = Conversation::default();
        read_stream(bytes, None, &mut conversation);
        return Some(conversation);
    }
    let mut conversation = from_session(bytes);
    if conversation.entries.is_empty() {
        conversation = from_sidechain(bytes);
    }
    mark_wrap_ups(&mut conversation);
    conversation.entries = conversation.entries.into_iter().flat_map(separate_prompts).collect();
    Some(conversation)
}

/// Returns whether the file is a session file or else a stream, or `None` if it is neither.
fn is_session(bytes: &[u8]) -> Option<bool> {
    let by_signature = lines(bytes).filter_map(parse::<FormatSignature<'_>>).find_map(|signature| {
        let (session_file_id, stream_id) =
            (signature.session_file_id.non_empty(), signature.stream_id.non_empty());
        (session_file_id.is_some() || stream_id.is_some()).then_some(session_file_id.is_some())
    });
    // Files that other programs write in the session format often name no session. An event of a stream
    // always does.
    by_signature.or_else(|| rows(bytes).any(|row| is_message(&row)).then_some(true))
}

fn is_message(row: &Row<'_>) -> bool {
    let is_turn = row.kind.is("user") || row.kind.is("assistant");
    is_turn && !row.message.content.0.is_empty()
}

/// Marks the turns after a wrap-up prompt, until the next prompt.
fn mark_wrap_ups(conversation: &mut Conversation) {
    let mut in_wrap_up = false;
    for entry in &mut conversation.entries {
        if let EntryKind::Prompt(text) = &entry.kind {
            in_wrap_up = is_wrap_up(text);
        } else if in_wrap_up && entry.provenance == Provenance::Work {
            entry.provenance = Provenance::WrapUp;
        }
    }
}

/// Separates Longhaul's prompts from the user's. A handoff prompt becomes its task and a summary of the
/// earlier work.
fn separate_prompts(entry: ConversationEntry) -> Vec<ConversationEntry> {
    let EntryKind::Prompt(text) = &entry.kind else { return vec![entry] };
    if is_longhaul_prompt(text) {
        return vec![ConversationEntry { provenance: Provenance::Longhaul, ..entry }];
    }
    let Some((task, record)) = split_task(text) else { return vec![entry] };
    let with = |kind: EntryKind| ConversationEntry { kind, ..entry.clone() };
    vec![with(EntryKind::Prompt(task.to_owned())), with(EntryKind::Compaction(record.to_owned()))]
}

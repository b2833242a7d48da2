//! A transcript from a file that a person names: it says itself whether it is a session's or a stream.

use super::session::{of_session, of_sidechain};
use super::{AttemptStream, of_attempts};
use crate::claude::prompts::{is_longhaul_prompt, is_wrap_up, split_task};
use crate::claude::session_file::{lines, rows};
use crate::claude::wire::{Row, Sign, parse};
use crate::conversation::{Conversation, ConversationEntry, EntryKind, Provenance};

/// Reads a session file, that of a sub-agent, or the stream of one attempt; nothing if it is none of these.
pub fn of_file(bytes: &[u8]) -> Option<Conversation> {
    if !is_session(bytes)? {
        return Some(of_attempts(
            &[AttemptStream { prompt: None, stream: bytes, wraps_up_after: None }],
            &[],
        ));
    }
    let mut transcript = of_session(bytes, &[]);
    if transcript.entries.is_empty() {
        transcript = of_sidechain(bytes);
    }
    mark_wrap_ups(&mut transcript);
    transcript.entries = transcript.entries.into_iter().flat_map(without_us).collect();
    Some(transcript)
}

/// Whether it is a session's, or else a stream; nothing if it is neither.
fn is_session(bytes: &[u8]) -> Option<bool> {
    let signed = lines(bytes).filter_map(parse::<Sign<'_>>).find_map(|sign| {
        let (of_row, of_event) = (sign.of_row.stated(), sign.of_event.stated());
        (of_row.is_some() || of_event.is_some()).then_some(of_row.is_some())
    });
    // What other programs write in the form of a session often names none. An event of a stream always does.
    signed.or_else(|| rows(bytes).any(|row| is_message(&row)).then_some(true))
}

fn is_message(row: &Row<'_>) -> bool {
    let speaks = row.kind.is("user") || row.kind.is("assistant");
    speaks && !row.message.content.is_missing()
}

/// What followed on the words by which an agent was told to save its work, until it was asked for something else.
fn mark_wrap_ups(transcript: &mut Conversation) {
    let mut wraps_up = false;
    for entry in &mut transcript.entries {
        if let EntryKind::Prompt(text) = &entry.kind {
            wraps_up = is_wrap_up(text);
        } else if wraps_up && entry.provenance == Provenance::Work {
            entry.provenance = Provenance::WrapUp;
        }
    }
}

/// What a run asked of its session on its own behalf is told apart from what a person asked. A seed becomes
/// the task that it began with, and a summary of what was before.
fn without_us(entry: ConversationEntry) -> Vec<ConversationEntry> {
    let EntryKind::Prompt(text) = &entry.kind else { return vec![entry] };
    if is_longhaul_prompt(text) {
        return vec![ConversationEntry { provenance: Provenance::Longhaul, ..entry }];
    }
    let Some((task, account)) = split_task(text) else { return vec![entry] };
    let with = |what: EntryKind| ConversationEntry { kind: what, ..entry.clone() };
    vec![with(EntryKind::Prompt(task.to_owned())), with(EntryKind::Compaction(account.to_owned()))]
}

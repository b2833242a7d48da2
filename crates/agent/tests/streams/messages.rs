//! The transcript does not depend on how the stream is split, and counts each message once.

use super::compaction::compacted;
use super::fixtures::{all, decoder};
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{Exit, Tokens};

// A message that the agent requested again without streaming has no usage, and neither have those of
// sub-agents.
const UNSTREAMED: [&str; 3] =
    ["stream-hang-recovered-nonstreaming", "success-two-models", "success-two-models-by-other-names"];

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<TranscriptMessage> {
    let mut decoder = decoder();
    decoder.collect_messages(1);
    for piece in pieces {
        decoder.feed(piece, &mut Vec::new());
    }
    decoder.evidence(Exit::Unobserved, "");
    decoder.take_messages()
}

/// Returns the decoded messages as JSON, because they cannot be compared.
fn json<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    serde_json::to_string(&decode(pieces)).expect("messages are JSON")
}

#[test]
fn chunking_does_not_affect_transcript() {
    for fixture in all() {
        let whole = json([&fixture.bytes[..]]);
        for size in [1, 7, 4096] {
            let found = json(fixture.bytes.chunks(size));
            assert_eq!(found, whole, "{} in pieces of {size}", fixture.name);
        }
    }
}

#[test]
fn compaction_does_not_affect_transcript() {
    for fixture in all() {
        let mut decoder = decoder();
        decoder.feed(&fixture.bytes, &mut Vec::new());
        decoder.evidence(Exit::Unobserved, "");
        let retained = compacted(&fixture.bytes, decoder.as_ref());
        assert_eq!(json([&retained[..]]), json([&fixture.bytes[..]]), "{}", fixture.name);
    }
}

#[test]
fn counts_each_message_once() {
    for fixture in all() {
        let mut decoder = decoder();
        decoder.feed(&fixture.bytes, &mut Vec::new());
        let counted = decoder.evidence(Exit::Unobserved, "").usage.tokens;
        let messages = decode([&fixture.bytes[..]]);
        let usages = messages.iter().filter_map(|message| message.usage);
        let found = usages.fold(Tokens::default(), |sum, usage| {
            sum + Tokens {
                input: usage.input_tokens,
                output: usage.output_tokens,
                cache_read: usage.cache_read_input_tokens,
                cache_write: usage.cache_creation_input_tokens,
            }
        });
        // Without partial messages, the usage of most messages is missing.
        if !decoder.droppable().is_empty() && !UNSTREAMED.contains(&fixture.name.as_str()) {
            assert_eq!(found, counted, "{}", fixture.name);
        }
        assert!(found.total() <= counted.total(), "{}: {found:?} of {counted:?}", fixture.name);
    }
}

//! The conversation that a stream tells of is the same however the stream is read, and counts each message once.

use super::fixtures::{all, decoder};
use longhaul_agent::dialect_for;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::{Exit, Tokens};

// A message that the agent asked for anew without a stream is told without what it used, and so are those of
// sub-agents.
const UNSTREAMED: [&str; 3] =
    ["stream-hang-recovered-nonstreaming", "success-two-models", "success-two-models-by-other-names"];

fn scribed<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<TranscriptMessage> {
    let mut scribe = dialect_for("claude").expect("the dialect is there").transcript_decoder(1);
    let mut messages = Vec::new();
    for piece in pieces {
        scribe.feed(piece, &mut messages);
    }
    scribe.finish(&mut messages);
    messages
}

fn json(messages: &[TranscriptMessage]) -> String {
    serde_json::to_string(messages).expect("messages are JSON")
}

#[test]
fn any_pieces_tell_the_same() {
    for fixture in all() {
        let whole = json(&scribed([&fixture.bytes[..]]));
        for size in [1, 7, 4096] {
            let told = json(&scribed(fixture.bytes.chunks(size)));
            assert_eq!(told, whole, "{} in pieces of {size}", fixture.name);
        }
    }
}

#[test]
fn a_compacted_stream_tells_the_same() {
    for fixture in all() {
        let mut decoder = decoder();
        decoder.feed(&fixture.bytes, &mut Vec::new());
        decoder.evidence(Exit::Unobserved, "");
        let lines = fixture.bytes.split_inclusive(|byte| *byte == b'\n');
        let kept: Vec<&[u8]> = lines.filter(|line| decoder.keeps_line(line.trim_ascii_end())).collect();
        assert_eq!(json(&scribed(kept)), json(&scribed([&fixture.bytes[..]])), "{}", fixture.name);
    }
}

#[test]
fn each_message_is_counted_once() {
    for fixture in all() {
        let mut decoder = decoder();
        decoder.feed(&fixture.bytes, &mut Vec::new());
        let counted = decoder.evidence(Exit::Unobserved, "").usage.tokens;
        let messages = scribed([&fixture.bytes[..]]);
        let used = messages.iter().filter_map(|message| message.usage);
        let told = used.fold(Tokens::default(), |sum, usage| {
            sum + Tokens {
                input: usage.input_tokens,
                output: usage.output_tokens,
                cache_read: usage.cache_read_input_tokens,
                cache_write: usage.cache_creation_input_tokens,
            }
        });
        // Without partial messages nobody says what most messages used.
        if decoder.is_compactable() && !UNSTREAMED.contains(&fixture.name.as_str()) {
            assert_eq!(told, counted, "{}", fixture.name);
        }
        assert!(told.total() <= counted.total(), "{}: {told:?} of {counted:?}", fixture.name);
    }
}

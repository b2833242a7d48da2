//! A compacted stream decodes to the same result.

use super::fixtures::{all, decoder, find_fixture};
use longhaul_agent::Decoder;

/// Returns the stream that `decoder` read, without the lines that compaction drops.
pub(super) fn compacted(bytes: &[u8], decoder: &dyn Decoder) -> Vec<u8> {
    let (mut kept, mut start) = (Vec::new(), 0);
    for range in decoder.droppable() {
        let (from, to) = (range.start as usize, range.end as usize);
        assert!(start <= from && from < to, "the ranges are in order");
        assert!((from == 0 || bytes[from - 1] == b'\n') && bytes[to - 1] == b'\n', "whole lines");
        kept.extend_from_slice(&bytes[start..from]);
        start = to;
    }
    kept.extend_from_slice(&bytes[start..]);
    kept
}

#[test]
fn compacted_stream_gives_same_evidence() {
    let mut dropped = 0;
    for fixture in all() {
        let mut decoder = decoder();
        decoder.feed(&fixture.bytes, &mut Vec::new());
        let evidence = decoder.evidence(fixture.exit, fixture.stderr);
        let retained = compacted(&fixture.bytes, decoder.as_ref());
        dropped += fixture.bytes.len() - retained.len();
        let decoded = fixture.read([&retained[..]]);
        assert_eq!(decoded.evidence, evidence, "{}", fixture.name);
        assert_eq!(decoded.side_effects, *decoder.side_effects(), "{}", fixture.name);
        assert_eq!(decoded.by_model, decoder.usage_by_model(), "{}", fixture.name);
    }
    assert!(dropped > 20_000, "only {dropped} bytes dropped");
}

#[test]
fn chunking_does_not_affect_compaction() {
    for fixture in all() {
        let droppable = |size: usize| {
            let mut decoder = decoder();
            fixture.bytes.chunks(size).for_each(|chunk| decoder.feed(chunk, &mut Vec::new()));
            decoder.evidence(fixture.exit, fixture.stderr);
            decoder.droppable()
        };
        assert_eq!(droppable(100), droppable(usize::MAX), "{}", fixture.name);
    }
}

#[test]
fn keeps_deltas_of_truncated_messages_and_bad_lines() {
    let fixture = find_fixture("stream-cut-recovered");
    let other_lines = "\ngarbage\nnull\n{\"type\":\"tomorrow\"}\n";
    let bytes = [other_lines.as_bytes(), &fixture.bytes].concat();
    let mut decoder = decoder();
    decoder.feed(&bytes, &mut Vec::new());
    let _ = decoder.evidence(fixture.exit, fixture.stderr);
    let retained = String::from_utf8(compacted(&bytes, decoder.as_ref())).expect("it is UTF-8");
    assert!(retained.starts_with(other_lines));
    assert!(retained.contains("Here is a long partial answer that wil"), "lost with the process otherwise");
    assert!(!retained.contains("\"text\":\"All g\""), "the message repeats it");
}

#[test]
fn keeps_last_line_without_newline() {
    let delta = r#"{"type":"stream_event","event":{"type":"content_block_delta"},"api_message_id":"m"}"#;
    let bytes = format!("{delta}\n{delta}");
    let mut decoder = decoder();
    decoder.feed(bytes.as_bytes(), &mut Vec::new());
    decoder.evidence(longhaul_core::Exit::Unobserved, "");
    assert_eq!(compacted(bytes.as_bytes(), decoder.as_ref()), delta.as_bytes());
}

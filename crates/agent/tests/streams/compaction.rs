//! What compaction keeps says the same as the whole.

use super::fixtures::{all, decoder, named};

fn compacted(bytes: &[u8], keeps: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| keeps(line.trim_ascii_end()))
        .flatten()
        .copied()
        .collect()
}

#[test]
fn the_compacted_stream_proves_the_same() {
    let mut dropped = 0;
    for fixture in all() {
        let mut decoder = decoder();
        decoder.feed(&fixture.bytes, &mut Vec::new());
        let evidence = decoder.evidence(fixture.exit, fixture.stderr);
        let kept = compacted(&fixture.bytes, |line| decoder.keeps_line(line));
        assert!(decoder.is_compactable() || kept.len() == fixture.bytes.len(), "{}", fixture.name);
        dropped += fixture.bytes.len() - kept.len();
        let read = fixture.read([&kept[..]]);
        assert_eq!(read.evidence, evidence, "{}", fixture.name);
        assert_eq!(read.side_effects, *decoder.side_effects(), "{}", fixture.name);
        assert_eq!(read.by_model, decoder.usage_by_model(), "{}", fixture.name);
    }
    assert!(dropped > 20_000, "only {dropped} bytes dropped");
}

#[test]
fn deltas_of_cut_messages_and_bad_lines_are_kept() {
    let fixture = named("stream-cut-recovered");
    let mut decoder = decoder();
    decoder.feed(&fixture.bytes, &mut Vec::new());
    let _ = decoder.evidence(fixture.exit, fixture.stderr);
    let kept = compacted(&fixture.bytes, |line| decoder.keeps_line(line));
    let kept = String::from_utf8(kept).expect("it is UTF-8");
    assert!(kept.contains("Here is a long partial answer that wil"), "lost with the process otherwise");
    assert!(!kept.contains("\"text\":\"All g\""), "the message says it");
    for line in ["", "garbage", "null", "{\"type\":\"tomorrow\"}"] {
        assert!(decoder.keeps_line(line.as_bytes()), "{line}");
    }
}

//! A compacted stream decodes to the same result.

use super::fixtures::{all, decoder, find_fixture};

fn compacted(bytes: &[u8], keeps: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| keeps(line.trim_ascii_end()))
        .flatten()
        .copied()
        .collect()
}

#[test]
fn compacted_stream_gives_same_evidence() {
    let mut dropped = 0;
    for fixture in all() {
        let mut decoder = decoder();
        decoder.feed(&fixture.bytes, &mut Vec::new());
        let evidence = decoder.evidence(fixture.exit, fixture.stderr);
        let retained = compacted(&fixture.bytes, |line| decoder.keeps_line(line));
        assert!(decoder.is_compactable() || retained.len() == fixture.bytes.len(), "{}", fixture.name);
        dropped += fixture.bytes.len() - retained.len();
        let decoded = fixture.read([&retained[..]]);
        assert_eq!(decoded.evidence, evidence, "{}", fixture.name);
        assert_eq!(decoded.side_effects, *decoder.side_effects(), "{}", fixture.name);
        assert_eq!(decoded.by_model, decoder.usage_by_model(), "{}", fixture.name);
    }
    assert!(dropped > 20_000, "only {dropped} bytes dropped");
}

#[test]
fn keeps_deltas_of_truncated_messages_and_bad_lines() {
    let fixture = find_fixture("stream-cut-recovered");
    let mut decoder = decoder();
    decoder.feed(&fixture.bytes, &mut Vec::new());
    let _ = decoder.evidence(fixture.exit, fixture.stderr);
    let retained = compacted(&fixture.bytes, |line| decoder.keeps_line(line));
    let retained = String::from_utf8(retained).expect("it is UTF-8");
    assert!(retained.contains("Here is a long partial answer that wil"), "lost with the process otherwise");
    assert!(!retained.contains("\"text\":\"All g\""), "the message repeats it");
    for line in ["", "garbage", "null", "{\"type\":\"tomorrow\"}"] {
        assert!(decoder.keeps_line(line.as_bytes()), "{line}");
    }
}

//! The decoder counts bad lines, and they change nothing else. It decodes a truncated stream up to its end.

use super::fixtures::{Fixture, all, decoder, find_fixture};
use longhaul_core::{Exit, Fault, classify};

/// Returns lines that are not events.
fn bad_lines() -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = [
        "garbage",
        "null",
        "[]",
        "[{\"type\":\"result\",\"is_error\":true}]",
        "7",
        "\"result\"",
        "{}",
        "{\"type\":null}",
        "{\"type\":{\"type\":\"result\"}}",
        "{\"type\":\"result\",\"is_error\":true",
        "{\"type\":\"result\",\"is_error\":true}}",
        "{\"type\":\"result\" \"is_error\":true}",
        "API Error: 429 rate limit exceeded",
    ]
    .map(|line| line.as_bytes().to_vec())
    .to_vec();
    lines.push(b"{\"type\":\"result\",\"is_error\":true,\"result\":\"\xff\xfe\"}".to_vec());
    lines.push(vec![0; 4096]);
    lines
}

/// Returns lines that are nested too deeply for any stack, and not closed.
fn deep_lines() -> [Vec<u8>; 3] {
    ["[", "{\"type\":", "{\"type\":\"result\",\"usage\":"].map(|part| part.repeat(200_000).into_bytes())
}

/// Events of an unknown type, or of a known type with an unexpected form.
const STRANGE: [&str; 6] = [
    r#"{"type":"tomorrow","is_error":true}"#,
    r#"{"type":"system","subtype":"tomorrow"}"#,
    r#"{"type":"assistant","message":"text","parent_tool_use_id":7}"#,
    r#"{"type":"user","message":{"content":"text"}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":"text"},"api_message_id":[]}"#,
    r#"{"type":"system","subtype":"api_retry"}"#,
];

fn with_inserted(fixture: &Fixture, ending: &[u8], inserted: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in fixture.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        bytes.extend_from_slice(inserted);
        bytes.push(b'\n');
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(ending);
    }
    bytes.extend_from_slice(inserted);
    bytes.push(b'\n');
    bytes
}

#[test]
fn counts_and_ignores_bad_lines() {
    // Bad lines alone are the output of a program that is not an agent.
    let fixtures: Vec<_> = all().into_iter().filter(|fixture| !fixture.bytes.is_empty()).collect();
    let each =
        bad_lines().into_iter().flat_map(|bad| fixtures.iter().map(move |fixture| (bad.clone(), fixture)));
    let few = &fixtures[..3];
    let deep = deep_lines().into_iter().flat_map(|bad| few.iter().map(move |fixture| (bad.clone(), fixture)));
    for (bad, fixture) in each.chain(deep) {
        let bytes = with_inserted(fixture, b"\n", &bad);
        let mut decoder = decoder();
        decoder.feed(&bytes, &mut Vec::new());
        let evidence = decoder.evidence(fixture.exit, fixture.stderr);
        let undamaged = fixture.read([&fixture.bytes[..]]);
        let label = String::from_utf8_lossy(&bad[..bad.len().min(60)]).into_owned();
        assert_eq!(evidence, undamaged.evidence, "{} with {label}", fixture.name);
        assert_eq!(*decoder.side_effects(), undamaged.side_effects, "{} with {label}", fixture.name);
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| *line == bad).count();
        assert_eq!(decoder.snapshot().invalid_lines, lines as u64, "{} with {label}", fixture.name);
    }
}

#[test]
fn strange_events_do_not_affect_fault() {
    for strange in STRANGE {
        for fixture in all() {
            // After the end, a message would start a new exchange.
            let bytes = with_inserted(&fixture, b"\n", strange.as_bytes());
            let end = bytes.len() - strange.len() - 1;
            let (_, evidence) = fixture.decode([&bytes[..end]]);
            fixture.check(&evidence, strange);
        }
    }
}

#[test]
fn accepts_carriage_returns_byte_order_marks_and_blank_lines() {
    for fixture in all() {
        let mut bytes = b"\xef\xbb\xbf".to_vec();
        bytes.extend(with_inserted(&fixture, b"\r\n", b" "));
        let mut decoder = decoder();
        decoder.feed(&bytes, &mut Vec::new());
        let evidence = decoder.evidence(fixture.exit, fixture.stderr);
        assert_eq!(evidence, fixture.decode([&fixture.bytes[..]]).1, "{}", fixture.name);
        assert_eq!(decoder.snapshot().invalid_lines, 0, "{}", fixture.name);
    }
}

#[test]
fn counts_and_drops_line_over_limit() {
    let fixture = find_fixture("success-tools");
    let piece = vec![b'x'; 1 << 20];
    let mut decoder = decoder();
    decoder.feed(b"{\"type\":\"user\",\"text\":\"", &mut Vec::new());
    for _ in 0..70 {
        decoder.feed(&piece, &mut Vec::new());
    }
    decoder.feed(b"\"}\n", &mut Vec::new());
    decoder.feed(&fixture.bytes, &mut Vec::new());
    fixture.check(&decoder.evidence(fixture.exit, ""), "after a huge line");
    assert_eq!(decoder.snapshot().invalid_lines, 1);
}

#[test]
fn decodes_result_with_deep_nesting() {
    let fixture = find_fixture("success-tools");
    let deep = format!("{{\"deep\":{}{},", "{\"a\":[".repeat(3_000), "]}".repeat(3_000));
    let text = String::from_utf8(fixture.bytes.clone()).expect("it is UTF-8");
    let offset = text.rfind("\n{").map_or(0, |offset| offset + 1);
    let bytes = format!("{}{deep}{}", &text[..offset], &text[offset + 1..]);
    let (_, evidence) = fixture.decode([bytes.as_bytes()]);
    assert_eq!(evidence, fixture.decode([&fixture.bytes[..]]).1);
}

#[test]
fn decodes_truncated_stream() {
    for name in ["success-partial-messages", "killed-sigint-mid-tool", "sdk-interrupt-stream-then-wrapup"] {
        let fixture = find_fixture(name);
        let results: Vec<usize> = ends_of_results(&fixture.bytes);
        // Every end within the last two kilobytes, and a sample of the others.
        let near = fixture.bytes.len().saturating_sub(2000);
        let ends = (0..near).step_by(97).chain(near..fixture.bytes.len());
        for end in ends {
            let mut decoder = decoder();
            decoder.feed(&fixture.bytes[..end], &mut Vec::new());
            let evidence = decoder.evidence(Exit::Signal(9), "");
            let expected = results.iter().filter(|result| **result <= end).count();
            assert_eq!(decoder.snapshot().results as usize, expected, "{name} cut at {end}");
            if expected == 0 {
                assert_eq!(classify(&evidence), Some(Fault::Crashed), "{name} cut at {end}");
            }
        }
    }
}

/// Returns the end of each result's line, without its newline.
fn ends_of_results(bytes: &[u8]) -> Vec<usize> {
    let mut end = 0;
    let mut ends = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        end += line.len();
        if String::from_utf8_lossy(line).contains("\"type\":\"result\"") {
            ends.push(end);
        }
        end += 1;
    }
    ends
}

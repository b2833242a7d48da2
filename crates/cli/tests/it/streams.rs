//! Invalid output of an agent: it is counted, stored, and never fatal if a valid result follows.

use crate::call::Output;
use crate::harness::Stage;
use crate::tidy;
use longhaul_agent::claude::Claude;
use longhaul_agent::{AttemptSnapshot, Dialect, DoneSignals, Guards};
use longhaul_core::Exit;
use longhaul_store::RunDir;
use std::fs;
use std::io::Write;

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11","model":"claude-sonnet-4-5","permissionMode":"bypassPermissions"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"end_turn","result":"Done.","total_cost_usd":0.25,"session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11"}"#;
/// The same result with its keys in another order.
const RESULT_REVERSED: &str = r#"{"session_id":"6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11","total_cost_usd":0.25,"result":"Done.","stop_reason":"end_turn","terminal_reason":"completed","is_error":false,"subtype":"success","type":"result"}"#;

/// Performs a run whose scripted agent writes this stream and exits with this code.
fn replay(stage: &Stage, stream: &[u8], exit: &str, args: &[&str]) -> Output {
    let stream = stage.file("stream", stream);
    let call = stage.run(&stage.agent(), &["p"]).args(args);
    call.env("LONGHAUL_SCRIPTED_REPLAY", stream).env("LONGHAUL_SCRIPTED_EXIT", exit).output()
}

/// Decodes the stored stream and returns the snapshot.
fn decode(run: &RunDir, attempt: u32) -> AttemptSnapshot {
    let stream = fs::read(run.attempt(attempt).stream_path()).expect("the stream is stored");
    let mut decoder = Claude::default().decoder(&Guards::default(), &DoneSignals::default());
    decoder.feed(&stream, &mut Vec::new());
    decoder.evidence(Exit::Code(0), "");
    decoder.snapshot().clone()
}

/// Asserts that a stream with these bytes before its result succeeds, and that the bytes are stored and
/// counted as this many invalid lines.
fn check(bytes: &[u8], invalid_lines: u64) {
    let stage = Stage::new();
    let stream = [INIT.as_bytes(), b"\n", bytes, b"\n", RESULT.as_bytes(), b"\n"].concat();
    let envelope = replay(&stage, &stream, "0", &[]).envelope(0);
    assert_eq!((&envelope["result"], &envelope["run"]["attempts"]), (&"Done.".into(), &1.into()));
    let run = stage.only_run();
    assert_eq!(decode(&run, 1).invalid_lines, invalid_lines);
    let stored = fs::read(run.attempt(1).stream_path()).expect("the stream is stored");
    assert!(stored.windows(bytes.len()).any(|part| part == bytes), "the line is not stored");
}

#[test]
fn invalid_lines_are_counted_and_stored() {
    check(b"npm warn: this is not JSON", 1);
    check(b"{\"type\":\"assistant\",\"message\":{\"content\":[", 1);
    check(b"null\n42\n\"text\"\n[]\n{}", 5);
    check(b"{\"type\":\"user\",\"message\":\"\xff\xfe\"}\n\xc3\x28", 2);
    check(&[0; 512], 1);
    check(b"\n\r\n", 0);
}

#[test]
fn deep_nesting_is_decoded() {
    let deep = |levels: usize| {
        format!(r#"{{"type":"user","message":{}{}}}"#, "[".repeat(levels), "]".repeat(levels))
    };
    check(deep(3_000).as_bytes(), 0);
    // Deeper than any stack.
    check(deep(1_000_000).as_bytes(), 0);
    check("[".repeat(3_000).as_bytes(), 1);
}

#[test]
fn carriage_returns_and_byte_order_mark_are_decoded() {
    let stage = Stage::new();
    let stream = format!("\u{feff}{INIT}\r\n{RESULT}\r\n");
    let envelope = replay(&stage, stream.as_bytes(), "0", &[]).envelope(0);
    assert_eq!(envelope["session_id"], "6b5f9a1c-0d2e-4c53-9b1a-1f6f4f4a2c11");
    assert_eq!(decode(&stage.only_run(), 1).invalid_lines, 0);
}

#[test]
fn result_keys_may_have_any_order() {
    for result in [RESULT, RESULT_REVERSED] {
        let stage = Stage::new();
        // The result lacks its last newline. The exit of the process ends the line.
        let envelope = replay(&stage, format!("{INIT}\n{result}").as_bytes(), "0", &[]).envelope(0);
        assert_eq!(
            (&envelope["result"], &envelope["usage"]["total_cost_usd"]),
            (&"Done.".into(), &0.25.into())
        );
    }
}

#[test]
fn line_over_64_mb_is_stored() {
    let stage = Stage::new();
    let path = stage.folder().join("stream");
    let mut file = fs::File::create(&path).expect("the stage is writable");
    writeln!(file, "{INIT}").expect("the disk has space");
    write!(file, r#"{{"type":"user","message":""#).expect("the disk has space");
    for _ in 0..65 {
        file.write_all(&[b'x'; 1 << 20]).expect("the disk has space");
    }
    writeln!(file, "\"}}\n{RESULT}").expect("the disk has space");
    drop(file);
    let call = stage.run(&stage.agent(), &["p"]).env("LONGHAUL_SCRIPTED_REPLAY", &path);
    assert_eq!(call.output().envelope(0)["result"], "Done.");
    let run = stage.only_run();
    let stored_bytes = fs::metadata(run.attempt(1).stream_path()).expect("the stream is stored").len();
    assert!(stored_bytes > 65 << 20, "only {stored_bytes} bytes are stored");
    assert_eq!(decode(&run, 1).invalid_lines, 1);
}

/// Runs a stream without a result twice, under a policy with one retry.
fn check_without_result(stream: &str, exit: &str, fault: &str) {
    let stage = Stage::new();
    let policy = ["--max-retries", "1", "--retry-base", "10ms", "--retry-cap", "10ms"];
    let output = replay(&stage, stream.as_bytes(), exit, &policy);
    let envelope = output.envelope(20);
    let run = &envelope["run"];
    assert_eq!(
        (&run["outcome"], &run["fault"], &run["attempts"]),
        (&"failed".into(), &fault.into(), &2.into())
    );
    let outcome = tidy::replayed_outcome(&stage.only_run());
    assert_eq!((outcome.exit_code(), outcome.fault.map(|fault| fault.as_str())), (20, Some(fault)));
}

#[test]
fn stream_without_a_result_is_retried_and_then_fails() {
    check_without_result(&format!("{INIT}\n"), "1", "crashed");
    // Truncated within the result.
    check_without_result(&format!("{INIT}\n{}", &RESULT[..80]), "1", "crashed");
    // An agent that was interrupted by another process ends like this.
    check_without_result(&format!("{INIT}\n"), "0", "interrupted");
}

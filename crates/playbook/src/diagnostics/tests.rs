use super::{Diagnostics, is_name, line, tenths};
use crate::judge::RequestEvent;
use crate::judging::JudgeQuestion;
use crate::messages::MessagesError;
use expect_test::{Expect, expect};
use jiff::tz::{Offset, TimeZone};
use longhaul_core::{GiveUpReason, Moment, Span};
use std::fs;
use std::path::Path;

fn timeout() -> MessagesError {
    MessagesError::timeout(Span::from_secs(30))
}

#[test]
fn writes_same_lines_as_hooks() {
    let check = |event: RequestEvent<'_>, expected: Expect| {
        expected.assert_eq(&line("extract_keypoints", event).unwrap_or_default());
    };
    let error = &timeout();
    let retrying =
        |request, wait| RequestEvent::Retrying { request, requests_max: 3, error, wait: Span(wait) };
    let given_up = |request, reason| RequestEvent::GivenUp { request, requests_max: 3, error, reason };
    check(
        retrying(1, 2_049),
        expect![
            "Retry attempt 1/3 failed: APITimeoutError: Request timed out after 30s. Next attempt in 2.0s"
        ],
    );
    check(
        retrying(2, 4_950),
        expect![
            "Retry attempt 2/3 failed: APITimeoutError: Request timed out after 30s. Next attempt in 5.0s"
        ],
    );
    check(
        given_up(3, GiveUpReason::RetriesExhausted),
        expect!["All 3 attempts failed for extract_keypoints(). Returning empty result."],
    );
    check(
        given_up(1, GiveUpReason::NotRetryable),
        expect![
            "Non-retryable error in extract_keypoints(): APITimeoutError: Request timed out after 30s. Returning empty result."
        ],
    );
    check(
        given_up(2, GiveUpReason::OutOfTime),
        expect![
            "Out of time after attempt 2/3 in extract_keypoints(): APITimeoutError: Request timed out after 30s. Returning empty result."
        ],
    );
    check(RequestEvent::Answered { request: 1 }, expect![""]);
    check(
        RequestEvent::Answered { request: 2 },
        expect!["extract_keypoints() succeeded on attempt 2 after 1 retries."],
    );
    check(
        RequestEvent::Answered { request: 3 },
        expect!["extract_keypoints() succeeded on attempt 3 after 2 retries."],
    );
}

#[test]
fn rounds_seconds_to_tenths() {
    for (millis, expected) in [(0, "0.0"), (1_500, "1.5"), (1_549, "1.5"), (1_550, "1.6"), (12_960, "13.0")] {
        assert_eq!(tenths(Span(millis)), expected);
    }
}

/// Returns the names of all files and the content of the first.
fn texts(project: &Path) -> (Vec<String>, String) {
    let dir = project.join(".claude/diagnostic");
    let Ok(entries) = fs::read_dir(&dir) else { return (Vec::new(), String::new()) };
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("it can be listed"))).collect();
    names.sort();
    let first = fs::read_to_string(dir.join(&names[0])).expect("it is text");
    (names, first)
}

#[test]
fn writes_only_if_project_enables_diagnostics() {
    let project = tempfile::tempdir().expect("there is a temporary folder");
    let zone = TimeZone::fixed(Offset::constant(2));
    let diagnostics = Diagnostics::in_project(project.path(), zone);
    // 2026-11-23T00:30:00Z
    let at = Moment(1_795_393_800_000);
    let given_up = RequestEvent::GivenUp {
        request: 3,
        requests_max: 3,
        error: &timeout(),
        reason: GiveUpReason::RetriesExhausted,
    };
    let write_all = || {
        diagnostics.write_request(at, JudgeQuestion::Keypoints, given_up);
        diagnostics.write_request(at, JudgeQuestion::Keypoints, RequestEvent::Answered { request: 1 });
        diagnostics.write_request(at, JudgeQuestion::Reflector, given_up);
        diagnostics.write_request(at, JudgeQuestion::Curator, given_up);
        diagnostics.write_answer(at, JudgeQuestion::Keypoints, None, "What?", "That.");
        diagnostics.write(at, "../out", "elsewhere");
    };
    write_all();
    fs::create_dir(project.path().join(".claude")).expect("the folder can be written");
    write_all();
    assert_eq!(texts(project.path()).0, [""; 0]);
    fs::write(project.path().join(".claude/diagnostic_mode"), "").expect("the folder can be written");
    write_all();
    diagnostics.write_answer(at, JudgeQuestion::Keypoints, Some("reflection"), "What else?", "This.");
    let (names, first) = texts(project.path());
    assert_eq!(
        names,
        [
            "20261123_023000_reflection.txt",
            // A second file of the same second gets its own name.
            "20261123_023000_reflection_2.txt",
            "20261123_023000_retry_curator.txt",
            "20261123_023000_retry_extract_keypoints.txt",
            "20261123_023000_retry_reflector.txt",
        ]
    );
    expect![[r#"
        # PROMPT
        What?

        ================================================================================

        # RESPONSE
        That.
    "#]]
    .assert_eq(&first);
}

#[test]
fn validates_names() {
    for name in ["reflection", "my notes", "v1.2-final", "Überblick"] {
        assert!(is_name(name), "{name}");
    }
    for name in ["", " ", "a/b", "../a", "a\nb", &"x".repeat(101)] {
        assert!(!is_name(name), "{name}");
    }
}

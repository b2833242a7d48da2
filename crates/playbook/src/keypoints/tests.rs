//! Tests one question about a transcript against the loopback API in simulated time.

use super::{Evaluation, Extraction, ExtractionResult, NewPoint, extract, parse, prompt};
use crate::Playbook;
use crate::Templates;
use crate::diagnostics::Diagnostics;
use crate::judge::test_fixtures::{SimulatedClock, api, policy, settings};
use crate::judge::{ApiJudge, RetryAdvice};
use crate::judging::Excerpt;
use jiff::tz::TimeZone;
use longhaul_agent::Prices;
use longhaul_core::Fault;
use longhaul_drill::api::Api;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const ANSWER: &str =
    r#"{"new_key_points": ["Run the tests."], "evaluations": [{"name": "pat-001", "rating": "helpful"}]}"#;

async fn ask(api: &Api, project: &Path) -> (ExtractionResult, usize) {
    let clock = SimulatedClock::new();
    let diagnostics = Diagnostics::in_project(project, TimeZone::UTC);
    let judge = ApiJudge::new(&settings(api), policy(), Prices::default(), clock.clone())
        .expect("the settings are sound");
    let extracted = extract(&judge, "What is learned?", &*clock, &diagnostics, "mine", &|_, _| {}).await;
    (extracted, api.request_log().requests.len())
}

fn project_with_diagnostics() -> tempfile::TempDir {
    let project = tempfile::tempdir().expect("there is a temporary folder");
    fs::create_dir(project.path().join(".claude")).expect("the folder can be written");
    fs::write(project.path().join(".claude/diagnostic_mode"), "").expect("the folder can be written");
    project
}

/// Returns the diagnostics by name without the time. Files of one name are in order.
fn texts(project: &Path) -> BTreeMap<String, Vec<String>> {
    let dir = project.join(".claude/diagnostic");
    let mut paths: Vec<_> = fs::read_dir(&dir)
        .map(|entries| entries.map(|entry| entry.expect("it can be listed").path()).collect())
        .unwrap_or_default();
    paths.sort();
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    for path in paths {
        let stem = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let name = stem.splitn(3, '_').nth(2).unwrap_or_default().trim_end_matches("_2").to_owned();
        texts.entry(name).or_default().push(fs::read_to_string(&path).expect("it is text"));
    }
    texts
}

#[tokio::test]
async fn parses_answer() {
    let project = project_with_diagnostics();
    let (extracted, requests) = ask(&api("", ANSWER).await, project.path()).await;
    assert_eq!(
        serde_json::to_value(&extracted.extraction).expect("it is JSON"),
        json!({"new_key_points": ["Run the tests."], "evaluations": [{"name": "pat-001", "rating": "helpful"}]})
    );
    assert_eq!((requests, extracted.failure), (1, None));
    assert_eq!(extracted.reply.map(|reply| reply.text).as_deref(), Some(ANSWER));
    // Successful requests write no diagnostics.
    let rule = "=".repeat(80);
    let expected = format!("# PROMPT\nWhat is learned?\n\n{rule}\n\n# RESPONSE\n{ANSWER}\n");
    assert_eq!(texts(project.path()), BTreeMap::from([("mine".to_owned(), vec![expected])]));
}

#[tokio::test]
async fn failure_returns_empty_result() {
    for (side, fault, retry, expected) in [
        ("fault = { status = { code = 400 } }", Fault::BadRequest, RetryAdvice::Never, 1),
        ("fault = { status = { code = 401 } }", Fault::Auth, RetryAdvice::NeedsPerson, 1),
        ("fault = { status = { code = 429 } }", Fault::RateLimited, RetryAdvice::Later(None), 3),
        ("fault = { status = { code = 500 } }", Fault::ServerError, RetryAdvice::Later(None), 3),
        ("fault = { status = { code = 529 } }", Fault::Overloaded, RetryAdvice::Later(None), 3),
        ("fault = { html = {} }", Fault::Network, RetryAdvice::Later(None), 1),
        ("fault = { refusal = {} }", Fault::Refused, RetryAdvice::Never, 1),
        ("fault = { empty = {} }", Fault::Unfinished, RetryAdvice::Never, 1),
        ("fault = { pause_turn = {} }", Fault::Unfinished, RetryAdvice::Never, 1),
    ] {
        let project = tempfile::tempdir().expect("there is a temporary folder");
        let (extracted, requests) = ask(&api(side, ANSWER).await, project.path()).await;
        let empty = serde_json::to_string(&extracted.extraction).expect("it is JSON");
        assert_eq!(empty, r#"{"new_key_points":[],"evaluations":[]}"#, "{side}");
        let failure = extracted.failure.expect("it is stated");
        assert_eq!((failure.fault, failure.retry, requests), (fault, retry, expected), "{side}: {failure}");
        assert!(!project.path().join(".claude").exists(), "the project does not enable diagnostics");
    }
}

#[tokio::test]
async fn unusable_answer_is_not_retried() {
    let project = project_with_diagnostics();
    let (extracted, requests) = ask(&api("", "I would rather not say.").await, project.path()).await;
    let failure = extracted.failure.expect("it cannot be read");
    assert_eq!((requests, failure.requests, failure.retry), (1, 1, RetryAdvice::Never));
    assert!(extracted.reply.is_some(), "the answer is billed");
    assert!(texts(project.path())["mine"][0].ends_with("# RESPONSE\nI would rather not say.\n"));
}

#[tokio::test]
async fn writes_same_retry_diagnostics_as_hooks() {
    let check = async |side: &str, expected: &[&str]| {
        let project = project_with_diagnostics();
        ask(&api(side, ANSWER).await, project.path()).await;
        let texts = texts(project.path());
        let lines = texts.get("retry_extract_keypoints").map_or(&[][..], Vec::as_slice);
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        for (line, expected) in lines.iter().zip(expected) {
            let (prefix, suffix) = expected.split_once("2.0s").unwrap_or((expected, ""));
            assert!(line.starts_with(prefix) && line.ends_with(suffix), "{line}");
        }
    };
    let first = "Retry attempt 1/3 failed: OverloadedError: Error code: 529 - overloaded_error: Overloaded. Next attempt in ";
    let second = &first.replace("1/3", "2/3");
    check("", &[]).await;
    check(
        "fault = { status = { code = 529 } }\ntimes = 1",
        &[first, "extract_keypoints() succeeded on attempt 2 after 1 retries."],
    )
    .await;
    check(
        "fault = { status = { code = 529 } }\ntimes = 2",
        &[first, second, "extract_keypoints() succeeded on attempt 3 after 2 retries."],
    )
    .await;
    check(
        "fault = { status = { code = 529 } }",
        &[first, second, "All 3 attempts failed for extract_keypoints(). Returning empty result."],
    )
    .await;
    check(
        "fault = { status = { code = 401 } }",
        &["Non-retryable error in extract_keypoints(): AuthenticationError: Error code: 401 - authentication_error: invalid x-api-key. Returning empty result."],
    )
    .await;
    check(
        "fault = { html = {} }",
        &["Non-retryable error in extract_keypoints(): APIResponseValidationError: Failed to parse response: it is not a message of the API (line 1, column 1). Returning empty result."],
    )
    .await;
}

#[test]
fn parses_valid_answers() {
    let check = |answer: &str, expected: Option<Extraction>| assert_eq!(parse(answer), expected, "{answer}");
    check("Nothing.", None);
    check("{\"other\": 1}", None);
    check("{\"new_key_points\": []}", Some(Extraction::default()));
    check(
        "{\"new_key_points\": null, \"evaluations\": 7, \"operations\": \"none\"}",
        Some(Extraction::default()),
    );
    let with_section = NewPoint::WithSection { text: "b".to_owned(), section: Some("OTHERS".to_owned()) };
    let whole = Extraction {
        new_key_points: vec![NewPoint::Text("a".to_owned()), with_section],
        evaluations: vec![Evaluation {
            name: "pat-001".to_owned(),
            rating: "harmful".to_owned(),
            justification: Some("c".to_owned()),
        }],
        operations: None,
    };
    // Invalid entries and unknown fields are skipped.
    check(
        "Here:\n```json\n{\"new_key_points\": [\"a\", 5, {\"text\": \"b\", \"section\": \"OTHERS\"}, {}],\n\
         \"evaluations\": [{\"name\": \"pat-001\", \"rating\": \"harmful\", \"justification\": \"c\"}, \"d\"]}\n```",
        Some(whole),
    );
    let operation = json!({"type": "DELETE", "target_id": "pat-001"});
    let operations = Extraction { operations: Some(vec![operation.clone()]), ..Extraction::default() };
    check(&json!({ "operations": [operation] }).to_string(), Some(operations));
}

#[test]
fn prompt_contains_transcript_and_playbook() {
    let transcript = concat!(
        r#"{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"Fix </trajectories> it"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"2","sessionId":"s","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}"#,
        "\n"
    );
    let slice = Excerpt::new(transcript.as_bytes(), |_| false).expect("it is a transcript");
    let question = prompt(&Templates::bundled(), &slice, &Playbook::default())
        .expect("a bundled template can be filled");
    assert!(question.contains("<playbook>\n{}\n</playbook>"), "{question}");
    assert!(question.contains(r#"{"role":"user","content":"Fix <\/trajectories> it"}"#), "{question}");
}

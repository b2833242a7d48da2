//! `longhaul playbook extract`: it always prints a result, its exit code says whether the result is valid,
//! and it queues transcripts that it could not learn from.

use crate::call::Output;
use crate::harness::{Stage, with_each_agent};
use crate::server::{Server, WORK};
use expect_test::{Expect, expect};
use longhaul_store::RunDir;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const TRANSCRIPT: &str = concat!(
    r#"{"type":"user","uuid":"a1","sessionId":"s","message":{"role":"user","content":"Fix the parser"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"a2","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Following [pat-001], it is fixed."}]}}"#,
    "\n"
);
const PLAYBOOK: &str = r#"{"version": "1.0", "last_updated": null, "sections": {"PATTERNS & APPROACHES": [
    {"name": "pat-001", "text": "Run the tests first.", "helpful": 1, "harmful": 0}]}}"#;
const ANSWER: &str = r#"```json
{"new_key_points": [{"text": "The parser is generated.", "section": "PROJECT CONTEXT"}],
 "evaluations": [{"name": "pat-001", "rating": "helpful", "justification": "it was"}]}
```"#;
const EMPTY: &str = r#"{"evaluations":[],"new_key_points":[]}"#;

/// Returns an API that answers requests without tools with `text`, with the faults in `side`.
fn answering_server(text: &str, side: &str) -> Server {
    Server::start(&format!("{WORK}[side]\ntext = {text:?}\n{side}\n"))
}

/// Returns a stage with a transcript and a playbook, as in a project.
fn stage() -> (Stage, PathBuf) {
    let stage = Stage::new();
    fs::create_dir(stage.folder().join(".claude")).expect("the stage is writable");
    stage.file(".claude/playbook.json", PLAYBOOK);
    let transcript = stage.file("session.jsonl", TRANSCRIPT);
    (stage, transcript)
}

fn extract(stage: &Stage, server: &Server, args: &[&str]) -> Output {
    stage.longhaul(["playbook", "extract"]).args(args).against(server).output()
}

fn result(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).expect("there is always a result")
}

/// Returns the queue: each transcript, its project, and the API that it may be sent to.
fn queued(stage: &Stage) -> Vec<(PathBuf, PathBuf, String)> {
    let database = stage.home().join("playbook/learning.sqlite3");
    if !database.exists() {
        return Vec::new();
    }
    let database = Connection::open(database).expect("opening succeeds");
    let sql = "SELECT transcript, project, destination FROM queue WHERE event = 'manual' ORDER BY id";
    let mut rows = database.prepare(sql).expect("there is a queue");
    let rows = rows.query_map([], |row| {
        let path = |column| row.get::<_, String>(column).map(PathBuf::from);
        Ok((path(0)?, path(1)?, row.get(2)?))
    });
    rows.expect("reading succeeds").map(|row| row.expect("reading succeeds")).collect()
}

/// Returns the cost of each request in millionths of a dollar, and its fault if there was no answer.
fn recorded_requests(stage: &Stage) -> Vec<(Option<u64>, Option<String>)> {
    let database =
        Connection::open(stage.home().join("playbook/learning.sqlite3")).expect("opening succeeds");
    let sql =
        "SELECT cost, fault FROM judge_requests WHERE question = 'keypoints' AND judge = 'api' ORDER BY id";
    let mut rows = database.prepare(sql).expect("the table of requests exists");
    let rows =
        rows.query_map([], |row| Ok((row.get::<_, Option<i64>>(0)?.map(i64::cast_unsigned), row.get(1)?)));
    rows.expect("reading succeeds").map(|row| row.expect("reading succeeds")).collect()
}

/// Returns stderr without the parts that vary between runs.
fn stable_stderr(stage: &Stage, server: &Server, output: &Output) -> String {
    let host = server.api.url();
    let port = host.rsplit(':').next().expect("an address has a port");
    let text = output.stderr.replace(&stage.folder().display().to_string(), "DIR");
    text.replace(&format!("127.0.0.1:{port}"), "HOST")
}

#[test]
fn transcript_yields_key_points() {
    let (stage, transcript) = stage();
    let server = answering_server(ANSWER, "");
    let output = extract(&stage, &server, &[transcript.to_str().expect("a plain name")]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    let learned = json!({
        "new_key_points": [{"text": "The parser is generated.", "section": "PROJECT CONTEXT"}],
        "evaluations": [{"name": "pat-001", "rating": "helpful", "justification": "it was"}],
    });
    assert_eq!(result(&output), learned);
    let request_log = server.api.request_log();
    let [request] = request_log.requests.as_slice() else { panic!("{:?}", request_log.requests) };
    for fragment in [
        r#"{"role":"user","content":"Fix the parser"}"#,
        r#"{"role":"assistant","content":"Following [pat-001], it is fixed."}"#,
        r#""pat-001": "Run the tests first.""#,
    ] {
        assert!(request.prompt.contains(fragment), "no {fragment} in {}", request.prompt);
    }
    assert_eq!(request_log.side[0].model, "claude-sonnet-4-5-20250929");
    assert_eq!(queued(&stage), [], "no transcript is queued");
    let cost = request_log.side[0].cost().expect("the model has a price").dollars();
    assert_eq!(recorded_requests(&stage), [(Some((cost * 1e6).round() as u64), None)]);
    assert!(!stage.folder().join(".claude/diagnostic").exists(), "diagnostics are off");
    let output = extract(&stage, &server, &["session.jsonl", "--output-format", "text"]);
    expect![[r#"
        new: The parser is generated. (PROJECT CONTEXT)
        pat-001: helpful (it was)
    "#]]
    .assert_eq(&output.stdout);
    // Another project and model, and no playbook yet.
    let output = stage
        .longhaul(["playbook", "extract", "session.jsonl"])
        .against(&server)
        .env("CLAUDE_PROJECT_DIR", stage.work())
        .env("AGENTIC_CONTEXT_MODEL", "claude-haiku-4-5")
        .output();
    assert_eq!((output.code, result(&output)), (0, learned));
    let request_log = server.api.request_log();
    assert_eq!(request_log.side[2].model, "claude-haiku-4-5");
    assert!(
        request_log.requests[2].prompt.contains("<playbook>\n{}\n</playbook>"),
        "{:?}",
        request_log.requests[2]
    );
}

/// This test takes as long as the real waits.
#[test]
fn overloaded_api_receives_three_requests() {
    let (stage, transcript) = stage();
    let server = answering_server(ANSWER, "fault = { status = { code = 529 } }");
    stage.file(".claude/diagnostic_mode", "");
    let output = extract(&stage, &server, &["session.jsonl"]);
    assert_eq!((output.code, result(&output).to_string().as_str()), (75, EMPTY), "{output:?}");
    assert_eq!(server.api.request_log().requests.len(), 3, "each attempt sends one request");
    assert!((4.5..30.0).contains(&output.duration.as_secs_f64()), "{:?}", output.duration);
    for fragment in ["529", "overloaded_error", "(1 of 3)", "(2 of 3)", "gave up after 3 requests", "hint: "]
    {
        assert!(output.stderr.contains(fragment), "no {fragment} in {}", output.stderr);
    }
    assert_eq!(queued(&stage), [(transcript, stage.folder().to_owned(), server.api.url())]);
    assert!(output.stderr.contains("queued: `longhaul playbook learn`"), "{}", output.stderr);
    assert_eq!(recorded_requests(&stage), [(None, Some("overloaded".to_owned()))]);
    let texts = texts(stage.folder(), "_retry_extract_keypoints");
    assert!(texts[0].starts_with("Retry attempt 1/3 failed: OverloadedError: Error code: 529"), "{texts:?}");
    assert!(texts[1].starts_with("Retry attempt 2/3 failed: OverloadedError: Error code: 529"), "{texts:?}");
    assert_eq!(texts[2..], ["All 3 attempts failed for extract_keypoints(). Returning empty result."]);
}

/// Returns the project's diagnostic texts with this name, in order.
fn texts(project: &Path, name: &str) -> Vec<String> {
    let listed = fs::read_dir(project.join(".claude/diagnostic")).expect("there are texts");
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.expect("listing succeeds").path()).collect();
    paths.retain(|path| path.to_str().is_some_and(|path| path.contains(name)));
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("the text is UTF-8")).collect()
}

#[test]
fn diagnostics_describe_an_answer_after_a_retry() {
    let (stage, _) = stage();
    let server = answering_server(ANSWER, "fault = { status = { code = 429, retry_after = 1 } }\ntimes = 1");
    stage.file(".claude/diagnostic_mode", "");
    let output = extract(&stage, &server, &["session.jsonl", "--diagnostic-name", "my_notes", "--quiet"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    assert_eq!(server.api.request_log().requests.len(), 2);
    let retried = texts(stage.folder(), "_retry_extract_keypoints");
    assert!(
        retried[0].starts_with("Retry attempt 1/3 failed: RateLimitError: Error code: 429"),
        "{retried:?}"
    );
    assert_eq!(retried[1..], ["extract_keypoints() succeeded on attempt 2 after 1 retries."]);
    let answered = texts(stage.folder(), "_my_notes");
    assert!(answered[0].starts_with("# PROMPT\nYou read the record"), "{answered:?}");
    assert!(answered[0].ends_with(&format!("\n\n# RESPONSE\n{ANSWER}\n")), "{answered:?}");
}

/// Asserts that an API with these faults causes one request, the empty result, this exit code and this error,
/// and that the transcript is queued.
fn check_failure(side: &str, args: &[&str], code: i32, expected: Expect) {
    let (stage, transcript) = stage();
    let server = answering_server("I would rather not say.", side);
    let output = extract(&stage, &server, &[&["session.jsonl"], args].concat());
    assert_eq!((output.code, result(&output).to_string().as_str()), (code, EMPTY), "{output:?}");
    assert_eq!(server.api.request_log().requests.len(), 1, "{side}");
    expected.assert_eq(&stable_stderr(&stage, &server, &output));
    assert_eq!(queued(&stage), [(transcript, stage.folder().to_owned(), server.api.url())], "{side}");
}

#[test]
fn failures_are_reported_and_queued() {
    check_failure(
        "fault = { status = { code = 401 } }",
        &[],
        23,
        expect![[r#"
        error: AuthenticationError: Error code: 401 - authentication_error: invalid x-api-key
          hint: check AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    check_failure(
        "fault = { status = { code = 402 } }",
        &[],
        23,
        expect![[r#"
        error: APIStatusError: Error code: 402 - billing_error: Your credit balance is too low to access the Anthropic API.
          hint: check the credit of this key's account
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    check_failure(
        "fault = { status = { code = 404, message = \"model: x\" } }",
        &[],
        23,
        expect![[r#"
        error: NotFoundError: Error code: 404 - not_found_error: model: x
          hint: check AGENTIC_CONTEXT_MODEL and ANTHROPIC_MODEL, and ANTHROPIC_BASE_URL
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    check_failure(
        "fault = { status = { code = 400 } }",
        &[],
        20,
        expect![[r#"
        error: BadRequestError: Error code: 400 - invalid_request_error: messages.0: bad request
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    check_failure(
        "fault = { html = {} }",
        &[],
        75,
        expect![[r#"
        error: APIResponseValidationError: Failed to parse response: it is not a message of the API (line 1, column 1)
          hint: try again later
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    check_failure(
        "fault = { refusal = {} }",
        &[],
        20,
        expect![[r#"
        error: claude-sonnet-4-5-20250929 refuses to answer this
          hint: try another model: set AGENTIC_CONTEXT_MODEL
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    check_failure(
        "",
        &[],
        20,
        expect![[r#"
        error: the answer of claude-sonnet-4-5-20250929 contains no readable key points
          hint: try another model: set AGENTIC_CONTEXT_MODEL
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    // There is no time for a second request.
    check_failure(
        "fault = { hold = { for_s = 60 } }",
        &["--time-budget", "2s"],
        75,
        expect![[r#"
        error: APITimeoutError: Request timed out after 2s; there is no time left to wait for another request
          hint: try again later
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
}

#[test]
fn wait_beyond_the_time_budget_is_not_started() {
    let (stage, _) = stage();
    let server = answering_server(ANSWER, "fault = { status = { code = 429, retry_after = 90000 } }");
    let output = extract(&stage, &server, &["session.jsonl"]);
    assert_eq!((output.code, result(&output).to_string().as_str()), (75, EMPTY), "{output:?}");
    assert_eq!((server.api.request_log().requests.len(), queued(&stage).len()), (1, 1));
    output.assert_error(&["RateLimitError", "hint: try again at 20", "--time-budget"]);
    assert!(output.duration.as_secs() < 60, "{:?}", output.duration);
}

#[test]
fn missing_key_sends_no_request() {
    let (stage, transcript) = stage();
    let server = answering_server(ANSWER, "");
    let call = || stage.longhaul(["playbook", "extract", "session.jsonl"]).against(&server);
    let output = call().without_env("ANTHROPIC_API_KEY").output();
    assert_eq!((output.code, result(&output).to_string().as_str()), (23, EMPTY), "{output:?}");
    output.assert_error(&["no API key is set", "ANTHROPIC_API_KEY"]);
    assert!(server.api.request_log().requests.is_empty());
    assert_eq!(queued(&stage), [(transcript, stage.folder().to_owned(), server.api.url())]);
    // A rejected key never appears in Longhaul's output.
    let output = call().env("ANTHROPIC_API_KEY", "sk-ant-another").output();
    assert_eq!(output.code, 23, "{output:?}");
    output.assert_error(&["Error code: 401", "hint: check AGENTIC_CONTEXT_API_KEY"]);
    assert!(!output.stderr.contains("sk-ant-another"), "{output:?}");
}

#[test]
fn failed_transcript_from_stdin_is_stored() {
    let (stage, _) = stage();
    let server = answering_server(ANSWER, "fault = { status = { code = 400 } }\ntimes = 2");
    let call = || stage.longhaul(["playbook", "extract", "-"]).against(&server).stdin(TRANSCRIPT).output();
    for _ in 0..2 {
        let output = call();
        assert_eq!((output.code, result(&output).to_string().as_str()), (20, EMPTY), "{output:?}");
    }
    // The same transcript is stored and queued only once.
    let queued = queued(&stage);
    let [(file, ..)] = queued.as_slice() else { panic!("{queued:?}") };
    assert_eq!(fs::read_to_string(file).expect("the file is stored"), TRANSCRIPT);
    assert_eq!(fs::metadata(file).expect("the file is stored").permissions().mode() & 0o777, 0o600);
    let output = call();
    assert_eq!((output.code, result(&output)["new_key_points"].as_array().map(Vec::len)), (0, Some(1)));
}

#[test]
fn invalid_input_is_rejected_before_any_request() {
    let (stage, _) = stage();
    let server = answering_server(ANSWER, "");
    stage.file("notes.md", "# Notes\n\nNo transcript at all.\n");
    stage.file("other.jsonl", "{\"speaker\": \"model\", \"words\": \"Done.\"}\n");
    stage.file("empty.jsonl", "");
    stage.file("second.jsonl", TRANSCRIPT);
    stage.file("third.jsonl", TRANSCRIPT);
    stage.file("newer.json", r#"{"version": "2.0", "sections": {}}"#);
    stage.file("broken.json", "{\"version\": ");
    let check = |args: &[&str], code: i32, is_queued: bool, fragments: &[&str]| {
        let before = queued(&stage).len();
        let output = extract(&stage, &server, args);
        assert_eq!((output.code, result(&output).to_string().as_str()), (code, EMPTY), "{output:?}");
        output.assert_error(fragments);
        output.assert_error(&["hint: "]);
        assert_eq!(queued(&stage).len() - before, usize::from(is_queued), "{args:?}");
    };
    check(&["nowhere.jsonl"], 2, false, &["nowhere.jsonl", "No such file", "~/.claude/projects"]);
    check(&["work"], 2, false, &["work", "Is a directory"]);
    check(&["notes.md"], 2, false, &["notes.md", "does not consist of lines of JSON"]);
    check(&["other.jsonl"], 2, false, &["other.jsonl", "another tool"]);
    check(&["--run", "@"], 2, false, &["longhaul run"]);
    check(&["session.jsonl", "--playbook", "nowhere.json"], 2, false, &["nowhere.json", "--playbook"]);
    check(&["session.jsonl", "--playbook", "newer.json"], 25, true, &["version is 2.0", "playbook check"]);
    check(&["second.jsonl", "--playbook", "broken.json"], 25, true, &["broken.json: line 1"]);
    check(&["third.jsonl", "--playbook", "broken.json", "--no-queue"], 25, false, &["broken.json"]);
    fs::create_dir_all(stage.user_home().join(".claude/prompts")).expect("the stage is writable");
    fs::write(stage.user_home().join(".claude/prompts/reflection.txt"), "Judge {everything}.")
        .expect("the stage is writable");
    check(&["third.jsonl"], 25, true, &["reflection.txt", "{everything}", "{trajectories}"]);
    let output = extract(&stage, &server, &["empty.jsonl"]);
    assert_eq!((output.code, result(&output).to_string().as_str()), (0, EMPTY), "{output:?}");
    // Invalid arguments are usage errors.
    for args in [&[][..], &["session.jsonl", "--run", "@"], &["session.jsonl", "--diagnostic-name", "../x"]] {
        let output = extract(&stage, &server, args);
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
    }
    assert!(server.api.request_log().requests.is_empty());
}

#[test]
fn transcript_larger_than_the_context_window_is_queued() {
    let (stage, _) = stage();
    let server = answering_server(ANSWER, "");
    let text = "all work and no play makes a long transcript ".repeat(20_000);
    let row =
        json!({"type": "user", "uuid": "a1", "sessionId": "s", "message": {"role": "user", "content": text}});
    stage.file("long.jsonl", format!("{row}\n"));
    let output = extract(&stage, &server, &["long.jsonl"]);
    assert_eq!((output.code, result(&output).to_string().as_str()), (25, EMPTY), "{output:?}");
    output.assert_error(&["tokens", "has room for 175904", "hint: `longhaul playbook learn`"]);
    assert_eq!((server.api.request_log().requests.len(), queued(&stage).len()), (0, 1));
    // A larger context window has enough space.
    let call = stage.longhaul(["playbook", "extract", "long.jsonl"]).against(&server);
    let output = call.env("ANTHROPIC_MODEL", "claude-sonnet-4-5[1m]").output();
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(server.api.request_log().side[0].model, "claude-sonnet-4-5");
}

#[test]
fn key_points_are_extracted_from_a_run() {
    let check = |stage: &Stage, agent: &Path| {
        let server = answering_server(ANSWER, "");
        let output = stage
            .run(agent, &["Write hello.txt", "--permission-mode", "bypassPermissions", "--preset", "drill"])
            .against(&server)
            .output();
        assert_eq!(output.code, 0, "{output:?}");
        let before = server.api.request_log().requests.len();
        let output = extract(stage, &server, &["--run", "@"]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        let request_log = server.api.request_log();
        assert_eq!(request_log.requests.len(), before + 1);
        let prompt = &request_log.requests[before].prompt;
        assert!(
            prompt.contains("Write hello.txt") && prompt.contains("All done: hello.txt says hello."),
            "{prompt}"
        );
        // The run's directory works like its id. Without the session file, the run's stream is read instead.
        let run: RunDir = stage.only_run();
        let projects = stage.user_home().join(".claude/projects");
        if projects.exists() {
            fs::remove_dir_all(projects).expect("the stage is writable");
        }
        let output = extract(stage, &server, &["--run", run.path().to_str().expect("a plain name")]);
        assert_eq!(output.code, 0, "{output:?}");
        let prompt = &server.api.request_log().requests[before + 1].prompt;
        assert!(prompt.contains("All done: hello.txt says hello."), "{prompt}");
    };
    with_each_agent("key points of a run", Stage::new, check);
}

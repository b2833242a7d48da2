//! What a transcript teaches, as a hook or a person asks for it: there is always a result, the exit code says whether it
//! can be believed, and what was not learnt from is queued.

use crate::call::Ended;
use crate::harness::{Stage, claude_code};
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
const LEARNT: &str = r#"```json
{"new_key_points": [{"text": "The parser is generated.", "section": "PROJECT CONTEXT"}],
 "evaluations": [{"name": "pat-001", "rating": "helpful", "justification": "it was"}]}
```"#;
const NOTHING: &str = r#"{"evaluations":[],"new_key_points":[]}"#;

/// An API that answers like this, after it did to requests without tools what is said.
fn answering(text: &str, side: &str) -> Server {
    Server::plays(&format!("{WORK}[side]\ntext = {text:?}\n{side}\n"))
}

/// A stage with a transcript and a playbook, as a project has them.
fn stage() -> (Stage, PathBuf) {
    let stage = Stage::new();
    fs::create_dir(stage.folder().join(".claude")).expect("the stage can be written");
    stage.file(".claude/playbook.json", PLAYBOOK);
    let transcript = stage.file("session.jsonl", TRANSCRIPT);
    (stage, transcript)
}

fn extract(stage: &Stage, server: &Server, args: &[&str]) -> Ended {
    stage.longhaul(["keypoints", "extract"]).args(args).against(server).end()
}

fn result(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).expect("there is always a result")
}

/// What is queued: each transcript, with its project and the API that it may be sent to.
fn queued(stage: &Stage) -> Vec<(PathBuf, PathBuf, String)> {
    let database = stage.home().join("playbook/learning.sqlite3");
    if !database.exists() {
        return Vec::new();
    }
    let database = Connection::open(database).expect("it can be opened");
    let sql = "SELECT transcript, project, destination FROM queue WHERE event = 'manual' ORDER BY id";
    let mut rows = database.prepare(sql).expect("it has a queue");
    let rows = rows.query_map([], |row| {
        let path = |place| row.get::<_, String>(place).map(PathBuf::from);
        Ok((path(0)?, path(1)?, row.get(2)?))
    });
    rows.expect("it can be read").map(|row| row.expect("it can be read")).collect()
}

/// What is known of each question: its cost in millionths of a dollar, and the fault if it had no answer.
fn counted(stage: &Stage) -> Vec<(Option<u64>, Option<String>)> {
    let database =
        Connection::open(stage.home().join("playbook/learning.sqlite3")).expect("it can be opened");
    let sql = "SELECT cost, fault FROM judge_requests WHERE question = 'keypoints' AND judge = 'api' ORDER BY id";
    let mut rows = database.prepare(sql).expect("it knows what was asked");
    let rows =
        rows.query_map([], |row| Ok((row.get::<_, Option<i64>>(0)?.map(i64::cast_unsigned), row.get(1)?)));
    rows.expect("it can be read").map(|row| row.expect("it can be read")).collect()
}

/// What was said on stderr, without what differs from run to run.
fn said(stage: &Stage, server: &Server, ended: &Ended) -> String {
    let host = server.api.url();
    let port = host.rsplit(':').next().expect("an address has a port");
    let text = ended.stderr.replace(&stage.folder().display().to_string(), "DIR");
    text.replace(&format!("127.0.0.1:{port}"), "HOST")
}

#[test]
fn what_a_transcript_teaches() {
    let (stage, transcript) = stage();
    let server = answering(LEARNT, "");
    let ended = extract(&stage, &server, &[transcript.to_str().expect("a plain name")]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    let learned = json!({
        "new_key_points": [{"text": "The parser is generated.", "section": "PROJECT CONTEXT"}],
        "evaluations": [{"name": "pat-001", "rating": "helpful", "justification": "it was"}],
    });
    assert_eq!(result(&ended), learned);
    let account = server.api.account();
    let [request] = account.requests.as_slice() else { panic!("{:?}", account.requests) };
    for words in [
        r#"{"role":"user","content":"Fix the parser"}"#,
        r#"{"role":"assistant","content":"Following [pat-001], it is fixed."}"#,
        r#""pat-001": "Run the tests first.""#,
    ] {
        assert!(request.prompt.contains(words), "no {words} in {}", request.prompt);
    }
    assert_eq!(account.side[0].model, "claude-sonnet-4-5-20250929");
    assert_eq!(queued(&stage), [], "there is nothing more to learn");
    let cost = account.side[0].cost().expect("the model has a price").dollars();
    assert_eq!(counted(&stage), [(Some((cost * 1e6).round() as u64), None)]);
    assert!(!stage.folder().join(".claude/diagnostic").exists(), "no one asked for texts");
    let ended = extract(&stage, &server, &["session.jsonl", "--output-format", "text"]);
    expect![[r#"
        new: The parser is generated. (PROJECT CONTEXT)
        pat-001: helpful (it was)
    "#]]
    .assert_eq(&ended.stdout);
    // A project elsewhere, another model, and a playbook that is not there yet.
    let ended = stage
        .longhaul(["keypoints", "extract", "session.jsonl"])
        .against(&server)
        .env("CLAUDE_PROJECT_DIR", stage.work())
        .env("AGENTIC_CONTEXT_MODEL", "claude-haiku-4-5")
        .end();
    assert_eq!((ended.code, result(&ended)), (0, learned));
    let account = server.api.account();
    assert_eq!(account.side[2].model, "claude-haiku-4-5");
    assert!(account.requests[2].prompt.contains("<playbook>\n{}\n</playbook>"), "{:?}", account.requests[2]);
}

/// A story that waits as long as people do.
#[test]
fn an_api_that_is_overloaded_is_asked_three_times_and_then_left_alone() {
    let (stage, transcript) = stage();
    let server = answering(LEARNT, "fault = { status = { code = 529 } }");
    stage.file(".claude/diagnostic_mode", "");
    let ended = extract(&stage, &server, &["session.jsonl"]);
    assert_eq!((ended.code, result(&ended).to_string().as_str()), (75, NOTHING), "{ended:?}");
    assert_eq!(server.api.account().requests.len(), 3, "three attempts are three requests");
    assert!((4.5..9.0).contains(&ended.duration.as_secs_f64()), "{:?}", ended.duration);
    for words in ["529", "overloaded_error", "(1 of 3)", "(2 of 3)", "gave up after 3 requests", "hint: "] {
        assert!(ended.stderr.contains(words), "no {words} in {}", ended.stderr);
    }
    assert_eq!(queued(&stage), [(transcript, stage.folder().to_owned(), server.api.url())]);
    assert!(ended.stderr.contains("queued: `longhaul playbook learn`"), "{}", ended.stderr);
    assert_eq!(counted(&stage), [(None, Some("overloaded".to_owned()))]);
    let texts = texts(stage.folder(), "_retry_extract_keypoints");
    assert!(texts[0].starts_with("Retry attempt 1/3 failed: OverloadedError: Error code: 529"), "{texts:?}");
    assert!(texts[1].starts_with("Retry attempt 2/3 failed: OverloadedError: Error code: 529"), "{texts:?}");
    assert_eq!(texts[2..], ["All 3 attempts failed for extract_keypoints(). Returning empty result."]);
}

/// The texts of this name that a project was left, in their order.
fn texts(project: &Path, name: &str) -> Vec<String> {
    let listed = fs::read_dir(project.join(".claude/diagnostic")).expect("there are texts");
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.retain(|path| path.to_str().is_some_and(|path| path.contains(name)));
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("it is text")).collect()
}

#[test]
fn an_answer_after_a_retry_and_the_texts_about_it() {
    let (stage, _) = stage();
    let server = answering(LEARNT, "fault = { status = { code = 429, retry_after = 1 } }\ntimes = 1");
    stage.file(".claude/diagnostic_mode", "");
    let ended = extract(&stage, &server, &["session.jsonl", "--diagnostic-name", "my_notes", "--quiet"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    assert_eq!(server.api.account().requests.len(), 2);
    let retried = texts(stage.folder(), "_retry_extract_keypoints");
    assert!(
        retried[0].starts_with("Retry attempt 1/3 failed: RateLimitError: Error code: 429"),
        "{retried:?}"
    );
    assert_eq!(retried[1..], ["extract_keypoints() succeeded on attempt 2 after 1 retries."]);
    let answered = texts(stage.folder(), "_my_notes");
    assert!(answered[0].starts_with("# PROMPT\nYou read the record"), "{answered:?}");
    assert!(answered[0].ends_with(&format!("\n\n# RESPONSE\n{LEARNT}\n")), "{answered:?}");
}

/// Asks an API of which this is to be expected: one request, the empty result, this exit code and these words; and the
/// transcript is queued.
fn fails(side: &str, args: &[&str], code: i32, expected: Expect) {
    let (stage, transcript) = stage();
    let server = answering("I would rather not say.", side);
    let ended = extract(&stage, &server, &[&["session.jsonl"], args].concat());
    assert_eq!((ended.code, result(&ended).to_string().as_str()), (code, NOTHING), "{ended:?}");
    assert_eq!(server.api.account().requests.len(), 1, "{side}");
    expected.assert_eq(&said(&stage, &server, &ended));
    assert_eq!(queued(&stage), [(transcript, stage.folder().to_owned(), server.api.url())], "{side}");
}

#[test]
fn what_goes_wrong_is_said_and_queued() {
    fails(
        "fault = { status = { code = 401 } }",
        &[],
        23,
        expect![[r#"
        error: AuthenticationError: Error code: 401 - authentication_error: invalid x-api-key
          hint: check AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    fails(
        "fault = { status = { code = 402 } }",
        &[],
        23,
        expect![[r#"
        error: APIStatusError: Error code: 402 - billing_error: Your credit balance is too low to access the Anthropic API.
          hint: see whether the account of this key can pay
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    fails(
        "fault = { status = { code = 404, message = \"model: x\" } }",
        &[],
        23,
        expect![[r#"
        error: NotFoundError: Error code: 404 - not_found_error: model: x
          hint: check AGENTIC_CONTEXT_MODEL and ANTHROPIC_MODEL, and ANTHROPIC_BASE_URL
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    fails(
        "fault = { status = { code = 400 } }",
        &[],
        20,
        expect![[r#"
        error: BadRequestError: Error code: 400 - invalid_request_error: messages.0: bad request
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    fails(
        "fault = { html = {} }",
        &[],
        75,
        expect![[r#"
        error: APIResponseValidationError: Failed to parse response: it is no message of the API (line 1, column 1)
          hint: try again later
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    fails(
        "fault = { refusal = {} }",
        &[],
        20,
        expect![[r#"
        error: claude-sonnet-4-5-20250929 refuses to answer this
          hint: another model may do better: AGENTIC_CONTEXT_MODEL names one
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    fails(
        "",
        &[],
        20,
        expect![[r#"
        error: the answer of claude-sonnet-4-5-20250929 holds no key points that can be read
          hint: another model may do better: AGENTIC_CONTEXT_MODEL names one
        queued: `longhaul playbook learn` learns from DIR/session.jsonl
    "#]],
    );
    // There is no time for what would be asked again.
    fails(
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
fn a_wait_that_outlasts_the_budget_is_not_begun() {
    let (stage, _) = stage();
    let server = answering(LEARNT, "fault = { status = { code = 429, retry_after = 90000 } }");
    let ended = extract(&stage, &server, &["session.jsonl"]);
    assert_eq!((ended.code, result(&ended).to_string().as_str()), (75, NOTHING), "{ended:?}");
    assert_eq!((server.api.account().requests.len(), queued(&stage).len()), (1, 1));
    ended.says(&["RateLimitError", "hint: try again at 20", "--time-budget"]);
    assert!(ended.duration.as_secs() < 60, "{:?}", ended.duration);
}

#[test]
fn without_a_key_nobody_is_asked() {
    let (stage, transcript) = stage();
    let server = answering(LEARNT, "");
    let call = || stage.longhaul(["keypoints", "extract", "session.jsonl"]).against(&server);
    let ended = call().without_env("ANTHROPIC_API_KEY").end();
    assert_eq!((ended.code, result(&ended).to_string().as_str()), (23, NOTHING), "{ended:?}");
    ended.says(&["no API key is set", "ANTHROPIC_API_KEY"]);
    assert!(server.api.account().requests.is_empty());
    assert_eq!(queued(&stage), [(transcript, stage.folder().to_owned(), server.api.url())]);
    // One that is not let in is in no text of ours.
    let ended = call().env("ANTHROPIC_API_KEY", "sk-ant-another").end();
    assert_eq!(ended.code, 23, "{ended:?}");
    ended.says(&["Error code: 401", "hint: check AGENTIC_CONTEXT_API_KEY"]);
    assert!(!ended.stderr.contains("sk-ant-another"), "{ended:?}");
}

#[test]
fn a_transcript_from_stdin_is_kept_if_nothing_was_learnt() {
    let (stage, _) = stage();
    let server = answering(LEARNT, "fault = { status = { code = 400 } }\ntimes = 2");
    let ask = || stage.longhaul(["keypoints", "extract", "-"]).against(&server).stdin(TRANSCRIPT).end();
    for _ in 0..2 {
        let ended = ask();
        assert_eq!((ended.code, result(&ended).to_string().as_str()), (20, NOTHING), "{ended:?}");
    }
    // The same one is kept once.
    let queued = queued(&stage);
    let [(first, ..), (second, ..)] = queued.as_slice() else { panic!("{queued:?}") };
    assert_eq!(first, second);
    assert_eq!(fs::read_to_string(first).expect("it is kept"), TRANSCRIPT);
    assert_eq!(fs::metadata(first).expect("it is kept").permissions().mode() & 0o777, 0o600);
    let ended = ask();
    assert_eq!((ended.code, result(&ended)["new_key_points"].as_array().map(Vec::len)), (0, Some(1)));
}

#[test]
fn what_is_no_transcript_is_refused_before_anybody_is_asked() {
    let (stage, _) = stage();
    let server = answering(LEARNT, "");
    stage.file("notes.md", "# Notes\n\nNo transcript at all.\n");
    stage.file("other.jsonl", "{\"speaker\": \"model\", \"words\": \"Done.\"}\n");
    stage.file("empty.jsonl", "");
    stage.file("newer.json", r#"{"version": "2.0", "sections": {}}"#);
    stage.file("broken.json", "{\"version\": ");
    let check = |args: &[&str], code: i32, is_queued: bool, words: &[&str]| {
        let before = queued(&stage).len();
        let ended = extract(&stage, &server, args);
        assert_eq!((ended.code, result(&ended).to_string().as_str()), (code, NOTHING), "{ended:?}");
        ended.says(words);
        ended.says(&["hint: "]);
        assert_eq!(queued(&stage).len() - before, usize::from(is_queued), "{args:?}");
    };
    check(&["nowhere.jsonl"], 2, false, &["nowhere.jsonl", "No such file", "~/.claude/projects"]);
    check(&["work"], 2, false, &["work", "Is a directory"]);
    check(&["notes.md"], 2, false, &["notes.md", "not made of lines of JSON"]);
    check(&["other.jsonl"], 2, false, &["other.jsonl", "another tool's"]);
    check(&["--run", "@"], 2, false, &["longhaul run"]);
    check(&["session.jsonl", "--playbook", "nowhere.json"], 2, false, &["nowhere.json", "--playbook"]);
    check(&["session.jsonl", "--playbook", "newer.json"], 25, true, &["version is 2.0", "playbook check"]);
    check(&["session.jsonl", "--playbook", "broken.json"], 25, true, &["broken.json: line 1"]);
    check(&["session.jsonl", "--playbook", "broken.json", "--no-queue"], 25, false, &["broken.json"]);
    fs::create_dir_all(stage.user_home().join(".claude/prompts")).expect("the stage can be written");
    fs::write(stage.user_home().join(".claude/prompts/reflection.txt"), "Judge {everything}.")
        .expect("the stage can be written");
    check(&["session.jsonl"], 25, true, &["reflection.txt", "{everything}", "{trajectories}"]);
    let ended = extract(&stage, &server, &["empty.jsonl"]);
    assert_eq!((ended.code, result(&ended).to_string().as_str()), (0, NOTHING), "{ended:?}");
    // What cannot be typed so is no question.
    for args in [&[][..], &["session.jsonl", "--run", "@"], &["session.jsonl", "--diagnostic-name", "../x"]] {
        let ended = extract(&stage, &server, args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{ended:?}");
    }
    assert!(server.api.account().requests.is_empty());
}

#[test]
fn a_transcript_that_is_too_long_for_one_question() {
    let (stage, _) = stage();
    let server = answering(LEARNT, "");
    let words = "all work and no play makes a long transcript ".repeat(20_000);
    let row = json!({"type": "user", "uuid": "a1", "sessionId": "s", "message": {"role": "user", "content": words}});
    stage.file("long.jsonl", format!("{row}\n"));
    let ended = extract(&stage, &server, &["long.jsonl"]);
    assert_eq!((ended.code, result(&ended).to_string().as_str()), (25, NOTHING), "{ended:?}");
    ended.says(&["tokens", "has room for 175904", "hint: `longhaul playbook learn`"]);
    assert_eq!((server.api.account().requests.len(), queued(&stage).len()), (0, 1));
    // There is room for it.
    let call = stage.longhaul(["keypoints", "extract", "long.jsonl"]).against(&server);
    let ended = call.env("ANTHROPIC_MODEL", "claude-sonnet-4-5[1m]").end();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(server.api.account().side[0].model, "claude-sonnet-4-5");
}

#[test]
fn what_a_run_teaches() {
    let tell = |stage: &Stage, agent: &Path| {
        let server = answering(LEARNT, "");
        let ended = stage
            .run(agent, &["Write hello.txt", "--permission-mode", "bypassPermissions", "--preset", "drill"])
            .against(&server)
            .end();
        assert_eq!(ended.code, 0, "{ended:?}");
        let before = server.api.account().requests.len();
        let ended = extract(stage, &server, &["--run", "@"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
        let account = server.api.account();
        assert_eq!(account.requests.len(), before + 1);
        let told = &account.requests[before].prompt;
        assert!(
            told.contains("Write hello.txt") && told.contains("All done: hello.txt says hello."),
            "{told}"
        );
        // The directory of a run is as good as its id; and without the session's own file its stream tells as much.
        let run: RunDir = stage.only_run();
        let projects = stage.user_home().join(".claude/projects");
        if projects.exists() {
            fs::remove_dir_all(projects).expect("the stage can be written");
        }
        let ended = extract(stage, &server, &["--run", run.path().to_str().expect("a plain name")]);
        assert_eq!(ended.code, 0, "{ended:?}");
        let told = &server.api.account().requests[before + 1].prompt;
        assert!(told.contains("All done: hello.txt says hello."), "{told}");
    };
    let stage = Stage::new();
    tell(&stage, &stage.agent());
    if let Some(claude) = claude_code("what a run teaches") {
        tell(&Stage::new(), &claude);
    }
}

//! Learning from queued sessions: a worker that is killed at any step learns everything once, and repeats no
//! request.

use crate::call::{Call, Output, Running, wait_until};
use crate::harness::Stage;
use crate::server::{Server, WORK};
use crate::tidy;
use expect_test::expect;
use longhaul_playbook::LearningPaths;
use longhaul_playbook::hooks::logged_errors;
use longhaul_playbook::worker::WorkerLock;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::{fs, io, thread};

const POINT: &str = "The parser is generated from grammar.txt.";

/// Returns an API with a reflector and a curator that adds a point for each session.
fn judge_server(points: &[(String, String)], side: &str) -> Server {
    let reply = |to: &str, text: &str| format!("[[reply]]\nto = {to:?}\n[[reply.turn]]\ntext = {text:?}\n");
    let mut toml = format!("{WORK}[side]\n{side}\n");
    for (session, point) in points {
        let analysis = format!("This was learned of {session}: the grammar.");
        toml += &reply(&task_of(session), &json!({"analysis": &analysis, "bullet_tags": []}).to_string());
        let operations = json!({"reasoning": "new", "operations": [
            {"type": "ADD", "text": point, "section": "PROJECT CONTEXT"}]});
        toml += &reply(&analysis, &operations.to_string());
    }
    Server::start(&toml)
}

/// Returns the task of a session.
fn task_of(session: &str) -> String {
    format!("Fix the parser of {session}, please")
}

fn server_with_one_point(side: &str) -> Server {
    judge_server(&[("one.jsonl".to_owned(), POINT.to_owned())], side)
}

/// Creates a session file with a conversation.
fn session(stage: &Stage, name: &str) -> PathBuf {
    let row = |number: u32, role: &str, content: Value| {
        json!({"type": role, "uuid": format!("{name}-{number}"), "sessionId": name,
               "message": {"role": role, "content": content}})
    };
    let rows = [
        row(1, "user", json!(task_of(name))),
        row(2, "assistant", json!([{"type": "text", "text": "It is generated; I change the grammar."}])),
    ];
    stage.file(name, rows.iter().map(|row| format!("{row}\n")).collect::<String>())
}

fn learn_call(stage: &Stage, server: &Server, args: &[&str]) -> Call {
    stage.longhaul(["playbook", "learn", "--output-format", "json"]).args(args).against(server)
}

fn learn(stage: &Stage, server: &Server, args: &[&str]) -> Output {
    learn_call(stage, server, args).output()
}

fn printed(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("no JSON in {output:?}"))
}

/// Returns the points in the playbook.
fn points(stage: &Stage) -> Vec<String> {
    let text = fs::read_to_string(stage.folder().join(".claude/playbook.json")).unwrap_or_default();
    let playbook: Value = serde_json::from_str(&text).unwrap_or_default();
    let points = playbook["sections"]["PROJECT CONTEXT"].as_array().cloned().unwrap_or_default();
    points.iter().map(|point| point["text"].as_str().unwrap_or_default().to_owned()).collect()
}

fn count(stage: &Stage, sql: &str) -> i64 {
    let database = Connection::open(stage.home().join("playbook/learning.sqlite3")).expect("the file exists");
    database.query_row(sql, [], |row| row.get(0)).expect("the query succeeds")
}

#[test]
fn named_transcript_is_learned_from_once() {
    let stage = Stage::new();
    let server = server_with_one_point("");
    session(&stage, "one.jsonl");
    let output = learn(&stage, &server, &["one.jsonl"]);
    assert_eq!((output.code, printed(&output)["learned"].as_u64()), (0, Some(1)), "{output:?}");
    assert_eq!(points(&stage), [POINT]);
    let output = learn(&stage, &server, &["one.jsonl"]);
    assert_eq!((output.code, printed(&output)["learned"].as_u64()), (0, Some(0)), "{output:?}");
    assert!(
        output.stderr.contains("one.jsonl: nothing to learn: it contains nothing new"),
        "{}",
        output.stderr
    );
    assert_eq!(server.api.request_log().requests.len(), 2);

    let text = stage.longhaul(["playbook", "status", "--output-format", "text"]).output();
    let printed_status = text.stdout.replace(&stage.folder().display().to_string(), "DIR");
    let (text, cost) = printed_status.split_once("2 answers: ").expect("the status has a cost");
    let (text, lesson) = text.split_once("most recent:\n").expect("the status has a lesson");
    expect![[r#"
        0 transcripts waiting, 0 failed, 2 done; no worker running
        hooks not installed: longhaul playbook install
        judged 1 part of transcripts, "#]]
    .assert_eq(text);
    assert!(lesson.ends_with(", DIR: 1 new\n"), "{lesson}");
    assert!(cost.starts_with('$'), "{cost}");
    let status = stage.longhaul(["playbook", "status", "--output-format", "json"]).output();
    assert_eq!(printed(&status)["lessons"][0]["description"], "1 new");
}

/// Failpoints of the worker, each named after the step before it.
const POINTS: &[&str] = &[
    "Started",
    "Asking",
    "Answered",
    "Reflected",
    "Curated",
    "Prepared",
    "Recorded",
    "Replaced",
    "Confirmed",
    "Saved",
    "Ended",
];

#[test]
fn worker_killed_at_any_step_learns_once() {
    for point in POINTS {
        let stage = Stage::new();
        let server = server_with_one_point("");
        session(&stage, "one.jsonl");
        let call = stage.longhaul(["playbook", "learn", "one.jsonl"]).against(&server);
        let killed = call.env("LONGHAUL_FAILPOINT", format!("worker@{point}")).start().output_unless_killed();
        assert!(killed.is_none(), "{point}: {killed:?}");
        let output = learn(&stage, &server, &[]);
        assert_eq!(output.code, 0, "{point}: {output:?}");
        assert_eq!(points(&stage), [POINT], "{point}");
        assert_eq!(server.api.request_log().requests.len(), 2, "{point}");
        assert_eq!(count(&stage, "SELECT count(*) FROM slices WHERE state = 'learned'"), 1, "{point}");
        assert_eq!(count(&stage, "SELECT count(*) FROM queue WHERE state <> 'done'"), 0, "{point}");
        assert_eq!(count(&stage, "SELECT count(*) FROM revisions"), 1, "{point}");
    }
}

/// A proxy to an API that can hold requests forever.
struct HoldingProxy {
    url: String,
    holds: Arc<AtomicBool>,
    held: Arc<AtomicU32>,
}

impl HoldingProxy {
    fn new(server: &Server) -> HoldingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
        let proxy = HoldingProxy { url, holds: Arc::new(AtomicBool::new(true)), held: Arc::default() };
        let address = server.api.url().trim_start_matches("http://").to_owned();
        let (holds, held) = (Arc::clone(&proxy.holds), Arc::clone(&proxy.held));
        thread::spawn(move || {
            let mut clients = Vec::new();
            for client in listener.incoming().flatten() {
                if holds.load(Ordering::SeqCst) {
                    held.fetch_add(1, Ordering::SeqCst);
                    clients.push(client);
                } else {
                    let server = TcpStream::connect(&address).expect("the API listens");
                    let pipe = |mut from: TcpStream, mut to: TcpStream| {
                        thread::spawn(move || drop(io::copy(&mut from, &mut to)));
                    };
                    let clone = |stream: &TcpStream| stream.try_clone().expect("the stream is open");
                    pipe(clone(&client), clone(&server));
                    pipe(server, client);
                }
            }
        });
        proxy
    }
}

#[test]
fn worker_killed_during_a_request_repeats_it() {
    let stage = Stage::new();
    let server = server_with_one_point("");
    let proxy = HoldingProxy::new(&server);
    session(&stage, "one.jsonl");
    let learn = || learn_call(&stage, &server, &["one.jsonl"]).env("ANTHROPIC_BASE_URL", &proxy.url);
    let started = learn().start();
    wait_until("the proxy holds the request", || proxy.held.load(Ordering::SeqCst) == 1);
    started.kill();
    proxy.holds.store(false, Ordering::SeqCst);
    let output = learn().output();
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(points(&stage).len(), 1);
    assert_eq!(server.api.request_log().requests.len(), 2);
    assert_eq!(count(&stage, "SELECT count(*) FROM slices"), 1);
}

#[test]
fn queue_waits_for_the_api_and_for_a_person() {
    let stage = Stage::new();
    session(&stage, "one.jsonl");
    let unauthorized = server_with_one_point("fault = { status = { code = 401 } }");
    let without_key = stage
        .longhaul(["playbook", "learn", "one.jsonl", "--output-format", "json"])
        .against(&unauthorized)
        .without_env("ANTHROPIC_API_KEY")
        .output();
    assert_eq!(without_key.code, 23, "{without_key:?}");
    assert!(without_key.stderr.contains("error: no API key is set"), "{}", without_key.stderr);
    assert_eq!(unauthorized.api.request_log().requests.len(), 0);
    let rejected = learn(&stage, &unauthorized, &["--quiet"]);
    assert_eq!((rejected.code, printed(&rejected)["waiting"].as_u64()), (23, Some(1)), "{rejected:?}");
    assert_eq!(unauthorized.api.request_log().requests.len(), 1);
    let status = stage.longhaul(["playbook", "status", "--output-format", "json"]).output();
    assert_eq!(printed(&status)["paused_judges"][0]["needs_person"], true, "{status:?}");
    // A session is never sent to another API than its own.
    let server = server_with_one_point("");
    let other = learn(&stage, &server, &[]);
    assert_eq!((other.code, printed(&other)["for_other_judges"].as_u64()), (0, Some(1)), "{other:?}");
    assert_eq!(server.api.request_log().requests.len(), 0);
}

#[test]
fn queue_is_kept_while_the_api_is_down() {
    let stage = Stage::new();
    session(&stage, "one.jsonl");
    // One question makes three requests.
    let server = server_with_one_point("fault = { status = { code = 529 } }\ntimes = 3");
    let unavailable = learn(&stage, &server, &["one.jsonl"]);
    assert_eq!(
        (unavailable.code, printed(&unavailable)["waiting"].as_u64()),
        (75, Some(1)),
        "{unavailable:?}"
    );
    assert!(printed(&unavailable)["due_at"].is_string(), "{unavailable:?}");
    assert!(unavailable.stderr.contains("; it waits\n"), "{unavailable:?}");
    assert_eq!(server.api.request_log().requests.len(), 3);
    let mut last = None;
    wait_until("the queue is empty", || {
        let output = learn(&stage, &server, &["--quiet"]);
        let code = output.code;
        last = Some(output);
        code == 0
    });
    assert_eq!(points(&stage).len(), 1, "{last:?}");
    assert_eq!(count(&stage, "SELECT count(*) FROM judge_requests WHERE fault = 'overloaded'"), 1);
}

#[test]
fn failed_transcript_is_kept_with_its_reason() {
    let stage = Stage::new();
    let server = server_with_one_point("fault = { status = { code = 400 } }\ntimes = 2");
    let missing = learn(&stage, &server, &["missing.jsonl"]);
    assert_eq!(missing.code, 2, "{missing:?}");
    stage.file("other.jsonl", "{\"tool\":\"another\"}\n");
    let foreign = learn(&stage, &server, &["other.jsonl"]);
    assert_eq!(foreign.code, 2, "{foreign:?}");
    foreign.assert_error(&["cannot read the transcript from other.jsonl", "hint:"]);
    session(&stage, "one.jsonl");
    let rejected = learn(&stage, &server, &["one.jsonl"]);
    assert_eq!(
        (rejected.code, printed(&rejected)["failed"].as_array().map(Vec::len)),
        (20, Some(1)),
        "{rejected:?}"
    );
    let retry = learn(&stage, &server, &["--retry-failed"]);
    assert_eq!(retry.code, 20, "{retry:?}");
    let retry = learn(&stage, &server, &["--retry-failed"]);
    assert_eq!((retry.code, points(&stage).len()), (0, 1), "{retry:?}");
}

#[test]
fn fifty_simultaneous_session_ends_are_all_learned_from() {
    const SESSIONS: usize = 50;
    // Each word is unique, so no two texts are similar.
    let text =
        |number: usize| (0..5).map(|word| format!("w{}", number * 5 + word)).collect::<Vec<_>>().join(" ");
    let texts: Vec<String> = (0..SESSIONS).map(text).collect();
    let stage = Stage::new();
    let named_points =
        texts.iter().enumerate().map(|(number, text)| (format!("{number}.jsonl"), text.clone()));
    let server = judge_server(&named_points.collect::<Vec<_>>(), "");
    let hooks: Vec<Running> = (0..SESSIONS)
        .map(|number| {
            let transcript = session(&stage, &format!("{number}.jsonl"));
            let input = json!({"session_id": number.to_string(), "transcript_path": transcript,
                              "cwd": stage.folder(), "hook_event_name": "SessionEnd", "reason": "other"});
            let hook = stage.longhaul(["hook", "SessionEnd"]).against(&server);
            hook.env("CLAUDE_PROJECT_DIR", stage.folder()).stdin(input.to_string()).start()
        })
        .collect();
    for hook in hooks {
        assert_eq!(hook.output().code, 0);
    }
    // Each hook found a running worker or started one. A worker exits when the queue is empty.
    let paths = LearningPaths::in_home(&stage.home());
    let is_done = || count(&stage, "SELECT count(*) FROM queue WHERE state = 'waiting'") == 0;
    wait_until("the queue is empty", is_done);
    wait_until("no worker runs", || !WorkerLock::is_any_held(&paths));
    wait_until("no process remains", || tidy::processes(stage.folder()).is_empty());
    assert!(logged_errors(&paths).is_empty(), "{:?}", logged_errors(&paths));
    assert_eq!(count(&stage, "SELECT count(*) FROM slices WHERE state = 'learned'"), SESSIONS as i64);
    assert_eq!(count(&stage, "SELECT count(*) FROM queue WHERE state <> 'done'"), 0);
    assert_eq!(server.api.request_log().requests.len(), 2 * SESSIONS, "no request is repeated");
    let learned = points(&stage);
    assert_eq!(learned.len(), SESSIONS, "{learned:?}");
    assert_eq!(learned.into_iter().collect::<BTreeSet<_>>(), texts.into_iter().collect());
}

#[test]
fn recovery_continues_with_the_queue() {
    let stage = Stage::new();
    let server = server_with_one_point("");
    session(&stage, "one.jsonl");
    let call = stage.longhaul(["playbook", "learn", "one.jsonl"]).against(&server);
    assert!(call.env("LONGHAUL_FAILPOINT", "worker@Reflected").start().output_unless_killed().is_none());
    let output = stage.longhaul(["recover"]).against(&server).output();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("learning from past sessions continues"), "{}", output.stderr);
    wait_until("the queue is empty", || {
        count(&stage, "SELECT count(*) FROM queue WHERE state = 'waiting'") == 0
    });
    wait_until("no process remains", || tidy::processes(stage.folder()).is_empty());
    assert_eq!((points(&stage).len(), server.api.request_log().requests.len()), (1, 2));
    let second = stage.longhaul(["recover"]).against(&server).output();
    assert!(!second.stderr.contains("learning"), "{}", second.stderr);
}

#[test]
fn usage_of_the_judge_is_counted() {
    let stage = Stage::new();
    let server = server_with_one_point("");
    session(&stage, "one.jsonl");
    assert_eq!(learn(&stage, &server, &["one.jsonl"]).code, 0);
    let costs = |by: &str| {
        let output = stage.longhaul(["cost", "--all", "--by", by, "--output-format", "json"]).output();
        assert_eq!(output.code, 0, "{output:?}");
        printed(&output)
    };
    let by_agent = costs("agent");
    assert_eq!(by_agent["rows"][0]["key"], "playbook");
    assert_eq!(by_agent["rows"][0]["messages"], 2);
    assert_eq!(by_agent["rows"][0]["reported_cost_usd"], 0.0);
    assert!(by_agent["total"]["estimated_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{by_agent}");
    for (by, key) in [
        ("run", "-".to_owned()),
        ("model", "claude-sonnet-4-5-20250929".to_owned()),
        ("project", stage.folder().display().to_string()),
    ] {
        let costs = costs(by);
        assert_eq!(costs["rows"][0]["key"], key, "{costs}");
        assert_eq!(costs["total"], by_agent["total"]);
    }
    // A damaged database does not hide the cost of runs.
    for suffix in ["", "-wal", "-shm"] {
        drop(fs::write(stage.home().join(format!("playbook/learning.sqlite3{suffix}")), "no database"));
    }
    let output = stage.longhaul(["cost", "--all", "--output-format", "json"]).output();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(
        output.stderr.contains("warning: the cost of the playbook's judge is incomplete"),
        "{}",
        output.stderr
    );
}

#[test]
fn damaged_database_is_replaced_and_its_cost_is_reported_missing() {
    let stage = Stage::new();
    let server = server_with_one_point("");
    session(&stage, "one.jsonl");
    assert_eq!(learn(&stage, &server, &["one.jsonl"]).code, 0);
    let database = stage.home().join("playbook/learning.sqlite3");
    let mut bytes = fs::read(&database).expect("the file exists");
    // The pages of the tables' contents; the header and the schema stay readable.
    let root: usize = count(&stage, "SELECT min(rootpage) FROM sqlite_schema WHERE rootpage > 0") as usize;
    bytes[(root - 1) * 4096..].fill(0x5a);
    fs::write(&database, bytes).expect("the file is writable");
    let undone = stage.longhaul(["playbook", "undo"]).output();
    assert_eq!(undone.code, 2, "{undone:?}");
    assert!(
        undone.stderr.contains("it is kept as") && undone.stderr.contains("longhaul playbook history"),
        "{undone:?}"
    );
    let status = stage.longhaul(["playbook", "status"]).output();
    assert_eq!((status.code, printed(&status)["damaged_copy"].as_array().map(Vec::len)), (0, Some(1)));
    for _ in 0..2 {
        let cost = stage.longhaul(["cost"]).output();
        assert!(cost.stderr.contains("learning.sqlite3.damaged-1 is damaged"), "{cost:?}");
    }
    fs::remove_file(stage.home().join("playbook/learning.sqlite3.damaged-1")).expect("the file exists");
    let cost = stage.longhaul(["cost"]).output();
    assert_eq!(cost.stderr, "");
}

#[test]
fn failure_of_a_background_worker_is_logged() {
    let stage = Stage::new();
    let server = server_with_one_point("");
    assert_eq!(learn(&stage, &server, &[]).code, 0);
    let database = Connection::open(stage.home().join("playbook/learning.sqlite3")).expect("the file exists");
    database.pragma_update(None, "user_version", 99).expect("writing succeeds");
    assert_ne!(learn(&stage, &server, &["--worker"]).code, 0);
    let errors = logged_errors(&LearningPaths::in_home(&stage.home()));
    assert!(errors.len() == 1 && errors[0].event == "learn", "{errors:?}");
    assert!(
        errors[0].description.ends_with("a newer version of longhaul wrote it; update longhaul"),
        "{errors:?}"
    );
}

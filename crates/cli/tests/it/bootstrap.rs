//! `playbook bootstrap`: learning from the past sessions of a project. It finds them, estimates the cost,
//! learns from each once, and continues after an interruption. Tests cover the Messages API and each
//! available agent.

use crate::call::{Call, Output, wait_until};
use crate::harness::{Stage, with_each_agent};
use crate::server::Server;
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::{LearningDb, LearningPaths};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

/// Returns a server whose model gives the same answer to both questions of the judge.
fn judge_server() -> Server {
    judge_server_with("")
}

/// Returns the same server, with this fault in its answers.
fn judge_server_with(fault: &str) -> Server {
    let answer = json!({
        "analysis": "The tests need a database.", "bullet_tags": [], "reasoning": "It was missed twice.",
        "operations": [{ "type": "ADD", "section": "PROJECT CONTEXT", "text": "Start the database before the tests." }],
    });
    Server::start(&format!("Unused.\n[side]\ntext = '''{answer}'''\n{fault}\n"))
}

/// Creates this many past sessions of the stage's project, and one of another project. Returns their files.
fn write_sessions(stage: &Stage, sessions: u32) -> Vec<PathBuf> {
    let folder = stage.user_home().join(".claude/projects/any-name");
    fs::create_dir_all(&folder).expect("the stage is writable");
    let session = |name: String, cwd: &Path, prompt: &str| {
        let row = |role: &str, text: &str| {
            let uuid = format!("{name}-{role}");
            json!({ "type": role, "uuid": uuid, "sessionId": "s", "cwd": cwd, "message": { "role": role, "content": text } })
        };
        let path = folder.join(format!("{name}.jsonl"));
        let rows = [row("user", prompt), row("assistant", "I start the tests.")];
        fs::write(&path, rows.map(|row| format!("{row}\n")).concat()).expect("the stage is writable");
        path
    };
    session("other".to_owned(), stage.folder(), "Not this one.");
    (1..=sessions)
        .map(|number| session(format!("s{number}"), &stage.work(), &format!("Task {number}.")))
        .collect()
}

fn bootstrap(stage: &Stage, args: &[&str]) -> Call {
    let call = stage.longhaul(["playbook", "bootstrap"]).args(args).env("CLAUDE_PROJECT_DIR", stage.work());
    call.env("AGENTIC_CONTEXT_BOOTSTRAP_DELAY", "0")
}

fn printed(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}{}", output.stdout, output.stderr))
}

/// Returns the result of each session, preceded by the name of its file.
fn results(printed: &Value) -> Vec<String> {
    let sessions = printed["sessions"].as_array().expect("a list of sessions");
    let line = |session: &Value| {
        let path = PathBuf::from(session["transcript"].as_str().expect("a path"));
        let name = path.file_stem().expect("the file has a name").to_string_lossy().into_owned();
        format!("{name} {}", session["result"].as_str().expect("a result"))
    };
    sessions.iter().map(line).collect()
}

fn skip_reasons(printed: &Value) -> Vec<&str> {
    let sessions = printed["skipped"].as_array().expect("a list of skipped sessions");
    sessions.iter().map(|session| session["reason"].as_str().expect("there is a reason")).collect()
}

fn points(stage: &Stage) -> Value {
    let text = fs::read_to_string(stage.work().join(".claude/playbook.json")).expect("there is a playbook");
    serde_json::from_str::<Value>(&text).expect("valid JSON")["sections"]["PROJECT CONTEXT"].clone()
}

#[test]
fn past_sessions_are_learned_from_once() {
    let (stage, server) = (Stage::new(), judge_server());
    write_sessions(&stage, 3);
    let planned = bootstrap(&stage, &["--dry-run"]).against(&server).output();
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    let plan = printed(&planned);
    assert_eq!(results(&plan), ["s1 open", "s2 open", "s3 open"]);
    assert!(plan["estimated_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{plan}");
    assert!(!stage.work().join(".claude").exists(), "a plan writes nothing");
    let named =
        stage.longhaul(["playbook", "bootstrap", "--dry-run", "--project"]).args([stage.work()]).output();
    assert_eq!(results(&printed(&named)), results(&plan));

    let unconfirmed = bootstrap(&stage, &[]).against(&server).output();
    assert_eq!(unconfirmed.code, 2, "{}", unconfirmed.stderr);
    assert!(unconfirmed.stderr.contains("no terminal to confirm"), "{}", unconfirmed.stderr);
    let unlimited = bootstrap(&stage, &["--budget", "none"]).against(&server).output();
    assert!(unlimited.stderr.contains("no terminal to confirm"), "{}", unlimited.stderr);
    assert_eq!(server.api.request_log().side.len(), 0, "no request was sent yet");

    let first = bootstrap(&stage, &["--yes", "--limit", "2"]).against(&server).output();
    assert_eq!(first.code, 0, "{}{}", first.stdout, first.stderr);
    assert_eq!(results(&printed(&first)), ["s1 learned", "s2 learned"]);
    assert_eq!(skip_reasons(&printed(&first)), ["beyond_limit"]);
    let point = json!([{ "name": "ctx-001", "text": "Start the database before the tests.", "helpful": 0, "harmful": 0 }]);
    assert_eq!(points(&stage), point);
    let state =
        fs::read_to_string(stage.work().join(".claude/bootstrap_state.json")).expect("the state is stored");
    let state: Value = serde_json::from_str(&state).expect("valid JSON");
    assert_eq!(state["version"], "1.0");
    let processed: Vec<&Value> =
        state["processed_sessions"].as_object().expect("sessions").values().collect();
    assert_eq!(processed.iter().map(|session| &session["key_points_after"]).collect::<Vec<_>>(), [1, 1]);

    let second = bootstrap(&stage, &["--yes"]).against(&server).output();
    assert_eq!(results(&printed(&second)), ["s3 learned"], "{}", second.stderr);
    assert_eq!(skip_reasons(&printed(&second)), ["learned", "learned"]);
    assert!(printed(&second)["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{}", second.stdout);
    // A judged session is not judged again, even if the project's state file is lost.
    fs::remove_file(stage.work().join(".claude/bootstrap_state.json")).expect("the file existed");
    let third = bootstrap(&stage, &["--yes"]).against(&server).output();
    assert_eq!((third.code, results(&printed(&third))), (0, Vec::new()));
    assert_eq!(skip_reasons(&printed(&third)), ["nothing_new"; 3]);
    assert_eq!(server.api.request_log().side.len(), 6, "two questions per session");
}

#[test]
fn sessions_wait_for_an_api_key() {
    let (stage, server) = (Stage::new(), judge_server());
    write_sessions(&stage, 2);
    let stopped = bootstrap(&stage, &["--yes"]).against(&server).env("ANTHROPIC_API_KEY", "").output();
    let report = printed(&stopped);
    assert_eq!(results(&report), ["s1 queued", "s2 open"], "{}", stopped.stderr);
    assert!(
        report["stopped"].as_str().is_some_and(|reason| reason.starts_with("no API key is set")),
        "{report}"
    );
    assert_ne!(stopped.code, 0);
    assert!(!stage.work().join(".claude/bootstrap_state.json").exists());
    let rest = bootstrap(&stage, &["--yes"]).against(&server).output();
    assert_eq!(rest.code, 0, "{}{}", rest.stdout, rest.stderr);
    assert_eq!(results(&printed(&rest)), ["s1 learned", "s2 learned"], "{}", rest.stderr);
}

/// A waiting session is never reported as done, no matter which worker holds the queue. A URL with a password
/// is the same destination, and the password is never stored.
#[test]
fn sessions_wait_for_another_worker() {
    let (stage, server) = (Stage::new(), judge_server());
    write_sessions(&stage, 2);
    let paths = LearningPaths::in_home(&stage.home());
    drop(LearningDb::open(&paths).expect("a database can be made"));
    let api = server.api.url();
    let database = Connection::open(paths.database()).expect("the file exists");
    let backoff =
        "INSERT INTO judge_backoff VALUES ('api', ?, 0, 1, 4102444800000, 0, 'the API is overloaded')";
    database.execute(backoff, [&api]).expect("writing succeeds");
    let mut options = File::options();
    let options = options.create(true).append(true).mode(0o600);
    let lock = options.open(paths.worker_lock(&api, JudgeKind::Api)).expect("writing succeeds");
    lock.lock().expect("the lock is free");
    let secret = api.replace("http://", "http://me:secret@");
    let output = bootstrap(&stage, &["--yes"]).against(&server).env("ANTHROPIC_BASE_URL", secret).output();
    assert_eq!(output.code, 75, "{}{}", output.stdout, output.stderr);
    let report = printed(&output);
    assert_eq!(results(&report), ["s1 queued", "s2 open"]);
    assert!(report["stopped"].as_str().is_some_and(|reason| reason.contains("is paused until")), "{report}");
    let waiting: String = database
        .query_row("SELECT group_concat(destination) FROM queue", [], |row| row.get(0))
        .expect("reading succeeds");
    assert_eq!(waiting, api);
    assert_eq!(server.api.request_log().requests.len(), 0, "no request was sent");
}

#[test]
fn ctrl_c_loses_nothing() {
    let stage = Stage::new();
    let server = judge_server_with("fault = { hold = { for_s = 10 } }\ntimes = 2");
    write_sessions(&stage, 2);
    let learning = bootstrap(&stage, &["--yes"]).against(&server).start();
    wait_until("the judge receives a second request", || server.api.request_log().requests.len() == 2);
    learning.signal(Signal::INT);
    let cancelled = learning.output();
    assert_eq!(cancelled.code, 130, "{}", cancelled.stderr);
    assert!(
        printed(&cancelled)["stopped"].as_str().is_some_and(|reason| reason.starts_with("cancelled")),
        "{}",
        cancelled.stdout
    );
    let cost = printed(&cancelled)["cost_usd"].as_f64();
    assert!(cost.is_some_and(|cost| cost > 0.0), "the first answer is paid for: {}", cancelled.stdout);
    let rest = bootstrap(&stage, &["--yes"]).against(&server).output();
    assert_eq!(rest.code, 0, "{}{}", rest.stdout, rest.stderr);
    assert_eq!(results(&printed(&rest)), ["s1 learned", "s2 learned"], "{}", rest.stderr);
    assert_eq!(printed(&rest)["sessions"][0]["message"], "1 new", "{}", rest.stdout);
}

#[test]
fn playbook_that_cannot_be_written_is_named() {
    let (stage, server) = (Stage::new(), judge_server());
    write_sessions(&stage, 2);
    let playbook = stage.work().join(".claude/playbook.json");
    fs::create_dir(stage.work().join(".claude")).expect("the stage is writable");
    symlink("../../missing.json", &playbook).expect("the stage is writable");
    let stopped = bootstrap(&stage, &["--yes"]).against(&server).output();
    assert_eq!(stopped.code, 75, "{}{}", stopped.stdout, stopped.stderr);
    let report = printed(&stopped);
    assert_eq!(results(&report), ["s1 queued", "s2 open"]);
    let reason = report["stopped"].as_str().expect("it stopped");
    let cause = format!("cannot change {}: it links to", playbook.display());
    assert!(reason.starts_with(&cause) && reason.contains("; it waits until "), "{reason}");
    fs::remove_file(&playbook).expect("the link existed");
    // A hook queues the session too. This entry then contains nothing new.
    let database = LearningPaths::in_home(&stage.home()).database();
    let twice = "INSERT INTO queue (at, project, transcript, event, judge, destination)
                 SELECT at, project, transcript, 'SessionEnd', judge, destination FROM queue";
    let database = Connection::open(database).expect("the file exists");
    assert_eq!(database.execute(twice, []), Ok(1));
    let rest = bootstrap(&stage, &["--yes"]).against(&server).output();
    assert_eq!(results(&printed(&rest)), ["s1 learned", "s2 learned"], "{}", rest.stderr);
    assert_eq!(printed(&rest)["sessions"][0]["message"], "1 new", "{}", rest.stdout);
}

#[test]
fn invalid_settings_are_rejected_before_anything_starts() {
    let stage = Stage::new();
    write_sessions(&stage, 1);
    let check = |args: &[&str], variable: (&str, &str), expected: &str| {
        let (name, value) = variable;
        let output = bootstrap(&stage, args).env(name, value).output();
        assert_eq!(output.code, 2, "{}{}", output.stdout, output.stderr);
        assert!(output.stderr.contains(expected), "{}", output.stderr);
    };
    check(
        &["--yes"],
        ("AGENTIC_CONTEXT_BOOTSTRAP_DELAY", "soon"),
        "AGENTIC_CONTEXT_BOOTSTRAP_DELAY is `soon`",
    );
    check(&["--yes"], ("AGENTIC_CONTEXT_TRANSCRIPT_DIR", "/nowhere"), "look for transcripts in /nowhere");
    check(&["--limit", "0"], ("TZ", "UTC"), "--limit");
    check(
        &["--judge", "claude", "--budget", "1"],
        ("TZ", "UTC"),
        "--budget does not work with --judge claude",
    );
    check(&["--budget", "1"], ("ANTHROPIC_MODEL", "a-stranger"), "--budget does not work with a-stranger");
    fs::create_dir(stage.work().join(".claude")).expect("the stage is writable");
    fs::write(stage.work().join(".claude/bootstrap_state.json"), "{").expect("the stage is writable");
    let broken = bootstrap(&stage, &["--yes"]).output();
    assert!(broken.stderr.contains("move it away"), "{}", broken.stderr);
    assert_ne!(broken.code, 0);
}

/// Longhaul does not learn from the judge's own sessions. The user's hooks see `LONGHAUL_JUDGE` in them, and
/// the judge has no tools.
#[test]
fn claude_code_judges_sessions_except_its_own() {
    let scenario = |stage: &Stage, agent: &Path| {
        let server = judge_server();
        write_sessions(stage, 1);
        let hook = |event: &str| {
            let command = format!(
                "echo {event} \"$LONGHAUL_JUDGE\" >> '{}'",
                stage.folder().join("hook-calls").display()
            );
            json!([{ "hooks": [{ "type": "command", "command": command }] }])
        };
        let hooks = json!({ "hooks": { "UserPromptSubmit": hook("prompt"), "SessionEnd": hook("end") } });
        fs::write(stage.user_home().join(".claude/settings.json"), hooks.to_string())
            .expect("the stage is writable");
        let output = bootstrap(stage, &["--yes", "--judge", "claude"])
            .env("LONGHAUL_AGENT_PATH", agent)
            .env("LONGHAUL_CHECK", "false")
            .against(&server)
            .output();
        assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
        assert_eq!(results(&printed(&output)), ["s1 learned"], "{}", output.stderr);
        assert_eq!(points(stage)[0]["text"], "Start the database before the tests.");
        let runs = stage.runs();
        assert_eq!(runs.len(), 2, "a run for each question");
        for run in &runs {
            let plan = run.plan().expect("the run has a plan");
            assert_eq!(plan.spec.name.as_deref(), Some("playbook-judge"));
            assert!(plan.spec.cwd.ends_with("playbook/judge"));
        }
        // `@` means a run of the user.
        let latest = stage.longhaul(["show", "@"]).output();
        assert_eq!(latest.code, 2, "{latest:?}");
        latest.assert_error(&["no run `@`", "judged sessions for the playbook"]);
        let hook_calls = fs::read_to_string(stage.folder().join("hook-calls")).unwrap_or_default();
        assert!(hook_calls.lines().all(|line| line.ends_with(" 1")), "{hook_calls}");
    };
    with_each_agent("sessions judged by Claude Code", Stage::new, scenario);
}

/// The judge reports that its run failed for good, so the question is not asked again.
#[test]
fn claude_code_reports_a_failed_judgment() {
    with_each_agent("a failed judgment by Claude Code", Stage::new, |stage, agent| {
        let message = "prompt is too long: 1200000 tokens > 1000000 maximum";
        let server =
            judge_server_with(&format!("fault = {{ status = {{ code = 400, message = \"{message}\" }} }}"));
        write_sessions(stage, 1);
        let judge = ["--yes", "--judge", "claude"];
        let output = bootstrap(stage, &judge).env("LONGHAUL_AGENT_PATH", agent).against(&server).output();
        assert_eq!(results(&printed(&output)), ["s1 failed"], "{}", output.stderr);
        assert!(output.stderr.contains("ask Claude Code: failed: "), "{}", output.stderr);
        assert_ne!(output.code, 0);
        assert!(!stage.work().join(".claude/bootstrap_state.json").exists(), "a later call may retry");
        let planned = bootstrap(stage, &["--dry-run", "--force"]).against(&server).output();
        assert_eq!(skip_reasons(&printed(&planned)), ["judging_failed"], "{}", planned.stdout);
    });
}

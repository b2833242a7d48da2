//! `--notify`: commands and services that notify the user.
//!
//! Each notification is sent once, even after a takeover. Its result never affects the run.

use crate::call::{Output, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{play_with_each_agent, recover, run_to_mid_tool_with, with_each_agent};
use crate::server::{Server, WORK};
use crate::tidy::all_paths;
use longhaul::{MARKER_VARIABLE, RUN_VARIABLE};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::Duration;

fn run_work(stage: &Stage, args: &[&str]) -> Output {
    let server = Server::start(WORK);
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(&stage.agent(), &base_args).args(args).against(&server).output()
}

/// Returns the notifications that the command `cat >> received` received.
fn received(stage: &Stage) -> Vec<Value> {
    let text = fs::read_to_string(stage.work().join("received")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn notifies_of_outcome() {
    with_each_agent("a notification of the outcome", |stage, agent, server| {
        let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        // When the command is called, the run is already finished.
        let finished = format!("'{LONGHAUL}' show @ --json > shown");
        let notify = ["--notify", "cat >> received", "--notify", &finished];
        let output = stage.run(agent, &base_args).args(notify).against(server).output();
        let envelope = output.envelope(0);
        assert_eq!(output.stderr, "");
        let [notification] = &received(stage)[..] else {
            panic!("not one notification: {:?}", received(stage))
        };
        let (run, id) = (stage.only_run(), envelope["run"]["id"].as_str().expect("the run has an id"));
        let cost = &envelope["usage"]["total_cost_usd"];
        let expected = json!({
            "kind": "outcome",
            "run": id,
            "at": notification["at"],
            "outcome": "done",
            "exit_code": 0,
            "fault": null,
            "limit": null,
            "until": null,
            "attempts": 1,
            "total_cost_usd": cost,
            "task": "p",
            "dir": run.path(),
            "next": format!("longhaul show {id}"),
        });
        assert_eq!(*notification, expected);
        let shown: Value = serde_json::from_slice(
            &fs::read(stage.work().join("shown")).expect("the command wrote its output"),
        )
        .expect("JSON");
        assert_eq!(shown["outcome"], "done", "{shown}");
        let stored =
            fs::read(run.notify_files().record_path("outcome-0")).expect("the notification is stored");
        assert_eq!(serde_json::from_slice::<Value>(&stored).expect("JSON"), expected);
    });
}

#[test]
fn recovered_and_resumed_runs_send_notifications() {
    with_each_agent("notifications after a recovery", |stage, agent, server| {
        run_to_mid_tool_with(stage, agent, server, &["--notify", "cat >> received"]).kill();
        assert!(received(stage).is_empty());
        recover(stage, server, &[]).output().envelope(0);
        assert_eq!(received(stage).len(), 1);
        // A resumed run finishes again and notifies the commands given on resume.
        let command = "sed 's/done/done again/' >> received";
        stage
            .longhaul(["resume", "@", "--repeat-task", "--notify", command])
            .against(server)
            .output()
            .envelope(0);
        assert_eq!(received(stage)[1]["outcome"], "done again");
        assert_eq!(stage.only_run().plan().expect("the plan can be read").spec.notify, [command]);
    });
}

#[test]
fn notifies_of_outcome_once_after_recovery() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let first = run_work(&stage, &["--notify", "cat >> received"]).envelope(0)["duration_ms"].as_u64();
    let run = stage.only_run();
    // First a supervisor that died after the notification, then one that died before it.
    fs::remove_file(run.status_path()).expect("the file exists");
    recover(&stage, &server, &[]).output().envelope(0);
    assert_eq!(received(&stage).len(), 1);
    for path in [run.status_path(), run.notify_files().record_path("outcome-0")] {
        fs::remove_file(path).expect("the file exists");
    }
    let finished = fs::read(run.path().join("logs/session.json")).expect("the file exists");
    thread::sleep(Duration::from_millis(1500));
    let envelope = recover(&stage, &server, &[]).output().envelope(0);
    assert_eq!(received(&stage).len(), 2);
    // The time since the end is no work.
    assert!(envelope["duration_ms"].as_u64() < first.map(|span| span + 1500), "{envelope}");
    assert_eq!(fs::read(run.path().join("logs/session.json")).expect("the file exists"), finished);
}

#[test]
fn notifies_of_need_for_a_person() {
    let work = format!("{WORK}\n[[fault]]\ntimes = \"always\"\nstatus = {{ code = 401 }}\n");
    play_with_each_agent(&work, "a notification that a person is needed", |stage, agent, server| {
        let base_args = ["fix it", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let output =
            stage.run(agent, &base_args).args(["--notify", "cat >> received"]).against(server).output();
        let envelope = output.envelope(23);
        let [notification] = &received(stage)[..] else {
            panic!("not one notification: {:?}", received(stage))
        };
        assert_eq!((&notification["kind"], &notification["fault"]), (&json!("needs_person"), &json!("auth")));
        assert_eq!(
            (&notification["task"], &notification["next"]),
            (&json!("fix it"), &envelope["run"]["resume"])
        );
    });
}

#[test]
fn notifies_of_long_wait_once_across_takeover() {
    // Only accounts have usage limits.
    let scenario =
        format!("auth = 'oauth'\n{WORK}\n[[fault]]\nturn = 2\nusage_limit = {{ reset_s = 3600 }}\n");
    play_with_each_agent(&scenario, "a notification of a long wait", |stage, agent, server| {
        let args = [
            "p",
            "--permission-mode",
            "bypassPermissions",
            "--preset",
            "drill",
            "--notify",
            "cat >> received",
        ];
        let run = stage.run(agent, &args).against(server).start();
        wait_until("the notification arrives", || received(stage).len() == 1);
        run.kill();
        let run = stage.only_run();
        let first_supervisor = run.status().expect("the status can be read").supervisor_pid;
        let recovered = recover(stage, server, &[]);
        let supervisor = || run.status().expect("the status can be read").supervisor_pid;
        wait_until("another supervisor has taken over", || supervisor() != first_supervisor);
        stage.longhaul(["cancel", "@"]).output();
        recovered.output().envelope(130);
        let [wait, outcome] = &received(stage)[..] else {
            panic!("not two notifications: {:?}", received(stage))
        };
        assert_eq!((&wait["kind"], &wait["fault"]), (&json!("waiting"), &json!("usage_limit")));
        assert_eq!(wait["next"], format!("longhaul attach {}", run.id()));
        assert!(wait["until"].as_str() > wait["at"].as_str(), "{wait}");
        assert_eq!((&outcome["kind"], &outcome["outcome"]), (&json!("outcome"), &json!("cancelled")));
    });
}

#[test]
fn command_runs_outside_the_run() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let args =
        ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--notify", "env > environment"];
    let environment = || fs::read_to_string(stage.work().join("environment")).expect("the command ran");
    stage.run(&stage.agent(), &args).against(&server).output().envelope(0);
    // The run marker and the run's other variables are not in its environment.
    assert!(!environment().contains(stage.only_run().id().as_str()), "{}", environment());
    assert!(
        !environment().contains(RUN_VARIABLE) && !environment().contains(MARKER_VARIABLE),
        "{}",
        environment()
    );
    // Variables of outer runs stay.
    let inner = stage.run(&stage.agent(), &args).env(RUN_VARIABLE, "outer").env(MARKER_VARIABLE, "outer/1");
    inner.against(&server).output().envelope(0);
    for line in [format!("\n{RUN_VARIABLE}=outer\n"), format!("\n{MARKER_VARIABLE}=outer/1\n")] {
        assert!(environment().contains(&line), "{}", environment());
    }
}

#[test]
fn failing_command_does_not_affect_run() {
    let stage = Stage::new();
    let output = run_work(
        &stage,
        &["--notify", "cat > /dev/null; echo no server; exit 3", "--notify", "cat >> received"],
    );
    output.envelope(0);
    assert_eq!(received(&stage).len(), 1);
    let run = stage.only_run();
    let log = run.notify_files().log_path("outcome-0", 0);
    assert_eq!(
        fs::read_to_string(&log).expect("the output is stored"),
        "$ cat > /dev/null; echo no server; exit 3\nno server\nlonghaul: it exited with 3\n"
    );
    let warning = format!("failed (outcome): it exited with 3; its output is in {}", log.display());
    assert!(output.stderr.contains(&warning), "{output:?}");
    // A command that does not read its input is notified too.
    run_work(&stage, &["--notify", "true"]).envelope(0);
}

#[test]
fn interrupt_does_not_wait_for_command() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let slow = "touch called; sleep 300 & sleep 300";
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--notify", slow];
    let run = stage.run(&stage.agent(), &args).against(&server).start();
    wait_until("the command runs", || stage.work().join("called").exists());
    run.signal(Signal::INT);
    let output = run.output();
    // The run was done by then.
    output.envelope(0);
    assert!(output.stderr.contains("the run had to finish at once"), "{output:?}");
}

#[test]
fn invalid_command_is_rejected() {
    let stage = Stage::new();
    let check = |args: &[&str], fragments: &[&str]| stage.assert_rejected(args, fragments);
    check(&["--notify", "nfty:topic"], &["there is no program `nfty:topic`"]);
    check(&["--notify", "no-such-program --fast"], &["there is no program `no-such-program`", "reads JSON"]);
    check(&["--notify", "if then"], &["the shell cannot parse it"]);
    check(&["--notify", " "], &["it is empty"]);
    assert!(stage.runs().is_empty());
    let output = stage.longhaul(["recover", "--notify", "if then"]).output();
    assert_eq!(output.code, 2, "{output:?}");
}

/// Answers one HTTP request and returns it once its body is complete.
fn one_request(listener: TcpListener) -> JoinHandle<String> {
    answer_one_request(listener, "200 OK")
}

fn answer_one_request(listener: TcpListener, status: &'static str) -> JoinHandle<String> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client connects");
        let (mut request, mut bytes) = (Vec::new(), [0; 4096]);
        while !is_complete(&String::from_utf8_lossy(&request)) {
            let read = stream.read(&mut bytes).expect("the client writes");
            assert!(read > 0, "the client closed the connection: {}", String::from_utf8_lossy(&request));
            request.extend(&bytes[..read]);
        }
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        stream.write_all(answer.as_bytes()).expect("the client reads");
        String::from_utf8(request).expect("the request is text")
    })
}

fn is_complete(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("a listener has an address").to_string();
    (listener, address)
}

#[test]
fn ntfy_receives_the_outcome() {
    let stage = Stage::new();
    let (listener, address) = listener();
    let request = one_request(listener);
    let output =
        run_work(&stage, &["--run-id", "one", "--notify", &format!("ntfy:http://{address}/my-topic")]);
    output.envelope(0);
    assert_eq!(output.stderr, "");
    let request = request.join().expect("the server received a request");
    assert!(request.starts_with("POST /my-topic HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("Title: run one: done\r\n"), "{request}");
    assert!(
        request.contains("work: 1 attempt, $") && request.ends_with("Next: longhaul show one"),
        "{request}"
    );
}

#[test]
fn slack_receives_the_outcome_and_files_omit_its_url() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let (listener, address) = listener();
    let request = one_request(listener);
    let args =
        ["p", "--permission-mode", "bypassPermissions", "--run-id", "one", "--notify", "slack:MY_WEBHOOK"];
    let run = stage.run(&stage.agent(), &args).against(&server);
    let output = run.env("MY_WEBHOOK", format!("http://{address}/services/secret")).output();
    output.envelope(0);
    let request = request.join().expect("the server received a request");
    assert!(request.starts_with("POST /services/secret HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("Content-Type: application/json\r\n"), "{request}");
    let (_, body) = request.split_once("\r\n\r\n").expect("the request has a body");
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert!(body["text"].as_str().is_some_and(|text| text.starts_with("*run one: done*\n")), "{body}");
    assert_eq!(stage.only_run().plan().expect("the plan can be read").spec.notify, ["slack:MY_WEBHOOK"]);
    for path in all_paths(stage.only_run().path()) {
        let text = fs::read(&path).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&text).contains("services/secret"), "{}", path.display());
    }
}

#[test]
fn desktop_receives_the_outcome() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let program = stage.script("notify-send", "printf '%s|' \"$@\" > \"$HOME/shown\"");
    let path = format!("{}:{}", program.parent().expect("a folder").display(), env!("PATH"));
    let args = ["p", "--permission-mode", "bypassPermissions", "--run-id", "one", "--notify", "desktop"];
    stage.run(&stage.agent(), &args).against(&server).env("PATH", path).output().envelope(0);
    let shown = fs::read_to_string(stage.user_home().join("shown")).expect("the command ran");
    assert!(
        shown.starts_with("--app-name=longhaul|--urgency=normal|--|run one: done|work: 1 attempt, $"),
        "{shown}"
    );
}

#[test]
fn failed_notification_is_reported_and_run_succeeds() {
    let stage = Stage::new();
    let output = run_work(&stage, &["--notify", "ntfy:http://127.0.0.1:1/my-topic"]);
    output.envelope(0);
    assert!(output.stderr.contains("failed (outcome): it exited with 7"), "{output:?}");
}

#[test]
fn redirected_notification_is_reported() {
    let stage = Stage::new();
    let (listener, address) = listener();
    let request = answer_one_request(listener, "302 Found\r\nLocation: http://127.0.0.1:1/");
    let output = run_work(&stage, &["--notify", &format!("ntfy:http://{address}/my-topic")]);
    output.envelope(0);
    request.join().expect("the server received a request");
    assert!(output.stderr.contains("failed (outcome): it exited with 47"), "{output:?}");
}

#[test]
fn unusable_channel_is_rejected() {
    let stage = Stage::new();
    let check = |channel: &str, fragments: &[&str]| {
        let output = stage.run(&stage.agent(), &["p", "--notify", channel]).output();
        assert_eq!(output.code, 2, "{output:?}");
        output.assert_error(fragments);
        assert!(!output.stderr.contains("T0K3N"), "{output:?}");
    };
    check("ntfy:a/b", &["an ntfy topic", "write ntfy:TOPIC"]);
    check(
        "slack:https://hooks.example/T0K3N",
        &["name of an environment variable", "slack:SLACK_WEBHOOK_URL"],
    );
    check("slack:NO_SUCH_VARIABLE", &["NO_SUCH_VARIABLE is not set", "export the variable"]);
    let bare = stage.run(&stage.agent(), &["p", "--notify", "desktop"]).env("PATH", stage.folder()).output();
    assert_eq!(bare.code, 2, "{bare:?}");
    bare.assert_error(&["neither `notify-send` nor `osascript`"]);
    assert!(stage.runs().is_empty());
}

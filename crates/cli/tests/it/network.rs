//! `--network`: the hosts that an agent's commands may reach.
//!
//! Only the real agent enforces this, and only with a sandbox. It must not start without one.

use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::server::Server;
use crate::skipped::skip_test;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Requests a port of this machine twice: directly, and through the proxy.
const TWO_REQUESTS: &str = r#"
I look.
$ curl -s -m 5 --noproxy '*' http://127.0.0.1:PORT/ > direct; curl -s -m 5 --noproxy '' -x "$http_proxy" http://localhost:PORT/ > by_proxy; touch looked
I have looked.
"#;

/// Starts a server that answers every request with `seen` until the test process ends. Returns its port.
fn start_server() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a port");
    let port = listener.local_addr().expect("a listener has an address").port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            // A client may disconnect early.
            let _ = client.read(&mut [0; 4096]);
            let _ =
                client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nseen");
            let _ = client.shutdown(Shutdown::Both);
        }
    });
    port
}

/// Returns the real agent, or `None` if it is missing or cannot have a sandbox.
fn sandboxed_agent(description: &str) -> Option<PathBuf> {
    let claude = claude_code(description)?;
    let succeeds = |program: &str, args: &[&str]| {
        let status = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let needed =
        [("bwrap", "bubblewrap", "--version"), ("socat", "socat", "-V"), ("curl", "curl", "--version")];
    let missing = needed.iter().filter(|(program, _, version)| !succeeds(program, &[version]));
    let missing: Vec<&str> = missing.map(|(_, package, _)| *package).collect();
    if !missing.is_empty() {
        let reason = format!("a sandbox needs {}", missing.join(" and "));
        skip_test(description, &reason, &format!("install {}", missing.join(" ")));
        return None;
    }
    if !succeeds("bwrap", &["--ro-bind", "/", "/", "--unshare-net", "true"]) {
        let remedy =
            "allow this user to create namespaces: `bwrap --ro-bind / / --unshare-net true` must succeed";
        skip_test(description, "bubblewrap cannot isolate the network here", remedy);
        return None;
    }
    Some(claude)
}

/// Returns what the command received: directly, and through the proxy.
fn request_twice(claude: &Path, args: &[&str], user_settings: &str) -> (String, String) {
    let stage = Stage::new();
    let settings = stage.user_home().join(".claude");
    fs::create_dir(&settings).expect("the stage is new");
    fs::write(settings.join("settings.json"), user_settings).expect("the stage is writable");
    let server = Server::start(&TWO_REQUESTS.replace("PORT", &start_server().to_string()));
    let base_args = ["p", "--permission-mode", "bypassPermissions"];
    let envelope = stage.run(claude, &base_args).args(args).against(&server).output().envelope(0);
    assert_eq!(envelope["run"]["outcome"], "done", "{envelope}");
    assert!(stage.work().join("looked").exists(), "the command did not run");
    let received = |name: &str| fs::read_to_string(stage.work().join(name)).expect("the file was written");
    (received("direct"), received("by_proxy"))
}

#[test]
fn commands_reach_only_allowed_hosts() {
    let Some(claude) = sandboxed_agent("restricted network access") else { return };
    let check = |args: &[&str], user_settings: &str, direct: &str, by_proxy: &str| {
        let (actual_direct, actual_by_proxy) = request_twice(&claude, args, user_settings);
        let is_by_proxy_expected =
            if by_proxy.is_empty() { actual_by_proxy != "seen" } else { actual_by_proxy == by_proxy };
        assert!(
            actual_direct == direct && is_by_proxy_expected,
            "{args:?} {user_settings}: {actual_direct:?} {actual_by_proxy:?}"
        );
    };
    check(&[], "{}", "seen", "seen");
    check(&["--network", "none"], "{}", "", "");
    check(&["--network", "localhost"], "{}", "", "seen");
    check(&["--network", "example.com"], "{}", "", "");
    // The user's own settings may allow more hosts, except with `none`.
    let settings = r#"{"sandbox":{"network":{"allowedDomains":["localhost"]}}}"#;
    check(&["--network", "example.com"], settings, "", "seen");
    check(&["--network", "none"], settings, "", "");
}

#[test]
fn sandbox_grants_no_permission() {
    let Some(claude) = sandboxed_agent("permissions in a sandbox") else { return };
    let (stage, server) = (Stage::new(), Server::start(&TWO_REQUESTS.replace("PORT", "1")));
    let args = ["p", "--permission-mode", "default", "--network", "none", "--preset", "drill"];
    let envelope = stage.run(&claude, &args).against(&server).output().envelope(23);
    assert_eq!(envelope["run"]["fault"], "permission", "{envelope}");
    assert!(!stage.work().join("looked").exists());
}

/// With the user's own sandbox, in a mode that asks a person, a command would wait for an answer that never
/// comes.
#[test]
fn unapproved_host_is_denied_at_once() {
    let Some(claude) = sandboxed_agent("an unapproved host") else { return };
    let stage = Stage::new();
    let settings = stage.user_home().join(".claude");
    fs::create_dir(&settings).expect("the stage is new");
    let sandbox = r#"{"sandbox":{"enabled":true},"permissions":{"allow":["Bash"]}}"#;
    fs::write(settings.join("settings.json"), sandbox).expect("the stage is writable");
    let server = Server::start(&TWO_REQUESTS.replace("PORT", "1"));
    let args = ["p", "--permission-mode", "acceptEdits"];
    stage.run(&claude, &args).against(&server).output().envelope(0);
    let stream = fs::read_to_string(stage.only_run().attempt(1).stream_path()).expect("a stream");
    assert!(stream.contains("SandboxNetworkAccess") && stream.contains("(user denied)"), "{stream}");
}

#[test]
fn agent_without_sandbox_does_not_start() {
    let Some(claude) = claude_code("a missing sandbox") else { return };
    let (stage, server) = (Stage::new(), Server::start(TWO_REQUESTS));
    let empty = stage.folder().join("empty");
    fs::create_dir(&empty).expect("the stage is new");
    let run = stage.run(&claude, &["p", "--network", "none"]).env("PATH", &empty).against(&server);
    let output = run.output();
    let envelope = output.envelope(25);
    assert_eq!(envelope["run"]["fault"], "agent_unusable", "{envelope}");
    assert!(envelope["errors"].to_string().contains("andbox"), "{envelope}");
    assert_eq!(server.api.request_log().model_requests(), 0);
}

#[test]
fn plan_stores_allowed_hosts() {
    let (stage, server) = (Stage::new(), Server::start(crate::server::WORK));
    let args = ["p", "--permission-mode", "bypassPermissions", "--network", "example.com,*.example.org:443"];
    stage.run(&stage.agent(), &args).against(&server).output().envelope(0);
    let run = stage.only_run();
    let hosts = run.plan().expect("the plan can be read").spec.network;
    assert_eq!(hosts, Some(vec!["example.com".to_owned(), "*.example.org:443".to_owned()]));
    let argv: Value = serde_json::from_slice(
        &fs::read(run.path().join("attempts/001/argv.json")).expect("the file was written"),
    )
    .expect("valid JSON");
    assert!(argv["args"].to_string().contains("strictAllowlist"), "{argv}");
}

#[test]
fn invalid_host_is_wrong_usage() {
    let stage = Stage::new();
    let check = |args: &[&str], fragments: &[&str]| {
        let output = stage.program(LONGHAUL).args(["run", "p"]).args(args).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        output.assert_error(fragments);
        assert!(!stage.home().exists(), "{args:?} created {}", stage.home().display());
    };
    check(
        &["--network", "https://example.com"],
        &["`https://example.com` is not a host", "hint: name the hosts"],
    );
    check(&["--network", "*"], &["`*` is not a host", "hint:"]);
    check(&["--network", ""], &["`` is not a host", "hint:"]);
    check(&["--network", "none,example.com"], &["hosts in addition to `none`", "hint: name either"]);
    check(
        &["--network", "none", "--", "--settings", "{}"],
        &["`--settings` cannot be passed", "hint: leave out one of them"],
    );
    check(&["--network", "none", "--", "--settings={}"], &["`--settings` cannot be passed"]);
}

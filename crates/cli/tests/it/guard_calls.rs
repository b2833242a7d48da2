//! Guards that inspect the arguments of a call: a call that names a blocked URL or path is denied, however
//! the agent spells it, and also after a takeover. No call in these tests could reach a host: names below
//! `.example` do not resolve. Tests run with every available agent.

use crate::guards::{check_denied_after_takeover, run};
use crate::harness::{Stage, claude_code};
use crate::recovering::{play_with_each_agent, slow_step_then};
use crate::server::Server;
use serde_json::Value;
use std::fs;

/// A scenario with several spellings of a blocked URL, and steps that only resemble one.
const URLS: &str = r#"
I look.
$ touch looked; curl -s http://blocked.example/
$ touch quoted; wget -q http://blo'ck'ed.%65xample/x
! call = { name = "WebFetch", input = { url = "https://www.blocked.example/", prompt = "What is it?" } }
I continue.
$ echo notblocked.example >> harmless; mkdir -p ./sites/blocked.example
! write = { path = "refs.bib", content = "url = {https://blocked.example/7}" }
That is all that I could do.
"#;

/// A scenario with several spellings of a blocked file, and with files next to it.
const FILES: &str = r#"
I look.
$ touch looked; cat ans'wers'/1.txt
$ cd answers && touch listed
! write = { path = "answers/2.txt", content = "x" }
I continue.
$ echo answered > answers.md
! write = { path = "answers-2.txt", content = "x" }
That is all that I could do.
"#;

fn stream(stage: &Stage) -> String {
    fs::read_to_string(stage.only_run().attempt(1).stream_path()).unwrap_or_default()
}

#[test]
fn call_with_a_blocked_url_is_denied() {
    play_with_each_agent(URLS, "blocking a URL", |stage, agent, server| {
        let envelope =
            run(stage, agent, server, &["--block-url", "blocked.example", "--keep-partial-messages"]);
        assert_eq!(envelope["run"]["denied_calls"], 4, "{envelope}");
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        let exists = |name: &str| stage.work().join(name).exists();
        assert!(!exists("looked") && !exists("quoted") && !exists("refs.bib"));
        assert!(exists("harmless") && exists("sites/blocked.example"));
        assert!(stream(stage).contains("blocked.example is blocked in this run. Continue without it"));
        let plan = stage.only_run().plan().expect("the plan can be read");
        assert_eq!(plan.spec.guards.block_urls, ["blocked.example"]);
        let text = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
        assert!(text.contains("attempt 1: 4 tool calls were denied"), "{text}");
    });
}

#[test]
fn list_of_urls_is_stored_with_the_run() {
    play_with_each_agent(URLS, "blocking a list of URLs", |stage, agent, server| {
        let list =
            stage.file("blocked.yaml", "blocked_urls:\n  - other.example\n  - https://*.blocked.example/\n");
        let list = list.display().to_string();
        let envelope = run(stage, agent, server, &["--block-urls-file", &list, "--block-url", "a.test"]);
        // The pattern blocks only names below the host.
        assert_eq!(envelope["run"]["denied_calls"], 1, "{envelope}");
        let plan = stage.only_run().plan().expect("the plan can be read");
        assert_eq!(plan.spec.guards.block_urls, ["a.test", "other.example", "https://*.blocked.example/"]);
    });
}

/// Claude Code searches through the API, in a separate request.
#[test]
fn search_excludes_blocked_hosts() {
    let Some(claude) = claude_code("blocked hosts in a search") else { return };
    let stage = Stage::new();
    let server = Server::start(
        r#"
I search.
! call = { name = "WebSearch", input = { query = "a topic" } }
That is all that I could do.
"#,
    );
    let blocked = ["--block-url", "blocked.example", "--block-url", "https://other.example/papers/*"];
    let envelope = run(&stage, &claude, &server, &blocked);
    assert_eq!(envelope["run"]["denied_calls"], 0, "{envelope}");
    let request_log = server.api.request_log();
    let filtered: Vec<_> =
        request_log.requests.iter().filter(|request| !request.blocked_domains.is_empty()).collect();
    // Only a part of the other host is blocked, and the API can only exclude whole hosts.
    assert_eq!(filtered.len(), 1, "{:?}", request_log.requests);
    assert_eq!(filtered[0].blocked_domains, ["blocked.example"]);
}

#[test]
fn call_with_a_blocked_path_is_denied() {
    play_with_each_agent(FILES, "blocking a path", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--block-path", "answers", "--block-path", "~/.ssh"]);
        assert_eq!(envelope["run"]["denied_calls"], 3, "{envelope}");
        let exists = |name: &str| stage.work().join(name).exists();
        assert!(!exists("looked") && !exists("answers"));
        assert!(exists("answers.md") && exists("answers-2.txt"));
        let plan = stage.only_run().plan().expect("the plan can be read");
        assert_eq!(plan.spec.guards.block_paths, ["answers", "~/.ssh"]);
        assert_eq!(plan.spec.guards.home.as_deref(), stage.user_home().to_str());
    });
}

#[test]
fn dry_run_shows_the_guards() {
    let stage = Stage::new();
    let args = [
        "p",
        "--dry-run",
        "--block-url",
        "https://A.test/x/*",
        "--block-path",
        "answers",
        "--deny-tools",
        "Web*",
    ];
    let dry_run = |format: &str| stage.run(&stage.agent(), &args).args(["--output-format", format]).output();
    let text = dry_run("text").stdout;
    assert!(
        text.contains("block_paths: answers\nblock_urls: https://A.test/x/*\ndeny_tools: Web*\n"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&dry_run("json").stdout).expect("a plan is shown");
    assert_eq!(json["guards"]["block_urls"][0], "https://A.test/x/*", "{json}");
    assert!(stage.runs().is_empty());
}

#[test]
fn takeover_keeps_blocked_urls() {
    let step = r#"bash = { command = "touch looked; curl -s http://blocked.example/papers/7" }"#;
    play_with_each_agent(&slow_step_then(step), "blocking after a recovery", |stage, agent, server| {
        let guard = ["--block-url", "https://blocked.example/papers/*"];
        check_denied_after_takeover(stage, agent, server, &guard);
        assert!(!stage.work().join("looked").exists());
    });
}

#[test]
fn invalid_pattern_is_a_usage_error() {
    let stage = Stage::new();
    let assert_rejected = |args: &[&str], fragments: &[&str]| stage.assert_rejected(args, fragments);
    for (pattern, message) in [
        ("", "empty pattern"),
        ("*", "names no host"),
        ("http://", "names no host"),
        ("a.test b.test", "spaces"),
        ("exam*ple.test", "is not a host"),
        ("a.test:0", "no port"),
        ("10.0.0.0/8", "range of addresses"),
    ] {
        assert_rejected(&["--block-url", pattern], &[message]);
    }
    for (path, message) in [
        ("", "empty path"),
        ("/", "contains the agent's working directory"),
        (".", "contains the agent's working directory"),
        ("~x/y", "home directory"),
    ] {
        assert_rejected(&["--block-path", path], &[message, "hint:"]);
    }
    let file = |name: &str, text: &[u8]| stage.file(name, text).display().to_string();
    for (path, message) in [
        ("/nowhere/blocked.txt".to_owned(), "No such file"),
        (file("empty.txt", b"# nothing\n"), "contains no pattern"),
        (file("torn.json", b"{\"urls\": ["), "not JSON"),
        (file("other.yaml", b"sites:\n  - a.test\n"), "no list of strings named"),
        (file("wrong.txt", b"a.test\nhttp://\n"), "line 2"),
        (file("latin.txt", b"caf\xe9.test"), "UTF-8"),
    ] {
        assert_rejected(&["--block-urls-file", &path], &[message, "hint:"]);
    }
    assert!(stage.runs().is_empty());
}

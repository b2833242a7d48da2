//! `longhaul mcp`: tools, ceilings, progress, reports and clients that disappear. The client here writes the protocol's
//! lines itself.

mod client;
mod sdk;

use crate::call::wait_until;
use crate::gsd;
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::server::Server;
use crate::workflows::{self, run_loop};
use client::Client;
use longhaul::RUN_VARIABLE;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Work that `acceptEdits` permits.
const WORK: &str = "
I write the file.
! write = { path = 'hello.txt', content = 'hello' }
All done: hello.txt says hello.
";

/// A command that runs until its run is stopped.
const LONG: &str = "
I wait.
$ sleep 300
Done.
";

#[test]
fn a_client_starts_a_run_and_waits_for_its_end() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let mut client = Client::start(&stage, &server, &[]);
    let started = client.call("run", json!({ "prompt": "write the file", "name": "first" }));
    let id = started["structuredContent"]["run"]["id"].as_str().expect("a run has an id").to_owned();
    assert_eq!(started["isError"], false);

    let (attached, progress) = client.call_with_progress("attach", json!({ "run": id }));
    assert_eq!(attached["structuredContent"]["run"]["outcome"], "done");
    assert_eq!(attached["structuredContent"]["result"], "All done: hello.txt says hello.");
    drop(progress);

    // Tools accept the name and `@` as commands do.
    let shown = client.call("show", json!({ "run": "first" }));
    assert_eq!(shown["structuredContent"]["id"], id.as_str());
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text(&client.call("logs", json!({}))).contains("hello.txt"));
    assert!(text(&client.call("why", json!({}))).contains(&id));
    assert_eq!(client.call("status", json!({}))["structuredContent"]["runs"], json!([]));
    let cost = client.call("cost", json!({ "by": "run" }));
    assert_eq!(cost["structuredContent"]["rows"][0]["key"], id.as_str());
    client.close();
}

#[test]
fn a_switch_that_is_off_overrides_the_configuration() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    fs::create_dir_all(stage.user_home().join(".config/longhaul")).expect("the stage is writable");
    stage.file("user/.config/longhaul/config.toml", "keep_going = true\nbudget = 5\n");
    let mut client = Client::start(&stage, &server, &[]);
    let started = client.call("run", json!({ "prompt": "write the file", "keep_going": false }));
    let id = started["structuredContent"]["run"]["id"].as_str().expect("a run has an id").to_owned();
    client.call("attach", json!({ "run": id }));
    assert!(stage.only_run().plan().expect("a plan").spec.policy.keep_going.is_none());
    client.close();
}

#[test]
fn a_client_that_disconnects_leaves_its_run_to_the_supervisor() {
    // The protocol library gives open requests five seconds after the end of the input.
    let slow = WORK.replace("write the file.", "wait.\n$ sleep 6\nI write the file.");
    for leave in [Client::kill, Client::close] {
        let stage = Stage::new();
        let server = Server::start(&slow);
        let mut client = Client::start(&stage, &server, &["--max-permission-mode", "bypassPermissions"]);
        client.send_call("run", json!({ "prompt": "write the file", "detached": false }), None);
        // The request is in progress, and the client is gone.
        stage.wait_for_run();
        leave(client);
        let run = stage.runs().remove(0);
        let attached = stage.longhaul(["attach", run.id().as_str()]).output();
        assert_eq!(attached.envelope(0)["run"]["outcome"], "done");
    }
}

#[test]
fn cancelling_the_request_cancels_a_run_that_is_tied_to_it() {
    let (stage, _server, mut client) = start_with_every_mode(LONG);
    let id = client.send_call("run", json!({ "prompt": "wait", "detached": false }), Some("progress"));
    stage.wait_for_run();
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    let run = stage.runs().remove(0);
    let attached = stage.longhaul(["attach", run.id().as_str()]).output();
    assert_eq!(attached.envelope(130)["run"]["outcome"], "cancelled");
    // The server continues to answer, and a second cancel is an error that says so.
    let again = client.call("cancel", json!({ "run": run.id().as_str() }));
    assert_eq!(again["isError"], true);
    assert!(again["content"][0]["text"].as_str().is_some_and(|text| text.contains("finished")), "{again}");
    client.close();
}

#[test]
fn a_tied_run_reports_progress_and_its_outcome() {
    let stage = Stage::new();
    let server = Server::start(&format!("{WORK}\n[[fault]]\nturn = 1\nstatus = {{ code = 529 }}\n"));
    let mut client = Client::start(&stage, &server, &[]);
    let (result, progress) = client.call_with_progress("run", json!({ "prompt": "x", "detached": false }));
    assert_eq!(result["structuredContent"]["run"]["outcome"], "done", "{result}");
    assert!(progress.iter().any(|line| line.contains("overloaded")), "{progress:?}");
    client.close();
}

#[test]
fn a_server_inside_a_run_waits_for_its_runs() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let mut client = Client::start_with(&stage, &server, &[], &[(RUN_VARIABLE, "outer")]);
    let result = client.call("run", json!({ "prompt": "write the file" }));
    assert_eq!(result["structuredContent"]["run"]["outcome"], "done", "{result}");
    // The agent may still ask for it, and learns what happens then.
    let result = client.call("run", json!({ "prompt": "write the file", "detached": true }));
    let run = json!({ "run": result["structuredContent"]["run"]["id"] });
    let warning = result["content"][1]["text"].as_str().unwrap_or_default();
    assert!(warning.contains("ends with run outer, in which it was started"), "{result}");
    client.call("attach", run);
    client.close();
}

/// Starts a client of a server that allows every permission mode.
fn start_with_every_mode(scenario: &str) -> (Stage, Server, Client) {
    let (stage, server) = (Stage::new(), Server::start(scenario));
    let client = Client::start(&stage, &server, &["--max-permission-mode", "bypassPermissions"]);
    (stage, server, client)
}

#[test]
fn a_calm_run_reports_progress() {
    let (_stage, _server, mut client) = start_with_every_mode(LONG);
    let started = client.call("run", json!({ "prompt": "wait" }));
    let run = json!({ "run": started["structuredContent"]["run"]["id"] });
    client.send_call("attach", run.clone(), Some("progress"));
    while client.next_progress() != "still running" {}
    assert_eq!(client.call("cancel", run)["isError"], false);
    client.close();
}

#[test]
fn a_server_that_starts_in_every_directory_needs_a_ceiling() {
    let stage = Stage::new();
    for dir in [Path::new("/"), &stage.user_home()] {
        let rejected = stage.longhaul(["mcp"]).in_dir(dir).output();
        assert_eq!(rejected.code, 2, "{rejected:?}");
        rejected.assert_error(&["which contains every project", "--allow-dir"]);
    }
}

#[test]
fn a_run_that_needs_a_person_says_what_to_do() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let mut client = Client::start(&stage, &server, &["--max-permission-mode", "plan"]);
    let result = client.call("run", json!({ "prompt": "write the file", "detached": false }));
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["run"]["outcome"], "needs_person", "{result}");
    let advice = result["content"][1]["text"].as_str().unwrap_or_default();
    assert!(advice.contains("needs_person") && advice.contains("`longhaul resume "), "{advice}");
    client.close();
}

/// Starts a run as a person does, and returns its id once it is done.
fn run_of_person(stage: &Stage, server: &Server, dir: &Path, args: &[&str]) -> String {
    let call = stage.longhaul(["run", "x"]).args(args).env("LONGHAUL_AGENT_PATH", stage.agent());
    let output = call.in_dir(dir).against(server).output();
    output.envelope(0)["run"]["id"].as_str().expect("a run has an id").to_owned()
}

#[test]
fn a_call_never_exceeds_the_ceilings() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    // A person has started a run with more rights, and one elsewhere.
    let person = |dir: &Path, args: &[&str]| run_of_person(&stage, &server, dir, args);
    let powerful = person(&stage.work(), &["--permission-mode", "bypassPermissions", "--budget", "3"]);
    let expensive = person(&stage.work(), &["--budget", "100", "--permission-mode", "acceptEdits"]);
    let elsewhere = stage.folder().join("elsewhere");
    fs::create_dir(&elsewhere).expect("the stage is writable");
    let elsewhere = person(&elsewhere, &["--permission-mode", "acceptEdits"]);
    // The agent of a run has written a run directory of its own into the workspace.
    let forged = stage.work().join("forged");
    let copied = Command::new("cp").args(["-r".as_ref(), stage.runs()[0].path(), &forged]).status();
    assert!(copied.is_ok_and(|status| status.success()));

    // The directory of this run is in the workspace. The home has a link to it.
    let linked = person(&stage.work(), &["--runs-dir", "out", "--permission-mode", "acceptEdits"]);

    let mut client = Client::start(&stage, &server, &["--max-budget", "5"]);
    let mut error = |tool: &str, arguments: Value| {
        let result = client.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    assert!(error("run", json!({ "prompt": "x", "check": ["true"] })).contains("no such argument"));
    assert!(error("run", json!({ "prompt": "x", "budget": 6 })).contains("--max-budget"));
    assert!(error("run", json!({ "prompt": "x", "cwd": "/" })).contains("--allow-dir"));
    assert!(
        error("run", json!({ "prompt": "x", "permission_mode": "bypassPermissions" }))
            .contains("--max-permission-mode")
    );
    assert!(
        error("resume", json!({ "run": powerful, "prompt": "x" })).contains("`bypassPermissions` is above")
    );
    assert!(error("run", json!({ "prompt": "x", "key": powerful, "retry": true })).contains("is above"));
    assert!(error("recover", json!({ "run": powerful })).contains("is above"));
    assert!(error("recover", json!({ "run": expensive })).contains("--max-budget"));
    assert!(error("resume", json!({ "run": linked, "prompt": "x" })).contains("is not stored in the home"));
    assert!(error("run", json!({ "prompt": "x", "key": expensive })).contains("--max-budget"));
    for tool in ["show", "resume", "recover"] {
        let run = forged.to_string_lossy();
        assert!(error(tool, json!({ "run": run })).contains("is not stored in the home"), "{tool}");
    }
    let cheaper = json!({ "run": powerful, "prompt": "x", "permission_mode": "plan", "add_budget": 3 });
    assert!(error("resume", cheaper).contains("--max-budget"));
    // Nothing stands for a run, a directory or a mode unless it is one.
    for (tool, arguments) in [
        ("cancel", json!({})),
        ("cancel", json!({ "run": 3 })),
        ("cancel", json!({ "run": null })),
        ("recover", json!({ "run": [] })),
        ("run", json!({ "prompt": "x", "permission_mode": 1 })),
        ("run", json!({ "prompt": "x", "budget": "much" })),
    ] {
        let text = error(tool, arguments);
        let is_about_argument = ["required", "expected"].iter().any(|word| text.contains(word));
        assert!(is_about_argument, "{tool}: {text}");
    }
    for tool in ["show", "why", "logs", "diff", "resume", "recover", "attach", "cancel"] {
        assert!(error(tool, json!({ "run": elsewhere })).contains("is outside of"), "{tool}");
    }
    assert!(error("run", json!({ "prompt": "x", "key": elsewhere })).contains("is outside of"));
    assert!(error("loop", json!({ "file": "ralph" })).contains("there is no tool `loop`"));
    assert_eq!(stage.runs().len(), 4);

    // What it may do, it does within the ceilings.
    let nulls =
        json!({ "prompt": "x", "detached": false, "permission_mode": null, "budget": null, "cwd": null });
    let started = client.call("run", nulls);
    assert_eq!(started["structuredContent"]["run"]["outcome"], "done");
    let spec = stage.runs().remove(0).plan().expect("a run has a plan").spec;
    assert_eq!(spec.permission_mode.as_deref(), Some("acceptEdits"));
    assert_eq!(spec.policy.limits.budget.map(|budget| budget.as_dollars()), Some(5.0));
    client.close();
}

#[test]
fn the_latest_run_is_that_of_an_allowed_directory() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let elsewhere = stage.folder().join("elsewhere");
    fs::create_dir(&elsewhere).expect("the stage is writable");
    let run_in = |dir: &Path| run_of_person(&stage, &server, dir, &["--permission-mode", "acceptEdits"]);
    let workflow_in = |dir: &Path| {
        let file = "[[phase]]\nname = \"work\"\nprompt = \"Write.\"\n";
        let output = run_loop(&stage, &server, file, &[dir.to_str().expect("a text")]).output();
        workflows::envelope(&output, 0)["workflow"]["id"].as_str().expect("an id").to_owned()
    };
    run_in(&elsewhere);
    workflow_in(&elsewhere);

    let mut client = Client::start(&stage, &server, &[]);
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let latest = json!({ "run": "@" });
    let any = ["show", "why", "logs", "diff"].map(|tool| (tool, json!({})));
    let named = ["show", "why", "resume", "recover", "attach", "cancel"].map(|tool| (tool, latest.clone()));
    for (tool, arguments) in any.into_iter().chain(named) {
        let result = client.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let text = text(&result);
        assert!(
            text.starts_with("no run in the allowed directories yet\nhint: the tool `run`"),
            "{tool}: {text}"
        );
    }

    let (first, second) = (run_in(&stage.work()), run_in(&stage.work()));
    run_in(&elsewhere);
    for (arguments, id) in [(json!({}), &second), (latest, &second), (json!({ "run": "@-1" }), &first)] {
        let shown = client.call("show", arguments);
        assert_eq!(shown["structuredContent"]["id"], id.as_str(), "{shown}");
    }
    let report = client.request("resources/read", json!({ "uri": "longhaul://runs/@/report" }));
    assert!(report["contents"][0]["text"].as_str().is_some_and(|text| text.contains(&second)), "{report}");
    let missing = client.call("show", json!({ "run": "@-2" }));
    assert!(text(&missing).starts_with("no run `@-2` in the allowed directories\nhint: "), "{missing}");
    assert!(text(&client.call("show", json!({ "run": "@x" }))).contains("is not an id prefix"));

    let workflow = workflow_in(&stage.work());
    run_in(&elsewhere);
    let why = client.call("why", json!({}));
    assert!(text(&why).contains(&workflow), "{why}");
    client.close();
}

#[test]
fn the_command_that_a_shortened_result_names_prints_all_of_it() {
    // Words instead of one long word, as an agent writes them.
    let answer = format!("All done:{}", " hello".repeat(8_000));
    let (stage, server) =
        (Stage::new(), Server::start(&WORK.replace("All done: hello.txt says hello.", &answer)));
    let mut client = Client::start(&stage, &server, &[]);
    let result = client.call("run", json!({ "prompt": "write the file", "detached": false }));
    let id = result["structuredContent"]["run"]["id"].as_str().expect("a run has an id");
    let note = result["content"].as_array().and_then(|content| content.last()).expect("it has texts");
    assert_eq!(note["text"], format!("shortened; `longhaul attach {id} --json` prints all of it"));
    let printed = stage.longhaul(["attach", id, "--json"]).output().envelope(0);
    assert_eq!(printed["result"], answer.as_str());
    assert_eq!(stage.runs().len(), 1);
    client.close();
}

#[test]
fn reports_are_resources() {
    let (_stage, _server, mut client) = start_with_every_mode(LONG);
    let started = client.call("run", json!({ "prompt": "wait", "name": "watched" }));
    let id = started["structuredContent"]["run"]["id"].as_str().expect("a run has an id").to_owned();
    let uri = format!("longhaul://runs/{id}/report");
    let listed = client.request("resources/list", json!({}));
    assert_eq!(
        (&listed["resources"][0]["uri"], &listed["resources"][0]["name"]),
        (&json!(uri), &json!("watched"))
    );
    assert_eq!(
        client.call("cancel", json!({ "run": id, "now": true }))["structuredContent"]["run"]["outcome"],
        "cancelled"
    );
    let read = client.request("resources/read", json!({ "uri": uri }));
    assert!(read["contents"][0]["text"].as_str().is_some_and(|text| text.contains("cancelled")), "{read}");
    for unknown in ["longhaul://runs/nope/report", "file:///etc/passwd", "longhaul://runs/../report"] {
        let error = client.request_error("resources/read", json!({ "uri": unknown }));
        assert!(error["message"].as_str().is_some_and(|text| text.contains("no ")), "{error}");
    }
    client.close();
}

#[test]
fn a_client_executes_a_phase_of_a_gsd_project() {
    let stage = gsd::planned();
    let server = Server::start(gsd::EXECUTE_ALONE);
    stage.file("started", "");
    let mut client = Client::start(&stage, &server, &["--max-permission-mode", "bypassPermissions"]);
    let status = client.call("gsd_status", json!({}));
    assert_eq!(status["structuredContent"]["result"]["current_phase"], 1, "{status}");
    client.call("gsd_execute_phase", json!({ "phase": 1 }));
    let executed = client.call("attach", json!({ "run": "gsd-execute-phase-1" }));
    assert_eq!(executed["structuredContent"]["result"], "Both plans are executed.", "{executed}");
    let again = client.call("gsd_plan_phase", json!({ "phase": "1" }));
    assert_eq!(again["structuredContent"]["result"], "Phase 1 is already planned: 2 plans.", "{again}");
    let unknown = client.call("gsd_execute_phase", json!({ "phase": 9 }));
    assert_eq!(unknown["isError"], true, "{unknown}");
    let idea = client.call("gsd_new_project", json!({ "idea": "/etc/hostname" }));
    assert!(
        idea["content"][1]["text"].as_str().is_some_and(|text| text.contains("is already a project")),
        "{idea}"
    );
    client.close();
}

#[test]
fn an_unfinished_gsd_run_of_a_person_is_not_continued_below_its_rights() {
    let stage = gsd::planned();
    let server = Server::start(gsd::EXECUTE_ALONE);
    let running = gsd::gsd(&stage, &stage.agent(), &server, &["execute-phase", "1"]).start();
    wait_until("the second plan is in progress", || stage.folder().join("started").exists());
    running.kill();
    let mut limited = Client::start(&stage, &server, &[]);
    for tool in ["gsd_execute_phase", "gsd_plan_phase"] {
        let refused = limited.call(tool, json!({ "phase": 1 }));
        assert_eq!(refused["isError"], true, "{refused}");
        let error = format!("cannot continue run {}: permission_mode: ", stage.only_run().id());
        let text = refused["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with(&error) && text.contains("is above the ceiling"), "{refused}");
    }
    limited.close();
    assert_eq!((stage.runs().len(), stage.longhaul(["cancel", "@"]).output().code), (1, 0));
}

#[test]
fn a_retry_by_key_keeps_the_checks_and_guards_of_the_run() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let person = |key: &str, args: &[&str]| {
        let call = stage.longhaul(["run", "x", "--permission-mode", "acceptEdits", "--key", key]).args(args);
        call.env("LONGHAUL_AGENT_PATH", stage.agent()).in_dir(&stage.work()).against(&server).output()
    };
    person("checked", &["--check", "false", "--max-failed-checks", "1"]).envelope(24);
    let broken = stage.script("broken", "exit 1").display().to_string();
    person("guarded", &["--deny-tools", "WebFetch", "--agent-path", &broken]).envelope(25);
    person("limited", &["--max-turns", "1"]).envelope(22);

    let mut client = Client::start(&stage, &server, &[]);
    let call =
        |key: &str, retry: bool| json!({ "prompt": "x", "key": key, "retry": retry, "detached": false });
    for (key, setting) in [("checked", "checks"), ("guarded", "guards")] {
        let refused = client.call("run", call(key, true));
        let text = refused["content"][0]["text"].as_str().unwrap_or_default();
        let error = format!("key: cannot repeat run {key} below the ceiling `acceptEdits` of this server");
        assert!(text.starts_with(&error) && text.contains(&format!("its {setting}")), "{refused}");
    }
    // Without `retry`, the call only prints the result.
    let printed = client.call("run", call("checked", false));
    assert_eq!(printed["structuredContent"]["run"]["outcome"], "check_failed", "{printed}");
    // A run with the same rights is repeated.
    let repeated = client.call("run", call("limited", true));
    assert_eq!(repeated["structuredContent"]["run"]["outcome"], "done", "{repeated}");
    client.close();
}

#[test]
fn a_wrong_budget_is_rejected_by_name() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    for (flags, allowed) in [(&[][..], "or \"none\""), (&["--max-budget", "5"][..], "at most 5.00")] {
        let mut client = Client::start(&stage, &server, flags);
        for budget in [json!(0), json!(-1), json!("0"), json!("much")] {
            let rejected = client.call("run", json!({ "prompt": "x", "budget": budget }));
            let text = rejected["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.starts_with("budget: ") && text.contains(allowed), "{budget}: {rejected}");
        }
        client.close();
    }
    assert!(stage.runs().is_empty());
}

#[test]
fn a_directory_that_became_a_link_leads_nowhere() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let (dir, elsewhere) = (stage.work().join("dir"), stage.folder().join("elsewhere"));
    [&dir, &elsewhere].iter().for_each(|dir| fs::create_dir(dir).expect("the stage is writable"));
    let run = run_of_person(&stage, &server, &dir, &["--permission-mode", "acceptEdits"]);
    fs::rename(&dir, stage.work().join("moved")).expect("it exists");
    symlink(&elsewhere, &dir).expect("the stage is writable");
    let mut client = Client::start(&stage, &server, &[]);
    for arguments in [json!({ "run": run, "prompt": "x" }), json!({ "prompt": "x", "key": run })] {
        let tool = if arguments["run"].is_null() { "run" } else { "resume" };
        let refused = client.call(tool, arguments);
        assert!(
            refused["content"][0]["text"].as_str().is_some_and(|text| text.contains("is outside of")),
            "{refused}"
        );
    }
    client.close();
}

#[test]
fn a_workflow_is_a_tool_if_every_mode_is_allowed() {
    let (stage, server, mut client) = start_with_every_mode(WORK);
    let workflow =
        json!({ "file": "ralph", "set": ["task=write the file", "check=test -e hello.txt"], "name": "w" });
    client.call("loop", workflow);
    let attached = client.call("attach", json!({ "run": "w" }));
    assert_eq!(attached["structuredContent"]["workflow"]["outcome"], "done", "{attached}");
    for tool in ["show", "why"] {
        assert_eq!(client.call(tool, json!({ "run": "w" }))["isError"], false, "{tool}");
    }
    client.close();

    // Its runs have rights of their own, which a server with a lower ceiling does not extend.
    let mut limited = Client::start(&stage, &server, &[]);
    let refused = limited.call("resume", json!({ "run": "w" }));
    assert!(
        refused["content"][0]["text"].as_str().is_some_and(|text| text.contains("of their own")),
        "{refused}"
    );
    limited.close();
}

#[test]
fn a_run_of_a_workflow_is_recovered_only_with_the_rights_of_the_workflow() {
    let (stage, server) = (Stage::new(), Server::start(LONG));
    let workflow = "[[phase]]\nname = \"work\"\nprompt = \"Wait.\"\n";
    let running = run_loop(&stage, &server, workflow, &[]).start();
    stage.wait_for_run();
    running.kill();
    let run = stage.runs()[0].id().to_string();
    let mut limited = Client::start(&stage, &server, &[]);
    let refused = limited.call("recover", json!({ "run": run }));
    assert!(
        refused["content"][0]["text"].as_str().is_some_and(|text| text.contains("of their own")),
        "{refused}"
    );
    limited.close();
    let cancelled = stage.longhaul(["cancel", "@"]).against(&server).output();
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
}

#[test]
fn survives_a_client_that_sends_garbage() {
    let stage = Stage::new();
    let server = Server::start(WORK);
    let mut client = Client::start(&stage, &server, &[]);
    client.write("garbage\n\n{\"jsonrpc\":\"2.0\"}\n[1]\n");
    for (tool, arguments) in [
        ("run", json!({})),
        ("run", json!({ "prompt": 1 })),
        ("show", json!({ "run": "nope" })),
        ("cancel", json!({})),
    ] {
        let result = client.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
    }
    let error = client.request_error("tools/call", json!({ "name": 7 }));
    assert!(error["code"].is_i64(), "{error}");
    assert_eq!(client.call("status", json!({}))["isError"], false);
    assert!(stage.runs().is_empty());
    client.close();

    // A person who starts the server by hand learns what it is for.
    let by_hand = stage.longhaul(["mcp"]).stdin("hello\n").output();
    assert_eq!((by_hand.code, by_hand.stdout.as_str()), (0, ""));
    let not_a_handshake = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    let refused = stage.longhaul(["mcp"]).stdin(not_a_handshake).output();
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("longhaul mcp install"), "{}", refused.stderr);
}

#[test]
fn install_writes_a_configuration_that_clients_read() {
    let stage = Stage::new();
    for (client, file, key) in [
        ("claude-code", ".mcp.json", "mcpServers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
    ] {
        let install = |more: &[&str]| {
            let words = ["mcp", "install", "--client", client, "--max-budget", "2"];
            stage.longhaul(words).args(more).in_dir(&stage.work()).output()
        };
        let printed: Value = serde_json::from_str(&install(&["--json"]).stdout).expect("it is JSON");
        let content = printed["content"].as_str().expect("it is a text");
        let printed: Value = serde_json::from_str(content).expect("it is JSON");
        assert!(!stage.work().join(file).exists());
        assert!(install(&["--write"]).stdout.starts_with("installed: "));
        assert!(install(&["--write"]).stdout.starts_with("nothing to change: "));
        let written = fs::read_to_string(stage.work().join(file)).expect("it was written");
        assert_eq!(serde_json::from_str::<Value>(&written).expect("it is JSON"), printed);
        let server = &printed[key]["longhaul"];
        assert_eq!(server["command"], LONGHAUL);
        assert_eq!(server["args"], json!(["mcp", "--max-permission-mode=acceptEdits", "--max-budget=2"]));
        assert_eq!(server["env"]["LONGHAUL_HOME"], stage.home().to_string_lossy().as_ref());
    }
    let install = || stage.longhaul(["mcp", "install", "--client", "claude-code", "--json"]);
    // The client starts the server in another directory than this one.
    let relative = install().in_dir(&stage.work()).env("LONGHAUL_HOME", "state").output();
    let hint = format!("export LONGHAUL_HOME={}", stage.work().join("state").display());
    relative.assert_error(&["LONGHAUL_HOME is not an absolute path: `state`", &hint]);
    // As the server does when the client starts it there.
    let refused = install().in_dir(&stage.user_home()).output();
    assert_eq!(refused.code, 2, "{refused:?}");
    refused.assert_error(&["which contains every project", "--allow-dir"]);
    let codex = stage.longhaul(["mcp", "install", "--client", "codex", "--write"]).output();
    assert!(codex.stdout.starts_with("installed: "), "{}", codex.stderr);
    let written = fs::read_to_string(stage.user_home().join(".codex/config.toml")).expect("it was written");
    let table: toml::Table = toml::from_str(&written).expect("it is TOML");
    assert_eq!(table["mcp_servers"]["longhaul"]["command"].as_str(), Some(LONGHAUL));
}

#[test]
fn install_never_damages_a_file() {
    let stage = Stage::new();
    let file = stage.user_home().join(".codex/config.toml");
    fs::create_dir_all(file.parent().expect("it has a parent")).expect("the home is writable");
    let install = |more: &[&str]| stage.longhaul(["mcp", "install", "--client", "codex"]).args(more).output();
    for text in
        ["mcp_servers = { other = { command = \"x\" } }\n", "[mcp_servers.longhaul]\ncommand = \"x\"\n", "["]
    {
        fs::write(&file, text).expect("the home is writable");
        let refused = install(&["--write"]);
        assert_eq!(refused.code, 2, "{text}");
        assert!(refused.stderr.contains("without --write"), "{}", refused.stderr);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), text);
        // As the hint says.
        let printed = install(&["--json"]);
        assert_eq!(printed.code, 0, "{}", printed.stderr);
        assert!(printed.stdout.contains("[mcp_servers.longhaul]"), "{}", printed.stdout);
    }
}

#[test]
fn the_real_agent_starts_a_run_through_the_tools() {
    let Some(claude) = claude_code("mcp") else { return };
    let stage = Stage::new();
    // The outer agent calls the tools, and the inner one does the work. One API serves both.
    let server = Server::start(
        "
I start a run.
! call = { name = 'mcp__longhaul__run', input = { prompt = 'INNER: write the file', detached = false } }
I look at it.
! call = { name = 'mcp__longhaul__status', input = {} }
The run is done.
? INNER
I write the file.
$ echo hello > hello.txt
All done: hello.txt says hello.
",
    );
    let install = [
        "mcp",
        "install",
        "--client",
        "claude-code",
        "--max-permission-mode",
        "bypassPermissions",
        "--write",
    ];
    stage.longhaul(install).in_dir(&stage.work()).output();
    let outer = stage
        .program(&claude.to_string_lossy())
        .args(["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"])
        .args(["--mcp-config", ".mcp.json"])
        .env("LONGHAUL_AGENT_PATH", &claude)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .in_dir(&stage.work())
        .stdin("start a run")
        .against(&server)
        .output();
    let runs = stage.runs();
    assert_eq!(runs.len(), 1, "{}\n{}", outer.stdout, outer.stderr);
    let status = runs[0].status().expect("a run has a status");
    assert_eq!(status.returncode, Some(0), "{}", outer.stdout);
    assert_eq!(fs::read_to_string(stage.work().join("hello.txt")).expect("the run wrote it"), "hello\n");
    assert!(outer.stdout.contains("The run is done."), "{}", outer.stdout);
}

impl Stage {
    /// Waits until a run has started an attempt.
    fn wait_for_run(&self) {
        let has_attempt =
            || self.runs().first().is_some_and(|run| !run.attempts().unwrap_or_default().is_empty());
        wait_until("a run starts", has_attempt);
    }
}

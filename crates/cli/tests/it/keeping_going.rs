//! Runs that are kept going: an agent that stops by itself goes on in its session until the work is finished. Every story
//! is told with each agent that there is.

use crate::call::until;
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::recovering::{recover, with_each_agent_at};
use crate::server::Server;
use longhaul_core::{PromptKind, Record};
use longhaul_store::Journal;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// How the pushes begin, and the question of one who says that it is finished.
const PUSH: &str = "You stopped";
const CONFIRM: &str = "You say that the work is finished";

/// A model that stops after each of its steps, this often, and then says that it is finished and stands by it.
fn stopping(stops: u32) -> String {
    let step = |turn: &str, number: u32| {
        format!(
            "[[{turn}]]\ntext = \"Step {number}.\"\n[[{turn}.tools]]\nbash = {{ command = \"echo {number} >> steps\" }}\n\
             [[{turn}]]\ntext = \"Step {number} is done. Shall I go on?\"\n"
        )
    };
    let finish = "text = \"All is done.\"\n[[reply.turn.tools]]\ncall = { name = \"mcp__longhaul__finish\", input = { summary = \"All \
                  steps are done.\" } }\n[[reply.turn]]\ntext = \"All steps are done.\"\n";
    let mut scenario =
        "name = \"stopping\"\nsummary = \"a model that stops early\"\nprompt = \"p\"\n[expect]\noutcome = \
                        \"done\"\nexit = 0\n"
            .to_owned()
            + &step("turn", 1);
    for number in 2..=stops {
        let _ = write!(scenario, "[[reply]]\nto = \"{PUSH}\"\n{}", step("reply.turn", number));
    }
    let _ = write!(scenario, "[[reply]]\nto = \"{PUSH}\"\n[[reply.turn]]\n{finish}");
    let _ = write!(scenario, "[[reply]]\nto = \"{CONFIRM}\"\n[[reply.turn]]\n{finish}");
    scenario
}

fn run(stage: &Stage, agent: &Path, server: &Server, args: &[&str], code: i32) -> Value {
    let free = [
        "p",
        "--permission-mode",
        "bypassPermissions",
        "--preset",
        "drill",
        "--keep-going",
        "--max-tokens",
        "none",
    ];
    stage.run(agent, &free).args(args).against(server).end().envelope(code)
}

fn steps(stage: &Stage) -> usize {
    fs::read_to_string(stage.work().join("steps")).unwrap_or_default().lines().count()
}

/// What the agent was told after its task.
fn said(stage: &Stage) -> Vec<PromptKind> {
    let history = Journal::load(&stage.only_run().journal_path()).expect("a journal");
    let said = |record: &Record| match record {
        Record::PromptSent { prompt: say, .. } => Some(*say),
        Record::AttemptStarted { plan, .. } => Some(plan.prompt).filter(|say| *say != PromptKind::Task),
        _ => None,
    };
    history.records().filter_map(said).collect()
}

#[test]
fn a_model_that_stops_seven_times_finishes() {
    with_each_agent_at(&stopping(7), "stopping seven times", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--status-every", "3", "--budget", "100"], 0);
        assert_eq!(envelope["run"]["outcome"], "done", "{envelope}");
        assert_eq!(envelope["result"], "All steps are done.", "{envelope}");
        assert_eq!(steps(stage), 7);
        // All of it in one process and one session.
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        let said = said(stage);
        let pushes: Vec<_> = said
            .iter()
            .filter_map(|say| if let PromptKind::KeepGoing(push) = say { Some(push) } else { None })
            .collect();
        assert_eq!(pushes.len(), 7, "{said:?}");
        let told: Vec<_> =
            pushes.iter().filter(|push| push.active_time.is_some()).map(|push| push.stop_number).collect();
        assert_eq!(told, [3, 6], "how things stand, every third stop");
        assert_eq!(said.last(), Some(&PromptKind::ConfirmDone));
    });
}

/// The tool comes besides what the user has set up.
#[test]
fn the_servers_of_the_user_are_there_as_well() {
    let Some(claude) = claude_code("the servers of the user") else { return };
    let stage = Stage::new();
    let mine = json!({ "mcpServers": { "mine": { "command": LONGHAUL, "args": ["finish-tool"] } } });
    fs::create_dir_all(stage.user_home()).expect("the stage can be written");
    fs::write(stage.user_home().join(".claude.json"), mine.to_string()).expect("the stage can be written");
    run(&stage, &claude, &Server::plays(&stopping(1)), &[], 0);
    let stream = fs::read_to_string(stage.only_run().attempt(1).stream_path()).expect("there is a stream");
    let init = stream.lines().find(|line| line.contains(r#""subtype":"init""#)).expect("it begins");
    let init: Value = serde_json::from_str(init).expect("an event");
    let connected = |name: &str| {
        let servers = init["mcp_servers"].as_array().expect("a list of servers");
        servers.iter().any(|server| server["name"] == name && server["status"] == "connected")
    };
    assert!(connected("mine") && connected("longhaul"), "{init}");
}

#[test]
fn a_line_that_a_person_agreed_on_says_the_same_twice_running() {
    let last = "text = \"Nothing is left.\\n\\nALL DONE\"";
    let scenario = format!(
        "name = \"line\"\nsummary = \"a model that says so by a line\"\nprompt = \"p\"\n[expect]\noutcome = \"done\"\n\
         exit = 0\n[[turn]]\ntext = \"ALL DONE, or nearly.\"\n[[reply]]\nto = \"{PUSH}\"\n[[reply.turn]]\n{last}\n\
         [[reply]]\nto = \"{CONFIRM}\"\n[[reply.turn]]\n{last}\n"
    );
    with_each_agent_at(&scenario, "saying so by a line", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--done-when", "ALL DONE", "--max-idle-stops", "9"], 0);
        assert_eq!(envelope["run"]["outcome"], "done", "{envelope}");
        // Once in passing, and twice running as the last line.
        assert!(
            matches!(said(stage)[..], [PromptKind::KeepGoing(_), PromptKind::ConfirmDone]),
            "{:?}",
            said(stage)
        );
    });
}

#[test]
fn a_model_that_changes_nothing_any_more_is_let_go_and_is_no_success() {
    let idle = "name = \"idle\"\nsummary = \"a model that only talks\"\nprompt = \"p\"\n[expect]\noutcome = \"done\"\nexit = 0\n\
                [[turn]]\ntext = \"I have thought about it.\"\n[[reply]]\nto = \"You stopped\"\n[[reply.turn]]\ntext = \"I think \
                on.\"\n";
    with_each_agent_at(idle, "changing nothing", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--max-idle-stops", "2"], 20);
        assert_eq!(envelope["run"]["outcome"], "failed", "{envelope}");
        assert_eq!(envelope["run"]["fault"], "unfinished", "{envelope}");
        assert_eq!(said(stage).len(), 2, "the first stop has nothing to be compared with");
    });
}

#[test]
fn it_is_kept_going_by_who_takes_it_over() {
    let stage = Stage::new();
    let server = Server::plays(&stopping(5));
    let free = [
        "p",
        "--permission-mode",
        "bypassPermissions",
        "--preset",
        "drill",
        "--keep-going",
        "--max-tokens",
        "none",
    ];
    let started = stage.run(&stage.agent(), &free).against(&server).start();
    until("it has stopped twice", || steps(&stage) >= 2);
    started.kill();
    let envelope = recover(&stage, &server, &[]).end().envelope(0);
    assert_eq!(envelope["run"]["outcome"], "done", "{envelope}");
    assert_eq!(steps(&stage), 5);
}

#[test]
fn a_limit_ends_it_with_its_work_saved() {
    let scenario = stopping(1).replace(
        "[[reply]]",
        "[[reply]]\nto = \"This run is about to end\"\n[[reply.turn]]\ntext = \"Saved.\"\n[[reply]]",
    );
    with_each_agent_at(&scenario, "a limit", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--max-turns", "4"], 22);
        assert_eq!(envelope["run"]["outcome"], "out_of_time", "{envelope}");
        assert_eq!(envelope["run"]["limit"], "turns", "{envelope}");
        assert!(said(stage).iter().any(|say| matches!(say, PromptKind::WrapUp(_))));
    });
}

/// As docs/limits.md and the help state them.
#[test]
fn what_is_not_said_is_as_documented() {
    let stage = Stage::new();
    let planned = |args: &[&str]| {
        let ended = stage
            .run(
                &stage.agent(),
                &["p", "--dry-run", "--output-format", "json", "--keep-going", "--max-tokens", "none"],
            )
            .args(args)
            .end();
        let plan: Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
        plan["policy"]["keep_going"].clone()
    };
    let expected = |extended: bool| json!({ "extended": extended, "status_every": 5, "idle_stops_max": 3 });
    assert_eq!(planned(&[]), expected(false));
    assert_eq!(planned(&["--keep-improving"]), expected(true));
    assert_eq!(planned(&["--time-limit", "23h"]), expected(false));
    assert_eq!(planned(&["--time-limit", "24h"]), expected(true));
    assert_eq!(planned(&["--wall-limit", "48h"]), expected(true));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let stage = Stage::new();
    let check = |args: &[&str], words: &[&str]| {
        let ended = stage.run(&stage.agent(), &["p"]).args(args).end();
        assert_eq!(ended.code, 2, "{ended:?}");
        ended.says(words);
    };
    check(&["--keep-improving"], &["--keep-going"]);
    check(&["--done-when", "DONE"], &["--keep-going"]);
    check(&["--keep-going", "--done-when", " "], &["not one line of text"]);
    check(&["--keep-going", "--max-idle-stops", "0"], &["--max-idle-stops"]);
    check(&["--keep-going", "--check", "true"], &["leave out --keep-going"]);
    assert!(stage.runs().is_empty());
}

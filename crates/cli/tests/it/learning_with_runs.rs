//! Runs whose sessions learn: the agent is told what the playbook holds, and what its sessions teach is learnt when the run is
//! over. Each story is told with each agent that there is.

use crate::call::until;
use crate::recovering::with_each_agent_at;
use crate::server::Server;
use crate::stage::Stage;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A small piece of work, and a judge that finds one thing to know in it.
const WORK: &str = r#"
name = "learning"
summary = "one command, and a judge"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "I write the file."
[[turn.tools]]
bash = { command = "echo hello > hello.txt" }
[[turn]]
text = "All done: hello.txt says hello."
[[reply]]
to = "You are the reflector"
[[reply.turn]]
text = '{"analysis": "- The file is greeted in English.", "bullet_tags": []}'
[[reply]]
to = "You are the curator"
[[reply.turn]]
text = '{"reasoning": "", "operations": [{"type": "ADD", "section": "PROJECT CONTEXT", "text": "greetings are in English"}]}'
"#;

const POINT: &str = "greetings are in English";

fn run(stage: &Stage, agent: &Path, server: &Server, further: &[&str]) -> Value {
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &args).args(further).against(server).end().envelope(0)
}

/// The playbook as it is shown.
fn playbook(stage: &Stage) -> Value {
    let shown = stage.longhaul(["playbook", "show", "--project"]).args([stage.work()]).end();
    serde_json::from_str(&shown.stdout).expect("the playbook is shown")
}

fn texts(playbook: &Value) -> Vec<String> {
    let points = playbook["points"].as_array().into_iter().flatten();
    points.filter_map(|point| point["text"].as_str().map(str::to_owned)).collect()
}

/// How many requests told the model this.
fn told(server: &Server, words: &str) -> usize {
    server.api.account().requests.iter().filter(|request| request.told.contains(words)).count()
}

/// Waits until nothing is left to be learnt.
fn learnt(stage: &Stage) {
    until("everything queued is learnt", || {
        let status = stage.longhaul(["playbook", "status"]).end();
        let status: Value = serde_json::from_str(&status.stdout).expect("the status is JSON");
        status["waiting"].as_array().is_some_and(Vec::is_empty) && status["worker"] == false
    });
}

#[test]
fn what_a_run_teaches_the_next_one_is_told() {
    with_each_agent_at(WORK, "what_a_run_teaches_the_next_one_is_told", |stage, agent, server| {
        run(stage, agent, server, &["--learn"]);
        learnt(stage);
        assert_eq!(texts(&playbook(stage)), [POINT]);
        assert_eq!((told(server, "You are the reflector"), told(server, "You are the curator")), (1, 1));
        let before = server.api.account().requests.len();
        run(stage, agent, server, &["--learn"]);
        let requests = server.api.account().requests;
        let first = requests.get(before).expect("the second run asked");
        let told = format!("{} {}", first.told, first.told_beside);
        assert!(told.contains(&format!("[ctx-001] helpful=0 harmful=0 :: {POINT}")), "{told}");
        learnt(stage);
        assert_eq!(texts(&playbook(stage)), [POINT], "what is known already is not added");
    });
}

#[test]
fn a_run_that_is_not_asked_to_learn_learns_nothing() {
    with_each_agent_at(WORK, "a_run_that_is_not_asked_to_learn_learns_nothing", |stage, agent, server| {
        run(stage, agent, server, &[]);
        assert_eq!(told(server, "You are the reflector"), 0);
        assert!(!stage.home().join("playbook").exists());
        assert!(!fs::exists(stage.work().join(".claude/playbook.json")).expect("the folder can be read"));
    });
}

#[test]
fn what_would_undo_learning_is_refused() {
    let stage = Stage::new();
    for undoing in [&["--settings", "{}"][..], &["--settings={}"], &["--safe-mode"], &["--bare"]] {
        let run = stage.run(&stage.agent(), &["p", "--learn", "--"]).args(undoing).end();
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("it would undo it"), "{}", run.stderr);
    }
    let none = stage.run(&stage.agent(), &["p", "--learn", "--learn-tokens", "0"]).end();
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(stage.runs().is_empty());
}

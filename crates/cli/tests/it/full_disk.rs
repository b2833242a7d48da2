//! A disk that is really full: a small tmpfs of the test's own, in a mount namespace that ends with it. (At which call of
//! the store it is full, the sweep varies.)

use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::server::Server;
use crate::skipped::skip_test;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Three steps; the disk is filled during the second.
const STEPS: &str = r#"
name = "steps"
summary = "three steps, the second of which takes a while"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "I take the first step."
[[turn.tools]]
bash = { command = "grep -qs one steps || echo one >> steps" }
[[turn]]
text = "The second one takes a while."
[[turn.tools]]
bash = { command = "grep -qs two steps || { touch begun; sleep 2; echo two >> steps; }" }
[[turn]]
text = "Now the third."
[[turn.tools]]
bash = { command = "grep -qs three steps || echo three >> steps" }
[[turn]]
text = "All three steps are taken."
"#;

/// Runs until the disk is full, makes room, recovers, and keeps the journal; `$1` is longhaul, `$2` the agent. What is told
/// lands beside the home, on a disk that has room.
const SCRIPT: &str = r#"
mkdir -m 700 "$LONGHAUL_HOME"
mount -t tmpfs -o size=2m,mode=700 tmpfs "$LONGHAUL_HOME" || exit 77
"$1" run p --cwd work --agent-path "$2" --permission-mode bypassPermissions --preset drill > run.out 2> run.err &
run=$!
until [ -e work/begun ]; do kill -0 $run || exit 1; sleep 0.05; done
cat /dev/zero > "$LONGHAUL_HOME/filler" 2> /dev/null
wait $run
echo $? > run.code
rm "$LONGHAUL_HOME/filler"
"$1" recover > recover.out 2> recover.err
echo $? > recover.code
cp "$LONGHAUL_HOME"/runs/*/*/journal.jsonl journal
"#;

#[test]
fn a_run_whose_disk_is_full_breaks_off_and_goes_on_when_there_is_room() {
    let stage = Stage::new();
    if !breaks_off(&stage, &stage.agent()) {
        let why = "this system lets nobody mount a tmpfs of his own";
        skip_test(
            "a full disk",
            why,
            "let this user have namespaces of his own: `unshare -rm true` shows it",
        );
        return;
    }
    if let Some(claude) = claude_code("a full disk") {
        breaks_off(&Stage::new(), &claude);
    }
}

/// Whether it could be tried; asserts what must hold if so.
fn breaks_off(stage: &Stage, agent: &Path) -> bool {
    let server = Server::plays(STEPS);
    let mut script = stage.program("unshare").args(["-rm", "sh", "-c", SCRIPT, "sh", LONGHAUL]);
    script = script.args([agent]).against(&server);
    let ended = script.end();
    if ended.code == 77 || ended.stderr.contains("unshare failed") {
        return false;
    }
    assert_eq!(ended.code, 0, "{ended:?}");
    let told = |name: &str| fs::read_to_string(stage.folder().join(name)).expect("it is kept");
    let parsed = |name: &str| serde_json::from_str::<Value>(&told(name)).expect("an envelope is printed");
    let (words, envelope) = (told("run.err"), parsed("run.out"));
    assert_eq!(told("run.code"), "26\n", "{words}{envelope}");
    let id = envelope["run"]["id"].as_str().expect("the run is named");
    for word in [
        "error:",
        "no space left on device",
        &format!("make room, and continue it with `longhaul recover {id}`"),
    ] {
        assert!(words.contains(word), "no `{word}` in {words}");
    }
    assert_eq!(envelope["run"]["outcome"], "incomplete", "{envelope}");
    let envelope = parsed("recover.out");
    assert_eq!(told("recover.code"), "0\n", "{}", told("recover.err"));
    assert_eq!(
        (&envelope["result"], &envelope["run"]["id"]),
        (&"All three steps are taken.".into(), &id.into())
    );
    assert_eq!(told("work/steps"), "one\ntwo\nthree\n");
    assert!(
        told("journal").lines().all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "the journal is torn"
    );
    true
}

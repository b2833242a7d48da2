//! A full disk: a small tmpfs in the test's own mount namespace. The sweep tests inject a full disk at each
//! call of the store.

use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::server::Server;
use crate::skipped::skip_test;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A scenario of three steps. The disk is filled during the second.
const STEPS: &str = "
I take the first step.
$ grep -qs one steps || echo one >> steps
The second one takes a while.
$ grep -qs two steps || { touch started; sleep 2; echo two >> steps; }
Now the third.
$ grep -qs three steps || echo three >> steps
All three steps are taken.
";

/// Runs until the disk is full, frees space, recovers, and copies the journal. `$1` is longhaul, `$2` the
/// agent. All output goes to files outside the home, on a disk that has space.
const SCRIPT: &str = r#"
mkdir -m 700 "$LONGHAUL_HOME"
mount -t tmpfs -o size=2m,mode=700 tmpfs "$LONGHAUL_HOME" || exit 77
head -c 1900K /dev/zero > "$LONGHAUL_HOME/filler"
"$1" run p --cwd work --agent-path "$2" --permission-mode bypassPermissions --preset drill > early.out 2> early.err
echo $? > early.code
[ -e work/steps ] && exit 1
rm -r "$LONGHAUL_HOME"/*
"$1" run p --cwd work --agent-path "$2" --permission-mode bypassPermissions --preset drill > run.out 2> run.err &
run=$!
until [ -e work/started ]; do kill -0 $run || exit 1; sleep 0.05; done
cat /dev/zero > "$LONGHAUL_HOME/filler" 2> /dev/null
wait $run
echo $? > run.code
rm "$LONGHAUL_HOME/filler"
"$1" why @ --output-format text > why.orphaned
"$1" recover > recover.out 2> recover.err
echo $? > recover.code
"$1" why @ --output-format text > why.done
cp "$LONGHAUL_HOME"/runs/*/*/journal.jsonl journal
"#;

#[test]
fn run_stops_on_a_full_disk_and_recovers_when_there_is_space() {
    let stage = Stage::new();
    if !run_on_full_disk(&stage, &stage.agent()) {
        let reason = "this user may not mount a tmpfs";
        skip_test(
            "a full disk",
            reason,
            "allow this user to create namespaces: `unshare -rm true` must succeed",
        );
        return;
    }
    if let Some(claude) = claude_code("a full disk") {
        run_on_full_disk(&Stage::new(), &claude);
    }
}

/// Performs the test. Returns `false` if this system does not allow it.
fn run_on_full_disk(stage: &Stage, agent: &Path) -> bool {
    let server = Server::start(STEPS);
    let mut script = stage.program("unshare").args(["-rm", "sh", "-c", SCRIPT, "sh", LONGHAUL]);
    script = script.args([agent]).against(&server);
    let output = script.output();
    if output.code == 77 || output.stderr.contains("unshare failed") {
        return false;
    }
    assert_eq!(output.code, 0, "{output:?}");
    let content = |name: &str| fs::read_to_string(stage.folder().join(name)).expect("the file is stored");
    let parsed = |name: &str| serde_json::from_str::<Value>(&content(name)).expect("an envelope is printed");
    // An agent whose first output would be lost does not start.
    assert_eq!(content("early.code"), "25\n", "{}", content("early.err"));
    let (stderr, envelope) = (content("run.err"), parsed("run.out"));
    assert_eq!(content("run.code"), "26\n", "{stderr}{envelope}");
    let id = envelope["run"]["id"].as_str().expect("the run is named");
    for fragment in [
        "error:",
        "no space left on device",
        &format!("free disk space, and continue it with `longhaul recover {id}`"),
    ] {
        assert!(stderr.contains(fragment), "no `{fragment}` in {stderr}");
    }
    assert_eq!(envelope["run"]["outcome"], "incomplete", "{envelope}");
    let envelope = parsed("recover.out");
    assert_eq!(content("recover.code"), "0\n", "{}", content("recover.err"));
    assert_eq!(
        (&envelope["result"], &envelope["run"]["id"]),
        (&"All three steps are taken.".into(), &id.into())
    );
    assert_eq!(content("work/steps"), "one\ntwo\nthree\n");
    for file in ["why.orphaned", "why.done"] {
        let why = content(file);
        assert!(why.contains("the disk was full, so the supervisor stopped"), "{why}");
        assert!(!why.contains("supervisor died"), "{why}");
    }
    // Output of the agent may be lost.
    assert_eq!(envelope["usage"]["unpriced"], true, "{envelope}");
    assert!(
        content("journal").lines().all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "the journal is torn"
    );
    true
}

//! Five provers side by side in a workflow, on a project that is shaped like one in Lean: one is killed, one is rate
//! limited, one hangs, one is fine, one claims too early to be done. Each has an API of its own.

use crate::call::wait_until;
use crate::harness::{Stage, with_each_agent};
use crate::own_script::billed;
use crate::recovering::kill_agent;
use crate::server::Server;
use crate::tidy;
use crate::workflows::envelope;
use longhaul_core::OutcomeKind;
use longhaul_store::RunDir;
use std::fs;
use std::path::Path;

/// A check stands for the Lean compiler. The number of its lemma is at the end of the run's id.
const WORKFLOW: &str = r#"
start_gap = "none"
max_parallel = 5
[[phase]]
name = "plan"
prompt = "List the lemmas without a proof."
schema = { type = "object", required = ["lemmas"], properties = { lemmas = { type = "array", items = { type = "string" } } } }
[[phase]]
name = "prove"
needs = ["plan"]
fan_out = { phase = "plan", pointer = "/lemmas" }
prompt = "Prove {{ item }}."
run = { check = ["! grep sorry L${LONGHAUL_RUN##*-}.lean"], stall_timeout = "STALL" }
"#;

const PLAN: &str = "
{\"lemmas\": [\"L1\", \"L2\", \"L3\", \"L4\", \"L5\"]}
";
/// Its first step takes long, unless it was interrupted before.
const KILLED: &str = "
I try a long tactic.
$ test -e ../started && exit 0; touch ../started; sleep 60
It works.
$ echo theorem_1 > L1.lean
L1 is proved.
";
const RATE_LIMITED: &str = "
I prove it.
$ echo theorem_2 > L2.lean
L2 is proved.
[[fault]]
turn = 2
times = 4
status = { code = 429, retry_after = 1 }
";
const HUNG: &str = "
I prove it.
$ echo theorem_3 > L3.lean
L3 is proved.
[[fault]]
turn = 1
silence = { after = 'mid-text' }
";
const FINE: &str = "
I prove it.
$ echo theorem_4 > L4.lean
L4 is proved.
";
/// It first claims to have finished. The check does not hold, and it then proves the lemma.
const FALSE_CLAIM: &str = "
L5 is proved.
? check
I prove it.
$ echo theorem_5 > L5.lean
L5 is proved.
";

#[test]
fn provers_finish_after_a_kill_a_rate_limit_and_a_hang() {
    with_each_agent("five provers", Stage::new, check_provers);
}

fn check_provers(stage: &Stage, agent: &Path) {
    let servers = [PLAN, KILLED, RATE_LIMITED, HUNG, FINE, FALSE_CLAIM].map(Server::start);
    for number in 1..=5 {
        fs::write(stage.work().join(format!("L{number}.lean")), "sorry\n").expect("the stage is writable");
    }
    // The run's id ends with the number of its item.
    let urls: String = (1..).zip(&servers[1..]).fold(String::new(), |cases, (number, server)| {
        cases + &format!("*-prove-{number}) export ANTHROPIC_BASE_URL={};; ", server.api.url())
    });
    let body = format!("case \"$LONGHAUL_RUN\" in {urls} esac; exec '{}' \"$@\"", agent.display());
    let routed = stage.script("routed", &body);
    // Five real agents at once start slowly.
    let stall_timeout = if agent.starts_with(stage.folder()) { "6s" } else { "16s" };
    let file = stage.file("workflow.toml", WORKFLOW.replace("STALL", stall_timeout));
    let call = stage.longhaul(["loop", "--permission-mode", "bypassPermissions", "--preset", "drill"]);
    let call = call.args(["--memory-reserve", "0", "--agent-path"]).args([routed, file]);
    let running = call.against(&servers[0]).in_dir(&stage.work()).start();
    wait_until("the long tactic runs", || stage.folder().join("started").exists());
    kill_agent(&prover(&stage.runs(), 1));
    let envelope = envelope(&running.output(), 0);

    let attempts = |number: usize| {
        let run = prover(&stage.runs(), number);
        assert_eq!(tidy::replayed_outcome(&run).kind, OutcomeKind::Done);
        let envelope = stage.longhaul(["attach", run.id().as_str()]).output().envelope(0);
        assert_eq!(envelope["run"]["verified"], "checks", "{envelope}");
        envelope["run"]["attempts"].as_u64().expect("a number")
    };
    assert_eq!([1, 3, 4].map(attempts), [2, 2, 1], "{envelope}");
    assert!(attempts(2) <= 5 && attempts(5) >= 1, "{envelope}");
    let limited = servers[2].api.request_log();
    assert_eq!(limited.requests.iter().filter(|request| request.status == 429).count(), 4);
    for number in 1..=5 {
        let proof =
            fs::read_to_string(stage.work().join(format!("L{number}.lean"))).expect("there is a proof");
        assert_eq!(proof, format!("theorem_{number}\n"));
    }
    let billed: f64 = servers.iter().map(billed).sum();
    let cost = envelope["usage"]["total_cost_usd"].as_f64().expect("a number");
    // Costs are rounded to millionths of a dollar in each attempt. The response that hung is billed, but its
    // usage is only an estimate.
    assert!((cost - billed).abs() <= billed * 0.05, "{cost} of {billed}: {envelope}");
    tidy::check(stage);
}

fn prover(runs: &[RunDir], number: usize) -> RunDir {
    let is_prover = |run: &&RunDir| run.id().as_str().ends_with(&format!("-prove-{number}"));
    runs.iter().find(is_prover).expect("the prover has a run").clone()
}

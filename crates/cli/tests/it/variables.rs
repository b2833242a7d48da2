//! Environment variables of the agent: the plan records their names, and a recovering supervisor needs them.

use crate::call::wait_until;
use crate::harness::Stage;
use crate::recovering::{
    STEPS, assert_done, endless_steps, kill_agent, orphaned_run_of, play_with_each_agent, recover,
    run_to_mid_tool, steps, with_each_agent,
};
use crate::server::Server;
use crate::workflows::{SLOW_SCRIPT, only_workflow, start_slow};
use longhaul_store::RunDir;
use std::fs;
use std::path::Path;

const BOTH: &str = "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL were set when the run started, but not now";

/// Returns a run whose supervisor and agent were killed.
fn run_without_processes(stage: &Stage, agent: &Path, server: &Server) -> RunDir {
    run_to_mid_tool(stage, agent, server).kill();
    let run = stage.only_run();
    kill_agent(&run);
    run
}

/// Returns the runs that `longhaul recover` would recover.
fn recoverable_runs(stage: &Stage) -> String {
    stage.longhaul(["recover", "--list"]).output().stdout
}

#[test]
fn run_without_its_variables_stays_recoverable() {
    play_with_each_agent(&endless_steps(), "a recovery without a key", |stage, agent, server| {
        let run = run_without_processes(stage, agent, server);
        let journal = fs::read(run.journal_path()).expect("a journal");
        for args in [&[][..], &["@"]] {
            let rejected = stage.longhaul(["recover"]).args(args).output();
            rejected.envelope(25);
            rejected.assert_error(&[BOTH, &format!("longhaul resume {}", run.id())]);
        }
        assert_eq!(fs::read(run.journal_path()).expect("a journal"), journal);
        assert_eq!(recoverable_runs(stage), format!("{}\n", run.id()));
        assert_done(stage, &recover(stage, server, &[]).output().envelope(0), 2);
        assert_eq!(steps(stage), "one\nthree\n");
    });
}

#[test]
fn workflow_without_its_variables_stays_recoverable() {
    let (stage, server) = (Stage::new(), Server::start(SLOW_SCRIPT));
    start_slow(&stage, &server).kill();
    kill_agent(&stage.only_run());
    let rejected = stage.longhaul(["recover"]).output();
    assert_eq!(rejected.code, 26, "{rejected:?}");
    rejected.assert_error(&[BOTH]);
    assert_eq!(recoverable_runs(&stage), format!("{}\n", only_workflow(&stage).id()));
    let recovered = stage.longhaul(["recover"]).against(&server).output();
    assert_eq!(recovered.code, 0, "{recovered:?}");
    assert_eq!(stage.runs().len(), 2, "no run was replaced by another");
}

#[test]
fn plan_has_names_of_variables_without_values() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let run = run_without_processes(&stage, &stage.agent(), &server);
    let needed = || run.plan().expect("a plan").env.needed().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(needed(), ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "IS_SANDBOX"]);
    let plan = fs::read_to_string(run.plan_path()).expect("a plan");
    for (name, value) in server.api.environment() {
        assert!(!name.starts_with("ANTHROPIC_") || !plan.contains(&value), "{value} in {plan}");
    }
    // Cancelling starts no agent.
    let cancelled = stage.longhaul(["cancel", "@"]).output();
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    let plan = run.plan().expect("a plan");
    assert!(plan.env.needed().eq(["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "IS_SANDBOX"]), "{plan:?}");
}

#[test]
fn resume_uses_the_current_variables() {
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = stage.run(&stage.agent(), &args).env("HTTPS_PROXY", "http://127.0.0.1:1").env("NO_PROXY", "*");
    let run = run.against(&server).start();
    wait_until("the tool runs", || stage.work().join("started").exists());
    run.kill();
    let run = stage.only_run();
    kill_agent(&run);
    let rejected = recover(&stage, &server, &[]).output();
    rejected.envelope(25);
    rejected.assert_error(&["HTTPS_PROXY, NO_PROXY were set when the run started, but not now"]);
    let resumed = stage.longhaul(["resume", "@"]).against(&server).output();
    assert_done(&stage, &resumed.envelope(0), 2);
    let plan = run.plan().expect("a plan");
    assert!(plan.env.needed().eq(["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "IS_SANDBOX"]), "{plan:?}");
}

#[test]
fn live_agent_is_followed_without_its_variables() {
    with_each_agent("following an agent without a key", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        assert_done(stage, &stage.longhaul(["recover"]).output().envelope(0), 1);
        assert_eq!(steps(stage), "one\ntwo\nthree\n");
    });
}

#[test]
fn agent_is_not_restarted_without_its_variables() {
    let (stage, server, run) = orphaned_run_of(&endless_steps());
    let dead_supervisor = run.status().expect("a status").supervisor_pid;
    let following = stage.longhaul(["recover"]).start();
    wait_until("a supervisor follows the agent", || {
        run.status().is_ok_and(|status| status.supervisor_pid != dead_supervisor)
    });
    kill_agent(&run);
    let output = following.output();
    output.envelope(26);
    output.assert_error(&[BOTH, &format!("longhaul recover {}", run.id())]);
    assert_eq!(recoverable_runs(&stage), format!("{}\n", run.id()));
    assert_done(&stage, &recover(&stage, &server, &[]).output().envelope(0), 2);
    assert_eq!(steps(&stage), "one\nthree\n");
}

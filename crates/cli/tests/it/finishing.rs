//! The `finish` tool, with which an agent claims that its work is done: it is offered, allowed and answered
//! in every permission mode and with every guard. Tests run with every available agent.

use crate::harness::{LONGHAUL, Stage};
use crate::recovering::play_with_each_agent;
use crate::server::Server;
use longhaul::{Environment, RunReport, Supervisor};
use longhaul_agent::claude::Claude;
use longhaul_agent::{Dialect, DoneSignals, Guards, Program};
use longhaul_core::{Exit, KeepGoing, Notice, OutcomeKind, Preset, RunSpec};
use longhaul_store::Home;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

/// The line with which the model claims that its work is done.
const LINE: &str = "ALL DONE";

/// A scenario in which the model claims that its work is done: by the tool and by a line, then, asked to
/// confirm, by the line.
const FINISHING: &str = r#"
All tests pass.
! call = { name = "mcp__longhaul-run__finish", input = { summary = "All tests pass." } }
There is nothing left to do.\n\nALL DONE
"#;

/// Performs a run whose `finish` tool is `tool_program`. If `allow_tools` is not empty, the agent may
/// use no other tools.
fn run(
    agent: &Path,
    server: &Server,
    tool_program: &str,
    mode: &str,
    allow_tools: &[&str],
) -> (Stage, RunReport) {
    let stage = Stage::new();
    let mut set: BTreeMap<_, _> = server.api.environment().into_iter().collect();
    set.insert("HOME".to_owned(), stage.user_home().display().to_string());
    set.insert("PATH".to_owned(), env::var("PATH").unwrap_or_default());
    let home = Home::locate(Some(stage.home()), |_| None).expect("an absolute path is a home");
    let mut spec = RunSpec::new(agent, stage.work(), "p", Preset::Drill.policy());
    spec.permission_mode = Some(mode.to_owned());
    spec.guards.allow_tools = allow_tools.iter().map(ToString::to_string).collect();
    let keep_going = spec.policy.keep_going.insert(KeepGoing::DEFAULT);
    keep_going.done_when = Some(LINE.to_owned());
    let leading_args = vec!["finish-tool".to_owned()];
    let finish_tool = Some(Program { path: tool_program.into(), leading_args });
    let mut environment = Environment::default();
    (environment.clear, environment.set, environment.finish_tool) = (true, set, finish_tool);
    let supervisor = Supervisor::from(home).with_environment(environment);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let handle = supervisor.run(spec).expect("the supervisor's thread starts");
    let report = runtime.block_on(handle.outcome()).expect("the run is supervised to its end");
    (stage, report)
}

fn stream(stage: &Stage) -> Vec<u8> {
    fs::read(stage.only_run().attempt(1).stream_path()).expect("there is a stream")
}

fn events(stream: &[u8]) -> Vec<Value> {
    stream.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Returns how many done claims that stream has, and whether its evidence has one.
fn done_claims(stream: &[u8], claims: &DoneSignals) -> (usize, bool) {
    let mut decoder = Claude::default().decoder(&Guards::default(), claims);
    let mut notices = Vec::new();
    decoder.feed(stream, &mut notices);
    let count = notices.iter().filter(|notice| **notice == Notice::ClaimedDone).count();
    (count, decoder.evidence(Exit::Code(0), "").claimed_done)
}

#[test]
fn tool_is_answered_in_every_mode_and_with_every_guard() {
    play_with_each_agent(FINISHING, "the finish tool", |_, agent, server| {
        for (mode, allow_tools) in [("default", &[][..]), ("plan", &[]), ("default", &["Read"])] {
            let (stage, report) = run(agent, server, LONGHAUL, mode, allow_tools);
            assert_eq!(report.outcome.kind, OutcomeKind::Done, "{mode} {allow_tools:?}: {report:?}");
            let stream = stream(&stage);
            let events = events(&stream);
            let init =
                events.iter().find(|event| event["subtype"] == "init").expect("there is an init event");
            let connected = json!([{ "name": "longhaul-run", "status": "connected", "source": "dynamic" }]);
            assert_eq!(init["mcp_servers"], connected);
            let answers = events.iter().filter(|event| event["type"] == "user");
            let answers: Vec<_> =
                answers.map(|event| &event["message"]["content"][0]["content"][0]["text"]).collect();
            assert_eq!(answers, ["Recorded. You will be asked once to confirm that the work is done."]);
            let tool_signal = DoneSignals { tool: true, line: None };
            assert_eq!(done_claims(&stream, &tool_signal), (1, false));
            let line_signal = DoneSignals { tool: false, line: Some(LINE.to_owned()) };
            assert_eq!(done_claims(&stream, &line_signal), (2, true));
            assert_eq!(done_claims(&stream, &DoneSignals::default()), (0, false));
        }
    });
}

#[test]
fn unavailable_tool_does_not_fail_the_run() {
    play_with_each_agent(FINISHING, "a missing finish tool", |_, agent, server| {
        let (stage, report) = run(agent, server, "/nonexistent/longhaul", "default", &[]);
        assert_eq!(report.outcome.kind, OutcomeKind::Done, "{report:?}");
        // The call returned an error, so there is no done claim.
        let tool_signal = DoneSignals { tool: true, line: None };
        assert_eq!(done_claims(&stream(&stage), &tool_signal), (0, false));
    });
}

#[test]
fn resumed_run_is_offered_the_tool_by_the_new_supervisor() {
    play_with_each_agent(FINISHING, "the finish tool after a resume", |_, agent, server| {
        let (stage, _) = run(agent, server, "/nonexistent/longhaul", "default", &[]);
        let resumed = stage.longhaul(["resume", "@", "Look once more."]).against(server).output();
        assert_eq!(resumed.envelope(0)["run"]["outcome"], "done", "{resumed:?}");
        let stream = fs::read(stage.only_run().attempt(2).stream_path()).expect("there is a stream");
        let events = events(&stream);
        let init = events.iter().find(|event| event["subtype"] == "init").expect("there is an init event");
        assert_eq!(init["mcp_servers"][0]["status"], "connected", "{init}");
    });
}

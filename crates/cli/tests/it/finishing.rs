//! The `finish` tool, with which an agent claims that its work is done: it is offered, allowed and answered
//! in every permission mode and with every guard. Tests run with every available agent.

use crate::harness::{LONGHAUL, Stage};
use crate::recovering::play_with_each_agent;
use crate::server::Server;
use longhaul::{Environment, NoObserver, RunReport, RunRequest, SessionChoice, supervise};
use longhaul_agent::claude::Claude;
use longhaul_agent::{AgentSpec, Dialect, DoneSignals, Guards, HANDOFF_TOKENS_MAX, Program};
use longhaul_core::{Exit, Notice, OutcomeKind, Preset, RunId};
use longhaul_store::{Home, Placement};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

/// A scenario in which the model claims that its work is done, by the tool and then by a line.
const FINISHING: &str = r#"
All tests pass.
! call = { name = "mcp__longhaul__finish", input = { summary = "All tests pass." } }
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
    let policy = Preset::Drill.policy();
    let allow_tools = allow_tools.iter().map(|tools| tools.parse().expect("a pattern")).collect();
    let mut set: BTreeMap<_, _> = server.api.environment().into_iter().collect();
    set.insert("HOME".to_owned(), stage.user_home().display().to_string());
    set.insert("PATH".to_owned(), env::var("PATH").unwrap_or_default());
    let request = RunRequest {
        inherited: None,
        notify: Vec::new(),
        home: Home::locate(Some(stage.home()), |_| None).expect("an absolute path is a home"),
        placement: Placement::default(),
        dialect: Arc::new(Claude::new()),
        agent: AgentSpec {
            program: Program { path: agent.to_owned(), leading_args: Vec::new() },
            cwd: stage.work(),
            prompt: "p".to_owned(),
            follow_ups: Vec::new(),
            model: None,
            permission_mode: Some(mode.to_owned()),
            guards: Guards { allow_tools, ..Guards::default() },
            needs_supervisor: false,
            checks: Vec::new(),
            finish_tool: Some(Program {
                path: tool_program.into(),
                leading_args: vec!["finish-tool".to_owned()],
            }),
            done_when: None,
            wrap_up_prompt: None,
            network: None,
            learn: None,
            extra_args: Vec::new(),
            handoff_tokens: HANDOFF_TOKENS_MAX,
            handoff_summary: None,
            inner_retries: policy.inner_retries,
            run_id: RunId::from(""),
        },
        environment: Environment { clear: true, set, ..Environment::default() },
        session: SessionChoice::New,
        harness: None,
        policy,
        origins: BTreeMap::new(),
        keep_partial_messages: false,
        diagnostic: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (_cancels, received) = tokio::sync::mpsc::channel(1);
    let report = runtime
        .block_on(supervise(request, &mut NoObserver, received))
        .expect("the run is supervised to its end");
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
    let mut decoder = Claude::new().decoder(&Guards::default(), claims);
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
            let connected = json!([{ "name": "longhaul", "status": "connected", "source": "dynamic" }]);
            assert_eq!(init["mcp_servers"], connected);
            let answers = events.iter().filter(|event| event["type"] == "user");
            let answers: Vec<_> =
                answers.map(|event| &event["message"]["content"][0]["content"][0]["text"]).collect();
            assert_eq!(answers, ["Recorded. You will be asked once to confirm that the work is done."]);
            let tool_signal = DoneSignals { tool: true, line: None };
            assert_eq!(done_claims(&stream, &tool_signal), (1, true));
            let line_signal = DoneSignals { tool: false, line: Some("ALL DONE".to_owned()) };
            assert_eq!(done_claims(&stream, &line_signal), (1, true));
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

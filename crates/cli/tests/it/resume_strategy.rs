//! Resume strategies: sessions that were moved, damaged, lost or silently replaced.
//!
//! Each scenario runs with every available agent, and no step is repeated.

use crate::call::{Output, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{
    STEPS, agent_pid, assert_done, endless_steps, kill_agent, play_with_each_agent, recover, run_to_mid_tool,
    steps,
};
use crate::server::Server;
use crate::sweep;
use crate::tidy;
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the session file of a run whose supervisor and agent died in its second step.
fn kill_in_mid_tool(stage: &Stage, agent: &Path, server: &Server) -> PathBuf {
    run_to_mid_tool(stage, agent, server).kill();
    kill_agent(&stage.only_run());
    let is_session = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    let mut sessions = tidy::all_paths(&stage.user_home().join(".claude/projects"));
    sessions.retain(is_session);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    sessions.remove(0)
}

/// Returns how the history reached each attempt of the only run.
fn strategies(stage: &Stage) -> Vec<String> {
    let shown = stage.longhaul(["show", "@"]).output();
    assert_eq!(shown.code, 0, "{shown:?}");
    let shown: Value = serde_json::from_str(&shown.stdout).expect("a run is shown");
    let attempts = shown["attempts"].as_array().expect("there are attempts");
    attempts.iter().map(|attempt| format!("{} {}", attempt["strategy"], attempt["reason"])).collect()
}

/// Asserts that the run is done after a second attempt with this strategy, which the output explains.
fn assert_resumed(output: &Output, stage: &Stage, strategy: &str, explanation: &str) {
    assert_done(stage, &output.envelope(0), 2);
    assert_eq!(steps(stage), "one\nthree\n");
    assert!(output.stderr.contains(explanation), "{output:?}");
    assert_eq!(strategies(stage), ["null null", strategy]);
}

fn assert_starts_with(session: &Path, saved: &[u8]) {
    assert!(fs::read(session).expect("a session").starts_with(saved), "the copy starts with the saved rows");
}

#[test]
fn moved_session_is_resumed_from_a_copy() {
    play_with_each_agent(&endless_steps(), "a moved session", |stage, agent, server| {
        let session = kill_in_mid_tool(stage, agent, server);
        let moved =
            stage.user_home().join(".claude/projects/-elsewhere").join(session.file_name().expect("a name"));
        fs::create_dir(moved.parent().expect("a folder")).expect("the stage is writable");
        fs::rename(&session, &moved).expect("a file can be moved");
        let original = fs::read(&moved).expect("a session");
        assert_resumed(
            &recover(stage, server, &[]).output(),
            stage,
            r#""relocate" {"session_file":"elsewhere"}"#,
            "was found elsewhere",
        );
        assert_eq!(fs::read(&moved).expect("a session"), original, "the original is unchanged");
        assert_starts_with(&session, &original);
    });
}

#[test]
fn session_of_another_configuration_is_resumed_from_a_copy() {
    play_with_each_agent(&endless_steps(), "a session of another configuration", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let config = stage.folder().join("config");
        let run = stage.run(agent, &args).against(server).env("CLAUDE_CONFIG_DIR", &config).start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        run.kill();
        kill_agent(&stage.only_run());
        // Without CLAUDE_CONFIG_DIR `recover` refuses the run. `resume` is the user's decision to continue.
        let output = stage.longhaul(["resume", "@"]).against(server).output();
        assert_resumed(&output, stage, r#""relocate" {"session_file":"elsewhere"}"#, "was found elsewhere");
    });
}

#[test]
fn damaged_session_is_resumed_from_a_repaired_copy() {
    play_with_each_agent(&endless_steps(), "a damaged session", |stage, agent, server| {
        let session = kill_in_mid_tool(stage, agent, server);
        let intact = fs::read(&session).expect("a session");
        let mut file = File::options().append(true).open(&session).expect("a session");
        file.write_all(b"\0\0\0\0\0\0\0\0\n{\"type\":\"assistant\",\"uuid\":\"torn")
            .expect("writing succeeds");
        let damaged = fs::read(&session).expect("a session");
        assert_resumed(
            &recover(stage, server, &[]).output(),
            stage,
            r#""repair" {"session_file":"damaged"}"#,
            "was damaged",
        );
        let stored = session.with_extension("jsonl.damaged");
        assert_eq!(fs::read(&stored).expect("the original is stored"), damaged);
        assert_starts_with(&session, &intact);
    });
}

/// The agent writes its session late. Messages of its stream are neither requested nor executed again.
#[test]
fn unsaved_end_of_a_session_is_restored_from_the_stream() {
    play_with_each_agent(&endless_steps(), "a session without its end", |stage, agent, server| {
        let session = kill_in_mid_tool(stage, agent, server);
        let saved = fs::read_to_string(&session).expect("a session");
        let unsaved: String = saved
            .lines()
            .take_while(|row| !row.contains(r#""role":"assistant""#))
            .map(|row| row.to_owned() + "\n")
            .collect();
        fs::write(&session, &unsaved).expect("writing succeeds");
        assert_resumed(
            &recover(stage, server, &[]).output(),
            stage,
            r#""repair" {"session_file":"stale"}"#,
            "lacked the latest messages",
        );
        let requested_turns: Vec<_> =
            server.api.request_log().messages.iter().map(|message| message.turn).collect();
        // The outcome of the interrupted call is unknown, so only that turn is requested again.
        assert_eq!(requested_turns, [1, 2, 2, 3, 4]);
        let stored = session.with_extension("jsonl.stale");
        assert_eq!(fs::read_to_string(&stored).expect("the original is stored"), unsaved);
        assert_starts_with(&session, unsaved.as_bytes());
    });
}

/// An agent that silently starts a new session instead of resuming, with the same id.
#[test]
fn missing_history_is_detected() {
    let (stage, server) = (Stage::new(), Server::start(sweep::WORK));
    let forgetful = stage.script(
        "forgetful",
        &format!(
            "case \"$*\" in *--resume*) test -e forgot || {{ touch forgot; find \"$HOME/.claude\" -name '*.jsonl' \
             -delete; set -- $(echo \"$@\" | sed s/--resume/--session-id/); }};; esac\n\
             exec '{LONGHAUL}' drill-agent \"$@\""
        ),
    );
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = stage.run(&forgetful, &args).against(&server).start();
    wait_until("the first step is taken", || steps(&stage).contains("one"));
    let agent = agent_pid(&stage.only_run());
    kill_process(agent, Signal::KILL).expect("the test started this process");
    let envelope = run.output().envelope(0);
    assert_eq!(envelope["result"], sweep::DONE, "{envelope}");
    assert_eq!(steps(&stage), "one\ntwo\nthree\nfour\n");
    assert_eq!(
        strategies(&stage),
        ["null null", r#""as_is" {"session_file":"ready"}"#, r#""handoff" {"fault":"session_lost"}"#]
    );
}

#[test]
fn option_as_session_id_never_reaches_the_agent() {
    const OPTION: &str = "--dangerously-skip-permissions=yes";
    let (stage, server) = (Stage::new(), Server::start(STEPS));
    kill_in_mid_tool(&stage, &stage.agent(), &server);
    let run = stage.only_run();
    let journal = fs::read_to_string(run.journal_path()).expect("there is a journal");
    let session = run.status().expect("a status").session_id.expect("a session");
    fs::write(run.journal_path(), journal.replace(&session.to_string(), OPTION))
        .expect("the test owns the file");
    recover(&stage, &server, &[]).output().envelope(0);
    let argv = |number| fs::read_to_string(run.attempt(number).path().join("argv.json"));
    let all: Vec<String> = (1..9).map_while(|number| argv(number).ok()).collect();
    assert!(all.len() >= 2 && all.iter().all(|argv| !argv.contains(OPTION)), "{all:?}");
}

/// A long outage has many attempts. Their prompts would fill the conversation, and each later request would pay for them.
#[test]
fn outage_leaves_its_prompt_at_most_twice_in_the_conversation() {
    let outage = format!("{STEPS}\n[[fault]]\nturn = 2\nstatus = {{ code = 529 }}\ntimes = 4\n");
    play_with_each_agent(&outage, "an outage of four attempts", |stage, agent, server| {
        let args =
            ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--inner-retries", "0"];
        let envelope = stage.run(agent, &args).against(server).output().envelope(0);
        assert_done(stage, &envelope, 5);
        let log = server.api.request_log();
        let prompt = &log.requests.last().expect("the agent sent a request").prompt;
        assert_eq!(prompt.matches("The work was interrupted: ").count(), 2, "{prompt}");
    });
}

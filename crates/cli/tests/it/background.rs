//! Background work that outlives an exchange: Longhaul waits for it, notifies the model when it ends, and
//! names the commands that it stops. Tests with an agent run with every available agent.

use crate::call::{Running, wait_until};
use crate::harness::Stage;
use crate::recovering::{kill_agent, play_with_each_agent, prompt_of, recover, release};
use crate::server::Server;
use longhaul_core::{AttemptEnd, PromptKind, Record, StopCause};
use longhaul_store::Journal;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Returns a scenario in which the model starts a command in the background, ends its turn, and waits when
/// prompted.
pub fn training_scenario(command: &str) -> String {
    let finish = r#"It is trained.
! call = { name = "mcp__longhaul-run__finish", input = { summary = "Trained." } }
All is done."#;
    format!(
        "
I start the training.
& {command}
It trains.
? You stopped
It still trains.
? You stopped
{finish}
? You reported that the work is done
{finish}
? This run is about to end
My work is saved.
? The limit has been raised
{finish}
"
    )
}

/// A command that outlasts the background wait. It ends after [`release`].
const ENDS: &str = "until test -e go; do sleep 0.1; done; echo trained > trained";
/// A command that never ends on its own and prints its progress.
const ENDLESS: &str = "echo step 1; echo step 2; sleep 600";

const KEEP_GOING: [&str; 3] = ["--keep-going", "--background-wait", "1s"];

fn start(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Running {
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &base_args).args(args).against(server).start()
}

fn records(stage: &Stage) -> Vec<Record> {
    let history = <Journal>::load(&stage.only_run().journal_path()).expect("there is a journal");
    history.records().map(|(_, record)| record.clone()).collect()
}

/// Returns the prompts that the agent received in its open session.
fn sent_prompts(stage: &Stage) -> Vec<PromptKind> {
    let prompt = |record| if let Record::PromptSent { prompt, .. } = record { Some(prompt) } else { None };
    records(stage).into_iter().filter_map(prompt).collect()
}

/// Returns the causes of the run's stops, and for each attempt the number of background tasks still running
/// at its end.
fn stops(stage: &Stage) -> (Vec<StopCause>, Vec<u32>) {
    let records = records(stage);
    let cause =
        |record: &Record| if let Record::StopOrdered { cause, .. } = record { Some(*cause) } else { None };
    let tasks = |record: &Record| match record {
        Record::AttemptEnded(AttemptEnd { background, .. }) => Some(*background),
        _ => None,
    };
    (records.iter().filter_map(cause).collect(), records.iter().filter_map(tasks).collect())
}

fn stream(stage: &Stage) -> String {
    fs::read_to_string(stage.only_run().attempt(1).stream_path()).unwrap_or_default()
}

fn transcript(stage: &Stage) -> String {
    fs::read_to_string(stage.only_run().transcript_path()).expect("there is a transcript")
}

/// Asserts that the envelope names the endless command and the last lines of its output.
fn assert_stopped_command_is_named(envelope: &Value) {
    let stopped = envelope["run"]["background_stopped"].as_array().expect("a list");
    assert_eq!(stopped.len(), 1, "{envelope}");
    assert_eq!(stopped[0]["command"], ENDLESS, "{envelope}");
    assert_eq!(stopped[0]["last_lines"], "step 1\nstep 2", "{envelope}");
    let output = stopped[0]["output_file"].as_str().expect("a path");
    assert!(Path::new(output).is_absolute(), "{output}");
}

#[test]
fn keep_going_waits_for_background_work_and_the_model_is_notified() {
    play_with_each_agent(&training_scenario(ENDS), "waiting for background work", |stage, agent, server| {
        let run = start(stage, agent, server, &[&KEEP_GOING[..], &["--time-limit", "5m"]].concat());
        let background = || stage.runs().first().and_then(|run| Some(run.status().ok()?.background));
        wait_until("the status names the command", || background() == Some(vec![ENDS.to_owned()]));
        let status = stage.longhaul(["status", "--output-format", "json"]).output();
        let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
        assert_eq!(status["runs"][0]["background"][0], ENDS, "{status}");
        let activity = status["runs"][0]["activity"].as_str().expect("a text");
        assert!(activity.ends_with(&format!("; in the background: {ENDS}")), "{activity}");
        let explanation = stage.longhaul(["why", "@"]).output().stdout.replace("\n      ", " ");
        assert!(explanation.contains(&format!("; in the background: {ENDS}")), "{explanation}");
        let results = || stream(stage).matches(r#""type":"result""#).count();
        wait_until("the nudge is answered", || results() == 2);
        release(stage);

        let envelope = run.output().envelope(0);
        assert_eq!(envelope["result"], "All is done.", "{envelope}");
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        assert_eq!(envelope["run"]["background_stopped"], Value::Array(Vec::new()), "{envelope}");
        assert_eq!(stops(stage), (Vec::new(), vec![0]), "nothing was stopped");
        assert!(stage.work().join("trained").exists());
        // The agent was prompted once while it waited. Claude Code itself reported the end of the command.
        assert!(
            matches!(
                sent_prompts(stage)[..],
                [PromptKind::KeepGoing(_), PromptKind::KeepGoing(_), PromptKind::ConfirmDone]
            ),
            "{:?}",
            sent_prompts(stage)
        );
        let nudge = format!("Still running in the background: `{ENDS}`.");
        assert_eq!(transcript(stage).matches(&nudge).count(), 1, "{}", transcript(stage));
        let completed = r#""subtype":"task_notification""#;
        assert!(stream(stage).lines().any(|line| line.contains(completed) && line.contains("completed")));
        // The task, the question, the notification, the nudge, the finish, and its confirmation.
        assert_eq!(results(), 5);
    });
}

#[test]
fn status_says_that_a_run_waits_for_background_work() {
    play_with_each_agent(&training_scenario(ENDLESS), "the status of a wait", |stage, agent, server| {
        let run = start(stage, agent, server, &["--background-wait", "5m"]);
        let activity = || {
            let status = stage.longhaul(["status", "--output-format", "json"]).output().stdout;
            serde_json::from_str::<Value>(&status).expect("JSON")["runs"][0]["activity"].clone()
        };
        let expected = format!("waiting for background work; in the background: {ENDLESS}");
        wait_until("the exchange has ended", || activity() == expected);
        run.signal(Signal::INT);
        run.output().envelope(130);
    });
}

#[test]
fn background_work_stopped_at_a_limit_is_named_to_the_next_attempt() {
    play_with_each_agent(
        &training_scenario(ENDLESS),
        "stopping background work at a limit",
        |stage, agent, server| {
            let limited = ["--time-limit", "20s", "--wrap-up-reserve", "10s", "--output-format", "json"];
            let output = start(stage, agent, server, &[&KEEP_GOING[..], &limited].concat()).output();
            let envelope = output.envelope(22);
            assert_eq!(envelope["run"]["limit"], "time", "{envelope}");
            assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
            assert_stopped_command_is_named(&envelope);
            let error =
                format!("the background work `{ENDLESS}` was stopped (last line of its output: step 2)");
            assert!(
                envelope["errors"].as_array().expect("a list").contains(&error.as_str().into()),
                "{envelope}"
            );
            assert_eq!(stops(stage).0.first(), Some(&StopCause::BackgroundStopped));
            assert_eq!(stops(stage).1, [1]);
            let explanation = stage.longhaul(["why", "@", "--output-format", "json"]).output().stdout;
            assert!(explanation.contains(&error), "{explanation}");
            // A prompt named it before it was stopped.
            assert!(
                matches!(sent_prompts(stage)[..], [PromptKind::KeepGoing(_), PromptKind::WrapUp(_)]),
                "{:?}",
                sent_prompts(stage)
            );
            assert!(
                transcript(stage).contains("Longhaul stops this work when the run ends"),
                "{}",
                transcript(stage)
            );

            let resumed =
                stage.longhaul(["resume", "@", "--add-time", "5m"]).against(server).output().envelope(0);
            assert_eq!(resumed["result"], "All is done.", "{resumed}");
            let prompt = prompt_of(&stage.only_run(), 2);
            let item = format!("Start again what the task still needs of it:\n- `{ENDLESS}`, output in /");
            assert!(prompt.contains(&item) && prompt.contains("\nstep 1\nstep 2\n"), "{prompt}");
            assert_eq!(prompt.matches(ENDLESS).count(), 1, "{prompt}");
        },
    );
}

#[test]
fn result_names_background_work_stopped_after_its_wait() {
    play_with_each_agent(
        &training_scenario(ENDLESS),
        "stopping background work after its wait",
        |stage, agent, server| {
            let output = start(stage, agent, server, &["--background-wait", "1s"]).output();
            let envelope = output.envelope(0);
            assert_eq!(envelope["result"], "It trains.", "{envelope}");
            assert_stopped_command_is_named(&envelope);
            assert_eq!(stops(stage), (vec![StopCause::BackgroundStopped], vec![1]));
            let shown = stage.longhaul(["show", "@"]).with_text_output().output().stdout;
            assert_eq!(shown.matches("attempt 1: ").count(), 1, "{shown}");
        },
    );
}

#[test]
fn text_output_names_stopped_background_work() {
    let (stage, server) = (Stage::new(), Server::start(&training_scenario(ENDLESS)));
    let args = ["--background-wait", "1s", "--output-format", "text"];
    let output = start(&stage, &stage.agent(), &server, &args).output();
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = format!("the background work `{ENDLESS}` was stopped (last line of its output: step 2)");
    assert!(unwrapped(&output.stdout).contains(&format!("note {message}")), "{output:?}");
    assert!(
        output
            .stderr
            .contains("stopping the agent and its background work: its time or a limit is exhausted"),
        "{output:?}"
    );
    let show = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
    assert!(unwrapped(&show).contains(&format!("attempt 1: {message}")), "{show}");
}

#[test]
fn check_prompt_names_background_work_stopped_before_the_check() {
    let work = training_scenario(ENDLESS)
        + "? The check of your work failed\nI train in the foreground.\n$ touch trained\nTrained.\n";
    play_with_each_agent(&work, "a check after background work", |stage, agent, server| {
        let args = ["--background-wait", "1s", "--check", "test -e trained"];
        let envelope = start(stage, agent, server, &args).output().envelope(0);
        assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
        let prompt = prompt_of(&stage.only_run(), 2);
        assert!(prompt.starts_with("The check of your work failed."), "{prompt}");
        assert!(prompt.contains(&format!("\n- `{ENDLESS}`")) && prompt.contains("\nstep 2\n"), "{prompt}");
    });
}

/// On resume, the agent's own notice names neither the command nor its output file.
#[test]
fn work_that_died_with_its_agent_is_named_to_the_next_attempt() {
    let work = training_scenario(ENDLESS)
        + "? The work was interrupted\nI train in the foreground.\n$ touch trained\nTrained.\n";
    play_with_each_agent(&work, "death of background work", |stage, agent, server| {
        let run = start(stage, agent, server, &[]);
        let is_waiting = || !stage.runs().is_empty() && stream(stage).contains(r#""type":"result""#);
        wait_until("the agent waits for its command", is_waiting);
        run.kill();
        kill_agent(&stage.only_run());
        let envelope = recover(stage, server, &[]).output().envelope(0);
        assert_eq!(envelope["result"], "Trained.", "{envelope}");
        let prompt = prompt_of(&stage.only_run(), 2);
        assert!(
            prompt.starts_with("The work was interrupted") && prompt.contains(&format!("\n- `{ENDLESS}`")),
            "{prompt}"
        );
        assert_eq!(stops(stage).1, [1, 0]);
    });
}

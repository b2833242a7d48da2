//! The agent's questions: rules answer them, never after a wait for a person, and never without a record.
//!
//! Each scenario runs with every available agent.

use crate::call::{Output, wait_until};
use crate::harness::Stage;
use crate::recovering::{play_with_each_agent, recover, run_to_mid_tool_with, slow_step_then};
use crate::server::Server;
use longhaul_core::AnsweredQuestion;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A question, then several at once, then a step.
const ASKING: &str = r#"
I do not know which.
! ask_user = { question = "Which database should we use?", options = ["Postgres (Recommended)", "SQLite"] }
Nor which of these.
! ask_user = { question = "Which features do you want?", options = ["Auth", "Cache", "Logs"], multiple = true }
! ask_user = { question = "May I use git?", options = ["Yes", "No"] }
I run a command.
$ touch run
That is all that I could do.
"#;

const PROMPT: [&str; 3] = ["p", "--permission-mode", "bypassPermissions"];

fn run(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Output {
    let output = stage.run(agent, &PROMPT).args(args).against(server).output();
    assert_eq!(output.envelope(0)["run"]["outcome"], "done", "{output:?}");
    output
}

fn stream(stage: &Stage) -> String {
    fs::read_to_string(stage.only_run().attempt(1).stream_path()).unwrap_or_default()
}

/// Returns what the agent reported to its model about the answers.
fn reported_answers(stage: &Stage) -> Vec<String> {
    let stream = stream(stage);
    let events = stream.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results = events.filter(|event| event["type"] == "user").filter_map(|event| {
        let text = event["message"]["content"][0]["content"].as_str()?.to_owned();
        text.contains("answer").then_some(text)
    });
    results.collect()
}

fn answered(question: &str, answer: &str, key: Option<&str>) -> AnsweredQuestion {
    let (question, answer) = (question.to_owned(), answer.to_owned());
    AnsweredQuestion { question, answer, key: key.map(str::to_owned) }
}

#[test]
fn question_is_answered_by_key_or_first_option() {
    play_with_each_agent(ASKING, "answers to questions", |stage, agent, server| {
        let file = stage.file("answers.toml", "features = [\"logs\", \"auth\"]\nDatabase = \"Postgres\"\n");
        let file = file.display().to_string();
        let output = run(stage, agent, server, &["--answer", "database=sqlite", "--answers-file", &file]);
        let envelope = output.envelope(0);
        assert_eq!(envelope["run"]["questions"], json!({ "answered": 3, "by_default": 1 }), "{envelope}");
        assert_eq!((&envelope["run"]["denied_calls"], &envelope["run"]["attempts"]), (&0.into(), &1.into()));
        assert!(stage.work().join("run").exists(), "the agent continued");
        assert_eq!(
            output.stderr,
            "warning: no --answer matches the question \"May I use git?\"; using its first option, \"Yes\"\n"
        );
        let chosen = |answers: &str| {
            format!(
                "Your questions have been answered: {answers}. You can now continue with these answers in mind."
            )
        };
        assert_eq!(
            reported_answers(stage),
            [
                chosen(r#""Which database should we use?"="SQLite""#),
                chosen(r#""Which features do you want?"="Logs, Auth""#),
                chosen(r#""May I use git?"="Yes""#),
            ]
        );

        let run = stage.only_run();
        let plan = run.plan().expect("the plan can be read");
        let stored = plan.spec.guards.answers.expect("the answers are stored");
        assert_eq!(
            stored,
            [("database".to_owned(), "sqlite".to_owned()), ("features".to_owned(), "logs, auth".to_owned())]
                .into()
        );
        assert_eq!(
            run.attempt(1).read::<Vec<AnsweredQuestion>>().expect("reading succeeds").unwrap_or_default(),
            [
                answered("Which database should we use?", "SQLite", Some("database")),
                answered("Which features do you want?", "Logs, Auth", Some("features")),
                answered("May I use git?", "Yes", None),
            ]
        );
        let shown = stage.longhaul(["show", "@", "--output-format", "json"]).output();
        let shown: Value = serde_json::from_str(&shown.stdout).expect("a run is shown");
        assert_eq!(shown["attempts"][0]["questions"]["by_default"], 1, "{shown}");
        assert_eq!(shown["attempts"][0]["answers"][2]["key"], Value::Null, "{shown}");
        let text = stage.longhaul(["show", "@", "--output-format", "text"]).output().stdout;
        for line in [
            "attempt 1: 3 questions were answered, 1 by default",
            "Which database should we use? → \"SQLite\" (--answer database)",
            "May I use git? → \"Yes\" (default)",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    });
}

#[test]
fn agent_cannot_ask_without_answers() {
    play_with_each_agent(ASKING, "questions without answers", |stage, agent, server| {
        let envelope = run(stage, agent, server, &[]).envelope(0);
        assert_eq!(envelope["run"]["questions"], json!({ "answered": 0, "by_default": 0 }), "{envelope}");
        // The model is informed at once and continues.
        assert!(stream(stage).contains("AskUserQuestion is disabled for this session"));
        assert!(stage.work().join("run").exists());
        assert!(!stage.only_run().attempt(1).input_path().exists());
    });
}

#[test]
fn default_answers_every_question() {
    play_with_each_agent(ASKING, "default answers", |stage, agent, server| {
        let output = run(stage, agent, server, &["--answer-defaults"]);
        assert_eq!(output.envelope(0)["run"]["questions"], json!({ "answered": 3, "by_default": 3 }));
        assert_eq!(output.stderr.matches("warning: no --answer matches").count(), 3, "{output:?}");
        assert_eq!(reported_answers(stage).len(), 3);
    });
}

/// The question is longer than the buffer of a pipe.
#[test]
fn long_question_is_answered() {
    let question = format!("Which one, {}?", "all things considered, ".repeat(1_000));
    let work = ASKING.replace("Which database should we use?", &question);
    let stage = Stage::new();
    let server = Server::start(&work);
    run(&stage, &stage.agent(), &server, &["--answer", "which one=SQLite"]);
    assert!(
        reported_answers(&stage)[0]
            .ends_with("\"=\"SQLite\". You can now continue with these answers in mind.")
    );
    if let Some(claude) = crate::harness::claude_code("a long question") {
        let (stage, server) = (Stage::new(), Server::start(&work));
        run(&stage, &claude, &server, &["--answer", "which one=SQLite"]);
        assert!(reported_answers(&stage)[0].contains("\"=\"SQLite\""), "{:?}", reported_answers(&stage));
    }
}

#[test]
fn guard_denies_before_an_answer() {
    play_with_each_agent(ASKING, "denied questions", |stage, agent, server| {
        let args = ["--answer-defaults", "--deny-tools", "AskUserQuestion"];
        let envelope = run(stage, agent, server, &args).envelope(0);
        assert_eq!(envelope["run"]["questions"]["answered"], 0, "{envelope}");
        assert_eq!(envelope["run"]["denied_calls"], 3, "{envelope}");
    });
}

/// With answers enabled, permission requests arrive too. They are denied at once.
#[test]
fn permission_request_is_denied_at_once() {
    play_with_each_agent(ASKING, "permission requests with answers", |stage, agent, server| {
        let args = ["p", "--permission-mode", "default", "--answer-defaults", "--preset", "drill"];
        let envelope = stage.run(agent, &args).against(server).output().envelope(23);
        assert_eq!(envelope["run"]["fault"], "permission", "{envelope}");
        assert_eq!(envelope["run"]["questions"]["answered"], 3, "{envelope}");
        assert!(!stage.work().join("run").exists());
        assert_eq!(stream(stage).matches(r#""can_use_tool""#).count(), 1);
    });
}

#[test]
fn recovering_supervisor_gives_the_same_answers() {
    let next =
        r#"ask_user = { question = "Which database should we use?", options = ["Postgres", "SQLite"] }"#;
    play_with_each_agent(&slow_step_then(next), "answers after a recovery", |stage, agent, server| {
        run_to_mid_tool_with(stage, agent, server, &["--answer", "database=SQLite"]).kill();
        let question_count = || stream(stage).matches(r#""hook_callback""#).count();
        wait_until("the agent asks its question", || question_count() == 2);
        assert_eq!(reported_answers(stage), [""; 0], "no supervisor answers");
        let envelope = recover(stage, server, &[]).output().envelope(0);
        assert_eq!(envelope["run"]["questions"], json!({ "answered": 1, "by_default": 0 }), "{envelope}");
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        assert!(reported_answers(stage)[0].contains(r#"="SQLite""#));
        assert_eq!(server.api.request_log().model_requests(), 3, "a turn was requested again");
    });
}

#[test]
fn invalid_answers_are_wrong_usage() {
    let stage = Stage::new();
    let file = |name: &str, text: &str| stage.file(name, text).display().to_string();
    let truncated = file("torn.json", "{\"database\": ");
    let not_text = file("yes.toml", "git = true\n");
    let duplicate = file("twice.json", "{\"git\": \"Yes\", \"Git\": \"No\"}");
    let check = |args: &[&str], fragments: &[&str]| {
        let output = stage.longhaul(["run", "p"]).args(args).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        output.assert_error(fragments);
        assert!(!stage.home().exists(), "{args:?} created {}", stage.home().display());
    };
    check(&["--answer", "database"], &["the answer `database` has no `=`", "hint: pass KEY=VALUE"]);
    check(&["--answer", " =SQLite"], &["the answer `SQLite` has no key", "hint: pass KEY=VALUE"]);
    check(
        &["--answer", "git=Yes", "--answer", "Git=No"],
        &["`Git` has two answers, `Yes` and `No`", "hint: leave out one"],
    );
    check(
        &["--answers-file", "/nowhere/answers.toml"],
        &["/nowhere/answers.toml", "No such file", "hint: check --answers-file"],
    );
    check(
        &["--answers-file", &truncated],
        &["torn.json", "EOF", "hint: --answers-file reads keys and answers"],
    );
    check(
        &["--answers-file", &not_text],
        &["yes.toml", "`git` is neither a string", "hint: --answers-file reads"],
    );
    check(&["--answers-file", &duplicate], &["twice.json", "`Git` has two answers", "hint: leave out one"]);
}

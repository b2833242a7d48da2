//! Limits: the agent gets a wrap-up before the end, the run ends within its limits, and continues when a
//! limit is raised. Tests run with every available agent.

use crate::call::wait_until;
use crate::harness::Stage;
use crate::recovering::{play_with_each_agent, prompt_of, recover};
use crate::server::{Server, WORK};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// A scenario in a repository with a hundred short steps, and with replies to the wrap-up prompt and to
/// resuming.
const LONG: &str = "
I begin.
$ echo started > progress; touch started
STEPS
All of it is done.
? This run is about to end
I save my work.
$ git add -A && git commit -qm 'Saved before the end' && touch saved
Saved, and stopping.
? Now finish it
It is finished.
? The limit has been raised
I continue.
$ test -e saved && touch continued
The rest is done, too.
";

fn long_scenario() -> String {
    let step = "The next step.\n$ sleep 0.3; echo step >> progress\n";
    LONG.replace("STEPS\n", &step.repeat(100))
}

/// Performs a run of that scenario in a new repository, with these limits.
fn run(stage: &Stage, agent: &Path, server: &Server, limits: &[&str], code: i32) -> Value {
    create_repository(&stage.work());
    let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &args).args(limits).against(server).output().envelope(code)
}

fn create_repository(work: &Path) {
    let git = |args: &[&str]| {
        let status = Command::new("git").args(args).current_dir(work).status().expect("there is git");
        assert!(status.success(), "git {args:?}");
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "Test"]);
    git(&["config", "user.email", "user@example.com"]);
}

/// Returns the subjects of the commits in the workspace.
fn commits(stage: &Stage) -> String {
    let log = Command::new("git").args(["log", "--format=%s"]).current_dir(stage.work()).output();
    String::from_utf8(log.expect("there is git").stdout).expect("subjects are UTF-8")
}

/// Asserts that this limit ended the run after a wrap-up, in one attempt.
fn assert_wrapped_up(stage: &Stage, envelope: &Value, limit: &str) {
    assert_eq!(envelope["run"]["limit"], limit, "{envelope}");
    assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    assert_eq!(envelope["run"]["fault"], Value::Null, "{envelope}");
    assert_eq!(envelope["result"], "Saved, and stopping.", "the partial result: {envelope}");
    assert_eq!(commits(stage), "Saved before the end\n");
    assert_wrap_up_is_marked(stage);
}

/// Asserts that the transcript marks the wrap-up, starting with its prompt, and no earlier message.
fn assert_wrap_up_is_marked(stage: &Stage) {
    let logged = stage.longhaul(["logs", "@", "--json-array"]).output();
    assert_eq!(logged.code, 0, "{logged:?}");
    let messages: Vec<Value> = serde_json::from_str(&logged.stdout).expect("an array is printed");
    let starts_with = |message: &Value, text: &str| {
        message["content"].as_str().is_some_and(|content| content.starts_with(text))
    };
    let wrap_up = messages.iter().position(|message| starts_with(message, "This run is about to end"));
    let (before, wrap_up_messages) = messages.split_at(wrap_up.expect("there is a wrap-up prompt"));
    assert!(before.iter().all(|message| message["wrap_up"].is_null()), "{before:?}");
    assert!(wrap_up_messages.iter().all(|message| message["wrap_up"] == true), "{wrap_up_messages:?}");
    assert!(
        wrap_up_messages.iter().any(|message| starts_with(message, "I save my work.")),
        "{wrap_up_messages:?}"
    );
}

fn cost(envelope: &Value) -> f64 {
    envelope["usage"]["total_cost_usd"].as_f64().expect("the cost is a number")
}

/// Returns the mean cost of the answers that the API served, in dollars, from the cost that the agent
/// reported.
fn mean_cost(server: &Server, envelope: &Value) -> f64 {
    cost(envelope) / f64::from(server.api.request_log().model_requests() as u32)
}

#[test]
fn budget_ends_the_run_with_a_wrap_up() {
    play_with_each_agent(&long_scenario(), "a budget", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--budget", "0.15"], 21);
        assert_eq!(envelope["run"]["outcome"], "over_budget");
        assert_wrapped_up(stage, &envelope, "budget");
        // The run exceeds the budget by at most the answer in progress.
        let (cost, answer_cost) = (cost(&envelope), mean_cost(server, &envelope));
        assert!(cost < 0.15 + 2.0 * answer_cost, "{cost} of 0.15, an answer costs {answer_cost}");
        assert!(cost > 0.07, "the run was stopped early: {cost}");
        let resume = envelope["run"]["resume"].as_str().expect("a hint");
        assert!(resume.contains("--add-budget"), "{resume}");
    });
}

#[test]
fn new_limit_below_the_usage_is_rejected_with_a_hint() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let args = ["p", "--permission-mode", "bypassPermissions"];
    stage.run(&stage.agent(), &args).against(&server).output().envelope(0);
    let rejected = stage.longhaul(["resume", "@", "More.", "--budget", "0.00001"]).against(&server).output();
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["the budget is exhausted", "hint: pass a larger limit"]);
}

#[test]
fn raised_limit_continues_the_run() {
    play_with_each_agent(&long_scenario(), "a raised limit", |stage, agent, server| {
        run(stage, agent, server, &["--max-turns", "6"], 22);
        let unchanged = stage.longhaul(["resume", "@"]).against(server).output();
        assert_eq!(unchanged.code, 2, "{unchanged:?}");
        unchanged.assert_error(&["the turn limit is ", "--max-turns"]);
        let more = ["resume", "@", "Now finish it.", "--max-turns", "20"];
        let envelope = stage.longhaul(more).against(server).output().envelope(0);
        assert_eq!(envelope["result"], "It is finished.", "{envelope}");
        let plan = stage.only_run().plan().expect("the plan can be read");
        assert_eq!(plan.spec.policy.limits.turns, Some(20));
    });
}

/// Returns the prompts of the requests after the first `before`.
fn prompts_since(server: &Server, before: usize) -> Vec<String> {
    let request_log = server.api.request_log();
    let later = request_log.requests.iter().skip(before).filter(|request| request.turn.is_some());
    later.map(|request| request.prompt.clone()).collect()
}

#[test]
fn resuming_omits_the_wrap_up_prompt() {
    play_with_each_agent(&long_scenario(), "a resume after a wrap-up", |stage, agent, server| {
        let limits = ["--time-limit", "16s", "--wrap-up-reserve", "8s"];
        let limited = run(stage, agent, server, &limits, 22);
        assert_wrapped_up(stage, &limited, "time");
        let before = server.api.request_log().requests.len();
        assert!(prompts_since(server, 0).concat().contains("This run is about to end"));
        let envelope =
            stage.longhaul(["resume", "@", "--add-time", "1h"]).against(server).output().envelope(0);
        assert_eq!(envelope["result"], "The rest is done, too.", "{envelope}");
        assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
        assert_eq!(envelope["session_id"], limited["session_id"], "{envelope}");
        assert!(stage.work().join("continued").exists(), "the saved work exists, and the work continued");
        let later = prompts_since(server, before);
        assert!(later.len() >= 2, "{later:?}");
        for prompt in later {
            assert!(!prompt.contains("This run is about to end"), "{prompt}");
            assert!(
                prompt.contains("The limit has been raised") && prompt.contains("Read `git log`"),
                "{prompt}"
            );
        }
        // Another resume continues from there.
        let before = server.api.request_log().requests.len();
        let more = ["resume", "@", "Now finish it."];
        let envelope = stage.longhaul(more).against(server).output().envelope(0);
        assert_eq!(envelope["result"], "It is finished.", "{envelope}");
        for prompt in prompts_since(server, before) {
            assert!(
                !prompt.contains("This run is about to end") && prompt.contains("The limit has been raised"),
                "{prompt}"
            );
        }
        // A new session would know what was saved.
        let handoff = stage.longhaul(["handoff", "@"]).output().stdout;
        let wrap_up = handoff.find("asked to save its work and to stop").expect("the record has the wrap-up");
        let saved = handoff.find("I save my work.").expect("the record has the agent's words");
        assert!(wrap_up < saved && handoff[saved..].contains("Saved before the end"), "{handoff}");
    });
}

/// The first wrap-up meets an overloaded API, so another attempt wraps up. The session is then resumed from the
/// interrupted call.
#[test]
fn call_that_a_limit_interrupted_is_listed_after_a_second_wrap_up() {
    let scenario = "
I begin.
$ echo two; sleep 30
All of it is done.
? This run is about to end
I save my work.
$ touch saved
Saved, and stopping.
? The limit has been raised
The rest is done, too.
[[fault]]
times = 1
hold = { for_s = 0.1 }
[[fault]]
times = 1
status = { code = 529 }
";
    play_with_each_agent(scenario, "two wrap-ups", |stage, agent, server| {
        let limits = ["--time-limit", "24s", "--wrap-up-reserve", "12s", "--inner-retries", "0"];
        let limited = run(stage, agent, server, &limits, 22);
        assert_eq!(limited["run"]["attempts"], 2, "{limited}");
        assert!(stage.work().join("saved").exists());
        stage.longhaul(["resume", "@", "--add-time", "1h"]).against(server).output().envelope(0);
        let prompt = prompt_of(&stage.only_run(), 3);
        assert!(prompt.contains("Outcome unknown, check first:\n- `Bash: echo two; sleep 30`"), "{prompt}");
    });
}

#[test]
fn resuming_omits_a_custom_wrap_up_prompt() {
    let scenario = long_scenario().replace("This run is about to end", "Time to pack up.");
    play_with_each_agent(&scenario, "a resume after a custom wrap-up prompt", |stage, agent, server| {
        run(stage, agent, server, &["--max-turns", "6", "--wrap-up-prompt", "Time to pack up."], 22);
        assert!(prompts_since(server, 0).concat().contains("Time to pack up."));
        let before = server.api.request_log().requests.len();
        let more = ["resume", "@", "Now finish it.", "--max-turns", "20"];
        let envelope = stage.longhaul(more).against(server).output().envelope(0);
        assert_eq!(envelope["result"], "It is finished.", "{envelope}");
        let later = prompts_since(server, before).concat();
        assert!(later.contains("Now finish it.") && !later.contains("Time to pack up."), "{later}");
    });
}

#[test]
fn fork_omits_the_wrap_up_prompt() {
    play_with_each_agent(&long_scenario(), "a fork after a wrap-up", |stage, agent, server| {
        let limited = run(stage, agent, server, &["--max-turns", "6", "--run-id", "limited"], 22);
        let before = server.api.request_log().requests.len();
        let fork = ["resume", "limited", "--fork", "Now finish it.", "--max-turns", "20"];
        let forked = stage.longhaul(fork).against(server).output().envelope(0);
        assert_eq!(forked["result"], "It is finished.", "{forked}");
        assert_eq!(forked["run"]["attempts"], 1, "{forked}");
        assert_ne!(forked["session_id"], limited["session_id"], "{forked}");
        let later = prompts_since(server, before).concat();
        assert!(later.contains("Now finish it.") && later.contains("you saved your work"), "{later}");
        assert!(!later.contains("This run is about to end"), "{later}");
        assert!(later.contains("p\nNow finish it."), "the fork has the history: {later}");
        // A resume of the fork continues from there.
        let before = server.api.request_log().requests.len();
        let more = ["resume", "@", "Now finish it."];
        stage.longhaul(more).against(server).output().envelope(0);
        let later = prompts_since(server, before).concat();
        assert!(
            later.contains("p\nNow finish it.") && !later.contains("This run is about to end"),
            "{later}"
        );
    });
}

#[test]
fn time_limit_ends_the_run_with_a_wrap_up() {
    play_with_each_agent(&long_scenario(), "a time limit", |stage, agent, server| {
        let limits = ["--time-limit", "16s", "--wrap-up-reserve", "8s"];
        let envelope = run(stage, agent, server, &limits, 22);
        assert_eq!(envelope["run"]["outcome"], "out_of_time");
        assert_wrapped_up(stage, &envelope, "time");
        let active = envelope["run"]["active_ms"].as_u64().expect("a number");
        assert!((7_900..16_000 + 3_000).contains(&active), "{active} ms");
    });
}

#[test]
fn wall_limit_ends_the_run_with_a_wrap_up() {
    play_with_each_agent(&long_scenario(), "a wall limit", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--wall-limit", "18s", "--wrap-up-reserve", "9s"], 22);
        assert_wrapped_up(stage, &envelope, "wall");
    });
}

#[test]
fn turn_and_token_limits_end_the_run_with_a_wrap_up() {
    play_with_each_agent("Hello.\n", "an answer in the last turn", |stage, agent, server| {
        run(stage, agent, server, &["--max-turns", "1"], 0);
    });
    play_with_each_agent(&long_scenario(), "a turn limit", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--max-turns", "8"], 22);
        assert_wrapped_up(stage, &envelope, "turns");
        let served = server.api.request_log().model_requests();
        assert!((7..=9).contains(&served), "{served} answers for a limit of 8");
    });
    play_with_each_agent(&long_scenario(), "a token limit", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--max-tokens", "150k"], 21);
        assert_wrapped_up(stage, &envelope, "tokens");
        let unchanged = stage.longhaul(["resume", "@"]).against(server).output();
        assert_eq!(unchanged.code, 2, "{unchanged:?}");
        unchanged.assert_error(&["the token limit is ", "--max-tokens"]);
    });
}

#[test]
fn agent_is_stopped_at_once_without_a_wrap_up() {
    play_with_each_agent(&long_scenario(), "a limit without a wrap-up", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--max-turns", "5", "--no-wrap-up"], 22);
        assert_eq!(envelope["run"]["limit"], "turns", "{envelope}");
        assert_eq!(commits(stage), "");
        let served = server.api.request_log().model_requests();
        assert!((5..=6).contains(&served), "{served} answers for a limit of 5");
    });
}

/// Returns whether the agent finished the running call and asks about the next one.
fn is_asking(stage: &Stage) -> bool {
    let stream = fs::read_to_string(stage.only_run().attempt(1).stream_path()).unwrap_or_default();
    let made = stream.matches(r#""type":"tool_result""#).count();
    stream.matches(r#""hook_callback""#).count() > made && made > 0
}

#[test]
fn limited_agent_waits_for_the_next_supervisor() {
    play_with_each_agent(&long_scenario(), "a limited agent without a supervisor", |stage, agent, server| {
        create_repository(&stage.work());
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--max-turns", "8"];
        let started = stage.run(agent, &args).against(server).start();
        wait_until("the agent works", || stage.work().join("started").exists());
        started.kill();
        wait_until("the agent waits for an answer", || is_asking(stage));
        let served = server.api.request_log().model_requests();
        assert!(served <= 4, "{served} answers without a supervisor");
        let envelope = recover(stage, server, &[]).output().envelope(22);
        assert_wrapped_up(stage, &envelope, "turns");
    });
}

#[test]
fn agent_that_waited_for_a_supervisor_used_no_time() {
    let script = "I begin.\n$ touch started; sleep 1\nI continue.\n$ touch continued\nAll of it is done.\n";
    play_with_each_agent(script, "an agent that waits for a supervisor", |stage, agent, server| {
        let args =
            ["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--time-limit", "20s"];
        let started = stage.run(agent, &args).against(server).start();
        wait_until("the agent works", || stage.work().join("started").exists());
        started.kill();
        wait_until("the agent waits for an answer", || is_asking(stage));
        // As long as its limit.
        thread::sleep(Duration::from_secs(20));
        let envelope = recover(stage, server, &[]).output().envelope(0);
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
        assert!(stage.work().join("continued").exists());
    });
}

/// Also, the wall limit passes after the agent finished.
#[test]
fn agent_that_finished_without_a_supervisor_used_no_time_since() {
    let script = "I begin.\n$ touch started; sleep 1\nAll of it is done.\n";
    play_with_each_agent(script, "a finished agent without a supervisor", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let limits = ["--time-limit", "20s", "--wall-limit", "20s"];
        let started = stage.run(agent, &args).args(limits).against(server).start();
        wait_until("the agent works", || stage.work().join("started").exists());
        started.kill();
        let stream = stage.only_run().attempt(1).stream_path();
        let has_result =
            || fs::read_to_string(&stream).is_ok_and(|stream| stream.contains(r#""type":"result""#));
        wait_until("the agent has finished", has_result);
        // The agent waits for its next prompt as long as its limits.
        thread::sleep(Duration::from_secs(20));
        let envelope = recover(stage, server, &[]).output().envelope(0);
        assert_eq!(envelope["run"]["attempts"], 1, "{envelope}");
    });
}

#[test]
fn memory_limit_stops_and_resumes_the_agent_once() {
    let hungry = "
This needs memory.
$ test -e once && exit 0; touch once; python3 -c 'import time; hold = bytearray(1200 << 20); time.sleep(60)'
It was enough.
";
    play_with_each_agent(hungry, "a memory limit", |stage, agent, server| {
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let limits = ["--memory-limit", "1100M"];
        let output = stage.run(agent, &args).args(limits).against(server).output();
        let envelope = output.envelope(0);
        assert_eq!(envelope["run"]["attempts"], 2, "{envelope}");
        assert!(output.stderr.contains("1.1 GiB of memory"), "{output:?}");
        let show = stage.longhaul(["show", "@", "--output-format", "json"]).output();
        let show: Value = serde_json::from_str(&show.stdout).expect("a run is shown");
        assert_eq!(show["attempts"][0]["fault"], "out_of_memory", "{show}");
    });
}

#[test]
fn dry_run_shows_the_limits_and_the_checks() {
    let stage = Stage::new();
    let args = ["p", "--budget", "5", "--check", "true", "--dry-run"];
    let plan = stage.run(&stage.agent(), &args).output();
    assert_eq!(plan.code, 0, "{plan:?}");
    let plan: Value = serde_json::from_str(&plan.stdout).expect("an object is printed");
    let args = plan["command"]["args"].to_string();
    assert!(args.contains(r#""--max-budget-usd","5.000000""#), "{args}");
    assert_eq!(plan["checks"], serde_json::json!(["true"]));
    assert_eq!(plan["policy"]["limits"]["budget"], 5_000_000);
}

#[test]
fn budget_for_an_unpriced_model_causes_a_warning() {
    let stage = Stage::new();
    let server = Server::start(&long_scenario().replace("sleep 0.3; ", ""));
    create_repository(&stage.work());
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let run = |args: &[&str]| stage.run(&stage.agent(), &base_args).args(args).against(&server).output();
    let warning = "no price is known for `claude-unheard-of-9`";
    let limited = run(&["--model", "claude-unheard-of-9", "--budget", "100"]);
    assert_eq!(limited.stderr.matches(warning).count(), 1, "{limited:?}");
    let unlimited = run(&["--model", "claude-unheard-of-9"]);
    assert!(!unlimited.stderr.contains(warning), "{unlimited:?}");
}

#[test]
fn turn_limit_of_one_allows_one_answer() {
    play_with_each_agent(&long_scenario(), "a limit of one turn", |stage, agent, server| {
        let envelope = run(stage, agent, server, &["--max-turns", "1"], 22);
        assert_eq!(envelope["run"]["limit"], "turns", "{envelope}");
        assert_eq!(server.api.request_log().model_requests(), 1, "{envelope}");
    });
}

#[test]
fn keep_going_needs_a_limit() {
    let stage = Stage::new();
    let dry_run =
        |more: &[&str]| stage.run(&stage.agent(), &["p", "--keep-going", "--dry-run"]).args(more).output();
    let rejected = dry_run(&[]);
    assert_eq!(rejected.code, 2, "{rejected:?}");
    rejected.assert_error(&["--keep-going without a limit", "--time-limit 12h", "`--budget none`"]);
    for limit in [["--budget", "none"], ["--budget", "5"], ["--time-limit", "none"], ["--max-turns", "50"]] {
        assert_eq!(dry_run(&limit).code, 0, "{limit:?}");
    }
}

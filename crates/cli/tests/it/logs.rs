//! `longhaul logs`: prints the conversation of finished and of running runs. Tests with an agent run with
//! every available agent.

use crate::call::{Output, Running, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::recovering::{
    STEPS, kill_agent, orphaned_run, play_with_each_agent, recover, run_to_mid_tool, wait_for_agent_exit,
    with_each_agent,
};
use crate::server::{Server, WORK};
use expect_test::expect;
use longhaul_core::Span;
use longhaul_store::{RunDir, rfc3339};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const PROMPT: [&str; 5] = ["p", "--permission-mode", "bypassPermissions", "--retry-base", "50ms"];
/// The API is overloaded once, at the second answer.
const OVERLOADED: &str = r#"
[[fault]]
turn = 2
times = 1
status = { code = 529 }
"#;

fn logs(stage: &Stage, args: &[&str]) -> Output {
    stage.longhaul(["logs", "@"]).args(args).output()
}

fn follow(stage: &Stage, args: &[&str]) -> Running {
    stage.longhaul(["logs", "@", "--follow"]).args(args).start()
}

/// Removes moments, spans and amounts from the text.
fn redact(text: &str) -> String {
    let line = |line: &str| match line.split_once(": ") {
        Some((prefix, rest)) if prefix.starts_with("attempt ") && !prefix.contains(',') => {
            let (work, rest) = rest.split_once("; ").unwrap_or(("", rest));
            let work = work.split(" in ").next().unwrap_or_default();
            let rest =
                rest.replace(" at once", " after").split(" after").next().unwrap_or_default().to_owned();
            format!("{prefix}: {work} …; {rest}\n")
        }
        // The error contains a random port.
        Some(("  error", _)) => "  error: …\n".to_owned(),
        Some((prefix, rest)) if prefix.starts_with("attempt ") => {
            format!("{}, …: {rest}\n", prefix.split(',').next().unwrap_or_default())
        }
        None if line.starts_with("attempt ") => {
            format!("{}, …\n", line.split(',').next().unwrap_or_default())
        }
        _ => format!("{}\n", line.split(", $").next().unwrap_or_default()),
    };
    text.lines().map(line).collect()
}

#[test]
fn attempts_are_distinguished() {
    let work = format!("{WORK}{OVERLOADED}");
    play_with_each_agent(&work, "several attempts in logs", |stage, agent, server| {
        stage.run(agent, &PROMPT).args(["--inner-retries", "0"]).against(server).output().envelope(0);
        let all = logs(stage, &[]);
        assert_eq!((all.code, all.stderr.as_str()), (0, ""), "{all:?}");
        expect![[r#"
            attempt 1, …
              you: p
              agent: I write the file.
              Bash: echo hello > hello.txt
                  (Bash completed with no output)
              error: …
              exchange ended: api_error
            attempt 1: 1 turn …; the API is overloaded (status 529); resumed

            attempt 2, …: resumed
              longhaul: The work was interrupted: the API was overloaded for a while. Continue with the task. Before you repeat a step, check whether it has already taken effect: the last commands may have run in full, in part or not at all.
              agent: All done: hello.txt says hello.
              exchange ended: completed
            attempt 2: 1 turn …; the agent reports that it is done
        "#]]
        .assert_eq(&redact(&all.stdout));
        let second = logs(stage, &["--attempt", "2"]).stdout;
        assert!(all.stdout.ends_with(&second) && second.starts_with("attempt 2, "), "{second}");
        let lines = logs(stage, &["--attempt", "1", "--output-format", "stream-json"]).stdout;
        assert!(lines.lines().all(|line| line.contains(r#""attempt":1"#)) && !lines.is_empty(), "{lines}");

        // Following a finished run ends at once.
        assert_eq!(logs(stage, &["--follow"]).stdout, all.stdout);
        assert_eq!(logs(stage, &["--since", "1h"]).stdout, all.stdout);
        let nothing = logs(stage, &["--since", "0"]);
        assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
        assert!(nothing.stderr.contains("no messages that match yet"), "{nothing:?}");

        // `--raw` prints the agent's lines unchanged.
        let stream = |attempt| fs::read_to_string(stage.only_run().attempt(attempt).stream_path());
        let (one, two) = (stream(1).expect("a stream"), stream(2).expect("a stream"));
        assert_eq!(logs(stage, &["--raw"]).stdout, format!("{one}{two}"));
        assert_eq!(logs(stage, &["--raw", "--attempt", "2"]).stdout, two);
        assert_eq!(logs(stage, &["--raw", "--since", "1h"]).stdout, format!("{one}{two}"));
        assert_eq!(logs(stage, &["--raw", "--since", "2999-01-01"]).stdout, "");
    });
}

#[test]
fn since_omits_earlier_messages() {
    with_each_agent("logs with --since", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).output().envelope(0);
        let run = stage.only_run();
        let transcript = add_timestamps(&run, &run.transcript_path());
        let stream = add_timestamps(&run, &run.attempt(1).stream_path());
        // The moment of the second step's result.
        let result_at = |messages: &[Value]| {
            let is_result = |message: &&Value| message["kind"] == "tool_result" || message["type"] == "user";
            let second = messages.iter().filter(is_result).nth(1).expect("there are three results");
            second["timestamp"].as_str().expect("a timestamp").to_owned()
        };
        let text = logs(stage, &["--since", &result_at(&transcript)]).stdout;
        assert!(!text.contains("The second one takes a while."), "{text}");
        assert!(text.starts_with("attempt 1, ") && text.contains("\n  agent: Now the third.\n"), "{text}");
        let raw = logs(stage, &["--raw", "--since", &result_at(&stream)]).stdout;
        let all = logs(stage, &["--raw"]).stdout;
        assert!(all.ends_with(&raw) && raw.len() < all.len() && raw.contains("Now the third."), "{raw}");
        assert!(!raw.contains("The second one takes a while."), "{raw}");
    });
}

/// Adds timestamps within the first of the run's two seconds to the lines of a file, and returns the lines.
/// The scripted agent writes no timestamps.
fn add_timestamps(run: &RunDir, path: &Path) -> Vec<Value> {
    let started = run.plan().expect("the plan can be read").started_at;
    let text = fs::read_to_string(path).expect("the file exists");
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("valid JSON")).collect();
    let count = lines.len() as u64;
    for (line, number) in lines.iter_mut().zip(1..) {
        line["timestamp"] = rfc3339(started.0 + Span(1000 * number / count)).into();
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).expect("the test owns the file");
    lines
}

#[test]
fn follow_continues_across_attempts() {
    let work = format!("{STEPS}\n[[fault]]\nturn = 4\ntimes = 1\nstatus = {{ code = 529 }}\n");
    play_with_each_agent(&work, "logs --follow across attempts", |stage, agent, server| {
        // The wait is long enough for its line to be printed on a busy machine.
        let backoff = ["--inner-retries", "0", "--retry-base", "5s", "--retry-jitter", "none"];
        let run = stage.run(agent, &PROMPT[..3]).args(backoff).against(server).start();
        wait_until("the tool runs", || stage.work().join("started").exists());
        let (followed, raw) = (follow(stage, &[]), follow(stage, &["--raw"]));
        let first = follow(stage, &["--attempt", "1"]);
        run.output().envelope(0);
        let (followed, raw, first) = (followed.output(), raw.output(), first.output());
        assert_eq!((followed.code, followed.stderr.as_str()), (0, ""), "{followed:?}");
        // The length of a wait is only known after it.
        let text = logs(stage, &[]).stdout;
        let without_ending = |text: &str| {
            let is_ending = |line: &&str| line.starts_with("attempt 1: ");
            text.lines().filter(|line| !is_ending(line)).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(without_ending(&followed.stdout), without_ending(&text));
        assert!(followed.stdout.contains("(status 529); waiting until "), "{followed:?}");
        assert!(followed.stdout.contains("\n  agent: All three steps are taken.\n"), "{followed:?}");
        assert!(
            text.starts_with(first.stdout.split("attempt 1: ").next().expect("a first part")),
            "{first:?}"
        );
        assert!(!first.stdout.contains("attempt 2"), "{first:?}");
        // The output is complete, although the partial messages are removed from the files at the end.
        let results = raw.stdout.lines().filter(|line| line.contains(r#""type":"result""#)).count();
        assert_eq!((raw.code, results), (0, 2), "{raw:?}");
        assert!(raw.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{raw:?}");
    });
}

#[test]
fn follow_continues_across_a_takeover() {
    with_each_agent("logs --follow across a recovery", |stage, agent, server| {
        let run = run_to_mid_tool(stage, agent, server);
        let followed = follow(stage, &[]);
        run.kill();
        kill_agent(&stage.only_run());
        recover(stage, server, &[]).output().envelope(0);
        let followed = followed.output();
        assert_eq!(followed.code, 0, "{followed:?}");
        // The session lacks the second step, so the agent repeats it.
        for line in ["agent: I take the first step.", "agent: Now the third.", "agent: All three steps"] {
            assert_eq!(followed.stdout.matches(line).count(), 1, "{line}: {followed:?}");
        }
        assert!(followed.stdout.contains("\nattempt 1: "), "{followed:?}");
        assert!(followed.stdout.contains("the agent crashed (its exit was not observed)"), "{followed:?}");
        assert!(
            followed.stdout.contains("\nattempt 2, ") && followed.stdout.contains(": resumed"),
            "{followed:?}"
        );
        assert!(followed.stdout.trim_end().ends_with("the agent reports that it is done"), "{followed:?}");
    });
}

/// The session is missing, so Longhaul starts no agent in the second attempt.
#[test]
fn attempt_without_messages_is_printed() {
    with_each_agent("an attempt without messages in logs", |stage, agent, server| {
        run_to_mid_tool(stage, agent, server).kill();
        kill_agent(&stage.only_run());
        fs::remove_dir_all(stage.user_home().join(".claude/projects")).expect("there are sessions");
        recover(stage, server, &[]).output().envelope(0);
        let text = logs(stage, &[]).stdout;
        let offset = |line: &str| text.find(line).unwrap_or_else(|| panic!("no `{line}` in {text}"));
        let offsets = [
            "attempt 1, ",
            "attempt 1: ",
            "attempt 2, ",
            "attempt 2: the session was not found; started a new session ",
            "attempt 3, ",
            ": new session with a handoff prompt (the session was not found)\n",
            "attempt 3: ",
        ]
        .map(offset);
        assert!(offsets.is_sorted(), "{text}");
    });
}

#[test]
fn follow_waits_for_an_orphaned_run() {
    let (stage, server, _) = orphaned_run();
    wait_for_agent_exit(&stage.only_run());
    let followed = follow(&stage, &[]);
    recover(&stage, &server, &[]).output().envelope(0);
    let followed = followed.output();
    assert_eq!(followed.code, 0, "{followed:?}");
    assert!(followed.stdout.contains("All three steps are taken."), "{followed:?}");
}

/// The run writes no more messages, and the reader of the pipe has exited.
#[test]
fn closed_pipe_ends_follow() {
    let (stage, server, _) = orphaned_run();
    wait_for_agent_exit(&stage.only_run());
    for args in ["", "--raw"] {
        let script =
            format!("{LONGHAUL} logs @ --quiet --follow {args} | head -n 1; echo ${{PIPESTATUS[0]}}");
        let output = stage.program("bash").args(["-c", &script]).output();
        assert_eq!((output.stdout.lines().last(), output.stderr.as_str()), (Some("0"), ""), "{output:?}");
    }
    recover(&stage, &server, &[]).output().envelope(0);
}

/// The first line of a hundred megabytes appears at once, and memory use stays small.
#[test]
fn large_conversation_is_streamed() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    stage.run(&stage.agent(), &PROMPT).against(&server).output().envelope(0);
    let run = stage.only_run();
    for path in [run.transcript_path(), run.attempt(1).stream_path()] {
        let line = fs::read_to_string(&path).expect("the file exists");
        let mut file = File::options().append(true).open(&path).expect("the test owns the file");
        let many = line.repeat((1 << 20) / line.len());
        for _ in 0..100 {
            file.write_all(many.as_bytes()).expect("the disk has space");
        }
    }
    for args in ["", "--raw", "--output-format stream-json", "--follow", "--raw --follow"] {
        // Printing all of it takes several seconds of the processor's time.
        let script = format!("ulimit -v 300000; ulimit -t 1; {LONGHAUL} logs @ {args} | head -n 1");
        let output = stage.program("bash").args(["-c", &script]).output();
        assert_eq!(
            (output.code, output.stdout.lines().count(), output.stderr.as_str()),
            (0, 1, ""),
            "{args}: {output:?}"
        );
    }
}

#[test]
fn invalid_combinations_are_rejected() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    stage.run(&stage.agent(), &PROMPT).against(&server).output().envelope(0);
    for (args, fragments) in [
        (&["--attempt", "7"][..], &["has no attempt 7", "hint: the run has only attempt 1"][..]),
        (&["--attempt", "0"], &["has no attempt 0", "hint:"]),
        (&["--attempt", "first"], &["first", "--help"]),
        (&["--since", "soon"], &["soon", "a duration before now like 90m"]),
        (&["--raw", "--json-array"], &["cannot be used with"]),
        (&["--follow", "--json-array"], &["cannot be used with"]),
        (&["--follow", "--output-format", "json"], &["hint: `--output-format stream-json`"]),
        (&["--raw", "--output-format", "stream-json"], &["hint: leave out --raw"]),
    ] {
        let rejected = logs(&stage, args);
        assert_eq!((rejected.code, rejected.stdout.as_str()), (2, ""), "{args:?}: {rejected:?}");
        rejected.assert_error(fragments);
    }
}

//! `longhaul research`: ResearchGym tasks in a copy of their directory, limits and resuming, and runs that
//! ResearchGym started.
//!
//! Each scenario runs with every available agent.

use crate::background::training_scenario;
use crate::call::{Call, Output, wait_until};
use crate::harness::Stage;
use crate::recovering::{play_with_each_agent, prompt_of};
use crate::server::{Server, WORK};
use crate::tidy;
use longhaul_agent::Guards;
use longhaul_core::{Limits, Span, Usd};
use longhaul_store::RunDir;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A scenario in which the agent tries a blocked URL, commits, and takes many short steps. It also has
/// replies to the wrap-up prompt, to resuming and to the request for improvements.
const RESEARCH: &str = "
I look for the paper.
$ touch fetched; curl -s http://papers.invalid/abs/2401.00001
Then without it.
$ env | grep -E '^(CODE_DIR|RG_BUDGET_LIMIT|RG_TIME_HOURS)=' > environment; git add -A; git commit -qm 'A result'
STEPS
The accuracy is higher.
? Time limit reached. Commit
Committed, and stopping.
? The limit has been raised
Finished with more.
? There is time and money left
It is better still.
";

/// Replies of an agent that finds nothing left to do on a keep-going prompt, and confirms its claim.
const FINISHES: &str = r#"
? You stopped
I look at it once more.
! call = { name = "mcp__longhaul-run__finish", input = { summary = "Nothing is left." } }
Nothing is left.
? You reported that the work is done
I do.
! call = { name = "mcp__longhaul-run__finish", input = { summary = "Nothing is left." } }
Nothing is left.
"#;

/// Returns the research scenario with this many steps.
pub fn scenario(steps: usize) -> String {
    let step = "A step.\n$ sleep 0.3; echo step >> steps\n";
    RESEARCH.replace("STEPS\n", &step.repeat(steps)) + FINISHES
}

/// Creates a task in the layout of ResearchGym.
pub fn task(stage: &Stage) -> PathBuf {
    let dir = stage.folder().join("task");
    let write =
        |name: &str, content: &str| fs::write(dir.join(name), content).expect("the stage is writable");
    for folder in ["", "models/__pycache__", "grading", ".git"] {
        fs::create_dir_all(dir.join(folder)).expect("the stage is writable");
    }
    write("README.md", "# Continual learning\n\nRaise the accuracy of models/base.py.\n");
    write("models/base.py", "print(1)\n");
    write("models/__pycache__/base.pyc", "");
    write("grading/grade.sh", "exit 0\n");
    write("requirements.txt", "torch\n");
    write("idea_hint.txt", "Use low ranks.\n");
    write(
        "blocked_urls.yaml",
        "# The paper\nurls:\n  - papers.invalid/abs/2401.00001\n\npatterns:\n  - \"*2401.00001*\"\n",
    );
    write(".git/HEAD", "a history that may reveal the answers");
    std::os::unix::fs::symlink("models/base.py", dir.join("base.py")).expect("the stage is writable");
    let outside = stage.file("data.csv", "1,2\n");
    std::os::unix::fs::symlink(outside, dir.join("data.csv")).expect("the stage is writable");
    dir
}

fn research(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Call {
    let runs = stage.folder().join("runs");
    let call =
        stage.longhaul(["research"]).args([task(stage)]).args(["claude-code", "--agent-path"]).args([agent]);
    call.args(["--runs_dir"]).args([runs]).args(args).against(server)
}

fn resume(stage: &Stage, server: &Server, args: &[&str]) -> Output {
    stage.longhaul(["research"]).args(args).against(server).output()
}

/// Asserts that the run finished, and that its transcript contains these words.
fn assert_finished(envelope: &Value, stage: &Stage, words: &str) {
    assert_eq!(envelope["result"], "Nothing is left.", "{envelope}");
    let transcript = fs::read_to_string(stage.only_run().transcript_path()).expect("there is a transcript");
    assert!(transcript.contains(words), "{words} in {transcript}");
}

/// Returns every file that the agent received or made, without those of git.
fn workspace(run: &RunDir) -> Vec<String> {
    let input = run.workspace_path().join("input");
    let mut files: Vec<String> = tidy::all_paths(&input)
        .iter()
        .filter(|path| path.is_file() && !path.starts_with(input.join(".git")))
        .map(|path| path.strip_prefix(&input).expect("the path is below the directory").display().to_string())
        .collect();
    files.sort();
    files
}

fn summary(run: &RunDir) -> Value {
    let text = fs::read(run.logs_path().join("cost_summary.json")).expect("there is a summary");
    serde_json::from_slice(&text).expect("valid JSON")
}

fn prompt(run: &RunDir) -> String {
    prompt_of(run, 1)
}

#[test]
fn task_runs_in_a_copy() {
    play_with_each_agent(&scenario(2), "research", |stage, agent, server| {
        let args = ["--claude_hours", "0.5", "--runtime", "uv"];
        // The machine may have its own git identity.
        let call = research(stage, agent, server, &args).env("GIT_CONFIG_NOSYSTEM", "1");
        let done = call.output().envelope(0);
        assert_finished(&done, stage, "The accuracy is higher.");
        let run = stage.only_run();
        assert!(run.path().starts_with(stage.folder().join("runs")), "{run:?}");
        let received =
            ["README.md", "base.py", "data.csv", "grading/grade.sh", "models/base.py", "requirements.txt"];
        let mut expected: Vec<&str> = received.into_iter().chain(["environment", "steps"]).collect();
        expected.sort_unstable();
        assert_eq!(workspace(&run), expected, "nothing was fetched");
        let origins = run.plan().expect("a plan").origins;
        assert_eq!(origins.get("claude_hours").map(String::as_str), Some("flag"), "{origins:?}");
        let input = run.workspace_path().join("input");
        let environment = fs::read_to_string(input.join("environment")).expect("the file was written");
        let expected = [
            format!("CODE_DIR={}", input.display()),
            "RG_BUDGET_LIMIT=10".to_owned(),
            "RG_TIME_HOURS=0.5".to_owned(),
        ];
        for line in expected {
            assert!(environment.lines().any(|actual| actual == line), "{line} in {environment}");
        }
        let log = fs::read_to_string(input.join(".git/logs/HEAD")).expect("there is a repository");
        assert!(log.contains("A result"), "{log}");
        assert!(log.contains("ResearchGym Agent <agent@researchgym.local>"), "{log}");
        let is_link = |name: &str| input.join(name).is_symlink();
        assert!(is_link("base.py") && !is_link("data.csv"), "the target of a link to the outside is copied");
        let prompt = prompt(&run);
        for words in
            ["30m to work", "$10", "primary sub-task", "blocked", "`requirements.txt`", "Raise the accuracy"]
        {
            assert!(prompt.contains(words), "{words} in {prompt}");
        }
        assert_eq!(done["run"]["denied_calls"], 1, "{done}");
        let blocked = fs::read(run.logs_path().join("blocked_urls.json")).expect("the file was written");
        let blocked: Value = serde_json::from_slice(&blocked).expect("valid JSON");
        assert_eq!(blocked.as_array().map(Vec::len), Some(1), "{blocked}");
        assert_eq!((&blocked[0]["tool"], &blocked[0]["attempt"]), (&json!("Bash"), &json!(1)));
        assert_eq!(blocked[0]["pattern"], "papers.invalid/abs/2401.00001");
        assert!(blocked[0]["url"].as_str().is_some_and(|url| url.contains("curl")), "{blocked}");
        let metadata: Value =
            serde_json::from_slice(&fs::read(run.path().join("metadata.json")).expect("the file exists"))
                .expect("valid JSON");
        assert_eq!(metadata["resume_generation"], 0);
        assert_eq!(
            fs::read_dir(stage.folder().join("runs")).expect("reading succeeds").count(),
            1,
            "one directory for the day"
        );
        tidy::check(stage);
    });
}

#[test]
fn blocked_path_of_the_task_is_blocked_in_its_copy() {
    let (stage, server) = (Stage::new(), Server::start(&scenario(2)));
    let grading = stage.folder().join("task/grading");
    let grading_text = grading.display().to_string();
    let args = ["--block-path", &grading_text, "--block-path", "/etc/keys"];
    let call = research(&stage, &stage.agent(), &server, &args).env("LONGHAUL_SCRIPTED_INSTANT", "1");
    // This agent does nothing.
    call.output().envelope(20);
    let run = stage.only_run();
    let spec = run.plan().expect("a plan").spec;
    let guards = Guards::compile(&spec.guards, &spec.cwd).expect("the guards are valid");
    let copy = run.workspace_path().join("input/grading");
    let blocked: Vec<PathBuf> = guards.block_paths.absolute_paths().map(PathBuf::from).collect();
    assert_eq!(blocked, [copy, PathBuf::from("/etc/keys"), grading]);
}

#[test]
fn limited_run_resumes_with_more_and_finished_run_improves() {
    play_with_each_agent(&scenario(60), "research with a raised limit", |stage, agent, server| {
        // Sixteen seconds, half of which is the reserve.
        let args = ["--time_hours", "0.0045", "--model", "claude-sonnet-4-5"];
        let limited = research(stage, agent, server, &args).output().envelope(22);
        assert_eq!(limited["result"], "Committed, and stopping.", "{limited}");
        let run = stage.only_run();
        let dir = run.path().display().to_string();
        let rejected = resume(stage, server, &["--resume", &dir]);
        assert_eq!(rejected.code, 2, "{rejected:?}");
        rejected
            .assert_error(&["the time limit is down to its wrap-up reserve", "hint: raise --claude_hours"]);
        let rejected = resume(stage, server, &["--resume", &dir, "--claude_hours", "1", "--model", "opus"]);
        assert_eq!(rejected.code, 2, "{rejected:?}");
        rejected.assert_error(&["another model: it uses claude-sonnet-4-5", "--model opus"]);
        let other_dir = ["--resume", &dir, "--claude_hours", "1", "--runs_dir", "/tmp"];
        resume(stage, server, &other_dir)
            .assert_error(&["--runs_dir cannot be changed", "--claude_hours and --budget_limit"]);
        for change in [
            &["--allow-tools", "Bash"][..],
            &["--deny-tools", "WebSearch"],
            &["--network", "none"],
            &["--block-url", "papers.invalid"],
            &["--block-urls-file", "urls"],
            &["--block-path", "secret"],
            &["--effects-file", "effects.toml"],
            &["--prices-file", "prices.toml"],
            &["--diagnostic"],
        ] {
            let changed = [&["--resume", &dir, "--claude_hours", "1"][..], change].concat();
            let rejected = resume(stage, server, &changed);
            assert_eq!(rejected.code, 2, "{rejected:?}");
            rejected.assert_error(&[&format!("{} cannot be changed", change[0]), "`longhaul resume "]);
        }
        let planned = resume(stage, server, &["--resume", &dir, "--claude_hours", "1", "--dry_run"]);
        assert!(planned.stdout.contains("--time-limit"), "{planned:?}");

        let runs = stage.folder().join("runs").display().to_string();
        let same = ["--model", "claude-sonnet-4-5", "--runs_dir", &runs, "--background-wait", "2m"];
        let more = [&["--resume", &dir, "--budget_limit", "1", "--time-hours", "2"][..], &same].concat();
        let done = resume(stage, server, &more).envelope(0);
        assert_finished(&done, stage, "Finished with more.");
        let policy = stage.only_run().plan().expect("a plan").spec.policy;
        assert_eq!(policy.limits.time, Some(Span::from_hours(2)));
        assert_eq!(policy.background_wait, Span::from_mins(2));
        let summary = summary(&run);
        assert_eq!(summary["budget_limit_usd"], 1.0);
        assert!(summary["inherited_cost_usd"].as_f64() > Some(0.0), "{summary}");

        let better = resume(stage, server, &["--resume", run.id().as_str()]).envelope(0);
        assert_finished(&better, stage, "It is better still.");
        tidy::check(stage);
    });
}

#[test]
fn training_survives_its_supervisor_and_lost_session_is_handed_off() {
    let handed_off =
        "? This continues earlier work\nI look.\n$ cat trained >> found\nIt is trained, as I see.\n";
    let work = training_scenario("sleep 30; echo trained > trained") + handed_off;
    play_with_each_agent(&work, "research with a training in the background", |stage, agent, server| {
        let agent_path = agent.display().to_string();
        let runs = stage.folder().join("runs").display().to_string();
        let task = task(stage).display().to_string();
        // ResearchGym's own command line: `run_agent.py TASK_DIR claude-code …`.
        let usage = [
            &task,
            "claude-code",
            "--runtime",
            "uv",
            "--runs_dir",
            &runs,
            "--model",
            "claude-sonnet-4-5",
            "--claude_hours",
            "0.5",
            "--budget_limit",
            "5",
            "--agent-path",
            &agent_path,
        ];
        let started = stage.longhaul(["research"]).args(usage).against(server).start();
        let is_training = || {
            stage
                .runs()
                .first()
                .is_some_and(|run| run.status().is_ok_and(|status| !status.background.is_empty()))
        };
        wait_until("the training runs", is_training);
        started.kill();
        let run = stage.only_run();
        let input = run.workspace_path().join("input");
        assert!(!input.join("trained").exists());

        let dir = run.path().display().to_string();
        let done =
            resume(stage, server, &["--resume", &dir, "--model", "claude-sonnet-4-5", "--runs_dir", &runs]);
        let done = done.envelope(0);
        assert_eq!(done["result"], "All is done.", "{done}");
        assert_eq!(done["run"]["attempts"], 1, "the agent and its training survived: {done}");
        assert_eq!(fs::read_to_string(input.join("trained")).expect("the training finished"), "trained\n");
        let stream = fs::read_to_string(run.attempt(1).stream_path()).expect("a stream");
        let is_end =
            |line: &str| line.contains(r#""subtype":"task_notification""#) && line.contains("completed");
        assert!(stream.lines().any(is_end), "the model was notified");

        // Without its session, the work continues in a new session that receives a handoff prompt.
        let session = done["session_id"].as_str().expect("a session").to_owned();
        for path in tidy::all_paths(&stage.user_home()) {
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&session))
                && path.is_file()
            {
                fs::remove_file(path).expect("the test owns the file");
            }
        }
        let more = ["--resume", &dir, "--claude_hours", "1", "--budget_limit", "10"];
        let more = resume(stage, server, &more).envelope(0);
        assert_ne!(more["session_id"].as_str(), Some(session.as_str()), "{more}");
        assert_eq!(
            fs::read_to_string(input.join("found")).expect("the agent read the file"),
            "trained\n",
            "the agent looked once"
        );
        let prompt = prompt_of(&run, 3);
        for words in [
            "Raise the accuracy",
            "I start the training.",
            "sleep 30; echo trained",
            "completed (exit code 0)",
        ] {
            assert!(prompt.contains(words), "{words} in {prompt}");
        }
        for words in ["Raise the accuracy", "There is time and money left"] {
            assert_eq!(prompt.matches(words).count(), 1, "{words} in {prompt}");
        }
        tidy::check(stage);
    });
}

/// Creates a run directory as ResearchGym leaves it.
fn researchgym_run(stage: &Stage) -> PathBuf {
    let dir = stage.folder().join("researchgym/2026-02-11/cl_001");
    fs::create_dir_all(dir.join("logs")).expect("the stage is writable");
    fs::create_dir_all(dir.join("workspace/input")).expect("the stage is writable");
    let write =
        |name: &str, content: &str| fs::write(dir.join(name), content).expect("the stage is writable");
    write("workspace/input/README.md", "# Continual learning\n\nRaise the accuracy.\n");
    write("status.json", "{\"status\": \"failed\", \"returncode\": 1}");
    write("logs/transcript.json", include_str!("../../../agent/fixtures/researchgym/transcript.json"));
    write(
        "logs/session.json",
        "{\"session_id\": \"4c6e9a52-7a41-4a6b-9d0e-2f3b5f6a7c81\", \"status\": \"graceful_stop\"}",
    );
    write("logs/blocked_urls_input.json", "[\"papers.invalid/abs/2401.00001\", \"*2401.00001*\"]");
    let summary = json!({
        "budget_limit_usd": 5.0, "total_cost_usd": 3.5, "session_cost_usd": 1.5, "inherited_cost_usd": 2.0,
        "pending_estimated_cost_usd": 0.25, "remaining_budget_usd": 1.25, "total_turns": 40,
        "time": { "wall_clock_seconds": 4000.0, "active_seconds": 3600.0, "retry_seconds": 400.0,
                  "time_limit_seconds": 3600.0, "remaining_seconds": 0.0 },
    });
    write("logs/cost_summary.json", &summary.to_string());
    dir
}

#[test]
fn researchgym_run_is_resumed() {
    play_with_each_agent(
        &format!("{WORK}{FINISHES}"),
        "resuming a run of ResearchGym",
        |stage, agent, server| {
            let dir = researchgym_run(stage);
            let agent_path = agent.display().to_string();
            let original = dir.display().to_string();
            let args = [
                "--resume",
                &original,
                "--agent-path",
                &agent_path,
                "--claude_hours",
                "3",
                "--budget_limit",
                "5",
            ];
            let done = resume(stage, server, &args).envelope(0);
            assert_finished(&done, stage, "All done: hello.txt says hello.");
            assert!(
                dir.join("workspace/input/hello.txt").is_file(),
                "the agent works in the original workspace"
            );
            let run = stage.only_run();
            let plan = run.plan().expect("a plan");
            let (budget, time) = (Some(Usd(1_250_000)), Some(Span::from_hours(2)));
            let remaining = Limits::default().with(|limits| (limits.budget, limits.time) = (budget, time));
            assert_eq!(plan.spec.policy.limits, remaining);
            assert_eq!(plan.spec.guards.block_urls, ["papers.invalid/abs/2401.00001", "*2401.00001*"]);
            let prompt = prompt(&run);
            for words in [
                "2h to work",
                "Raise the accuracy.",
                "CUDA out of memory",
                "HTTP timeout of the tracker",
                "step 500",
            ] {
                assert!(prompt.contains(words), "{words} in {prompt}");
            }
            assert!(!prompt.contains("529 Overloaded"), "{prompt}");
            let costs = summary(&run);
            assert_eq!(
                (&costs["inherited_cost_usd"], &costs["budget_limit_usd"]),
                (&json!(3.75), &json!(5.0))
            );
            assert_eq!(costs["time"]["time_limit_seconds"], 3.0 * 3600.0);
            assert!(costs["time"]["active_seconds"].as_f64() >= Some(3600.0), "{costs}");
            let sum = costs["session_cost_usd"].as_f64().map(|session_cost| session_cost + 3.75);
            assert!(
                (costs["total_cost_usd"].as_f64().unwrap_or_default() - sum.unwrap_or_default()).abs() < 1e-6,
                "{costs}"
            );

            let again = resume(stage, server, &args);
            assert_eq!(again.code, 2, "{again:?}");
            let id = run.id();
            again.assert_error(&[
                &format!("run {id} already continues it"),
                &format!("hint: `longhaul research --resume {id}`"),
            ]);

            // The limits are totals that include the usage of the original run.
            let more = ["--resume", run.id().as_str(), "--claude_hours", "1", "--budget_limit", "9"];
            let rejected = resume(stage, server, &more);
            assert_eq!(rejected.code, 2, "{rejected:?}");
            rejected.assert_error(&["a limit is exhausted", "are totals"]);
            let more = ["--resume", run.id().as_str(), "--claude_hours", "4", "--budget_limit", "9"];
            resume(stage, server, &more).envelope(0);
            let limits = stage.only_run().plan().expect("a plan").spec.policy.limits;
            assert_eq!((limits.budget, limits.time), (Some(Usd(5_250_000)), Some(Span::from_hours(3))));
            tidy::check(stage);
        },
    );
}

/// A run of ResearchGym becomes a new run, with the user's settings. A run of Longhaul keeps its own.
#[test]
fn configuration_applies_to_new_runs_only() {
    let (stage, server) = (Stage::new(), Server::start(&format!("{WORK}{FINISHES}")));
    let (original, agent) = (researchgym_run(&stage).display().to_string(), stage.agent());
    let settings = stage.user_home().join(".config/longhaul");
    fs::create_dir_all(&settings).expect("the stage is writable");
    let config = format!("agent_path = \"{}\"\ndeny_tools = [\"WebFetch\"]\n", agent.display());
    fs::write(settings.join("config.toml"), config).expect("the stage is writable");
    let limits = ["--claude_hours", "3", "--budget_limit", "5"];
    resume(&stage, &server, &[&["--resume", &original][..], &limits].concat()).envelope(0);
    let run = stage.only_run();
    assert_eq!(run.plan().expect("a plan").spec.guards.deny_tools, ["WebFetch"]);
    let other = "[research]\nmodel = \"opus\"\nbudget_limit = 50\n";
    fs::write(settings.join("config.toml"), other).expect("the stage is writable");
    resume(&stage, &server, &["--resume", run.id().as_str()]).envelope(0);
    let spec = stage.only_run().plan().expect("a plan").spec;
    assert_eq!((spec.model, spec.policy.limits.budget), (None, Some(Usd(1_250_000))));
}

#[test]
fn researchgym_run_without_a_transcript_starts_from_its_workspace() {
    let (stage, server) = (Stage::new(), Server::start(&format!("{WORK}{FINISHES}")));
    let dir = researchgym_run(&stage);
    fs::remove_file(dir.join("logs/transcript.json")).expect("the file exists");
    let (original, agent) = (dir.display().to_string(), stage.agent().display().to_string());
    let args = ["--resume", &original, "--agent-path", &agent, "--claude_hours", "3", "--budget_limit", "5"];
    resume(&stage, &server, &args).envelope(0);
    let run = stage.only_run();
    let prompt = prompt(&run);
    assert!(prompt.contains("Raise the accuracy.") && prompt.contains("There is no record"), "{prompt}");
    let argv = fs::read_to_string(run.attempt(1).path().join("argv.json")).expect("the file exists");
    assert!(!argv.contains("4c6e9a52-7a41-4a6b-9d0e-2f3b5f6a7c81"), "{argv}");
}

#[test]
fn researchgym_run_can_be_resumed_after_a_run_that_never_started() {
    let (stage, server) = (Stage::new(), Server::start(&format!("{WORK}{FINISHES}")));
    let (original, agent) = (researchgym_run(&stage).display().to_string(), stage.agent());
    let agent = agent.display().to_string();
    let args = ["--resume", &original, "--agent-path", &agent, "--claude_hours", "3"];
    resume(&stage, &server, &[&args[..], &["--", "--bogus-flag"]].concat()).envelope(25);
    resume(&stage, &server, &args).envelope(0);
}

#[test]
fn invalid_task_is_rejected_before_the_start() {
    let stage = Stage::new();
    let (task, original) = (task(&stage), researchgym_run(&stage));
    let agent = stage.agent();
    let check = |args: &[&str], fragments: &[&str]| {
        let output = stage.longhaul(["research"]).args(args).args(["--agent-path"]).args([&agent]).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        output.assert_error(fragments);
        assert!(stage.runs().is_empty(), "{args:?}");
    };
    let path = |path: &Path| path.display().to_string();
    let (folder, task_dir) = (path(&stage.work()), path(&task));
    check(&[], &["TASK_DIR"]);
    check(
        &["/nowhere"],
        &["read the task /nowhere", "hint: name a directory that contains task_description.md"],
    );
    check(&[&folder], &["there is no task_description.md or README.md"]);
    check(&[&path(&agent)], &["it is not a directory"]);
    check(&[&task_dir, "codex"], &["codex", "claude-code"]);
    for container in [&["--runtime", "docker"][..], &["--image", "x"], &["--gpus"]] {
        let args = [&[task_dir.as_str()], container].concat();
        check(&args, &[container[0], "starts no containers", "hint:"]);
    }
    for hours in ["0", "-1", "two"] {
        check(&[&task_dir, "--claude_hours", hours], &["expected a number of hours"]);
    }
    check(&[&task_dir, "--budget_limit", "ten"], &["expected an amount in dollars"]);
    check(
        &[&task_dir, "--blocked-urls", "[\"not a url\"]"],
        &["--blocked-urls", "has spaces in it", "hint:"],
    );
    check(&[&task_dir, "--blocked-urls-file", "/nowhere"], &["/nowhere", "--blocked-urls-file"]);
    check(
        &[&task_dir, "--runs_dir", &path(&task.join("runs"))],
        &["inside the task's directory", "--runs_dir"],
    );

    let check_with_file = |file: &str, content: Option<&str>, args: &[&str], words: &[&str]| {
        let file = original.join(file);
        let before = fs::read(&file).expect("the file exists");
        match content {
            Some(content) => fs::write(&file, content).expect("writing succeeds"),
            None => fs::remove_file(&file).expect("the file exists"),
        }
        check(&[&["--resume", &path(&original)], args].concat(), words);
        fs::write(&file, before).expect("writing succeeds");
    };
    let limits = ["--claude_hours", "9"];
    check_with_file("logs/cost_summary.json", None, &limits, &["there is no logs/cost_summary.json"]);
    check_with_file(
        "logs/cost_summary.json",
        Some("{"),
        &limits,
        &["cost_summary.json", "hint: restore the original file"],
    );
    check_with_file("logs/cost_summary.json", Some("{}"), &limits, &["`active_seconds`", "is not a number"]);
    check_with_file("logs/transcript.json", Some("{}"), &limits, &["transcript.json", "not a JSON array"]);
    fs::remove_file(original.join("logs/session.json")).expect("the file exists");
    check_with_file(
        "logs/transcript.json",
        None,
        &limits,
        &["neither logs/transcript.json nor logs/session.json"],
    );
    check(
        &["--resume", &path(&original)],
        &["a limit is exhausted", "$3.75 and 1h are used", "hint: raise --claude_hours"],
    );
    check(
        &["--resume", &path(&original), "--claude_hours", "9", "--budget_limit", "3"],
        &["a limit is exhausted"],
    );
    check(&["--resume", &format!("{folder}/none")], &["its `logs`", "hint: name the directory of a run"]);
    fs::remove_file(original.join("workspace/input/README.md")).expect("the file exists");
    check(&["--resume", &path(&original), "--claude_hours", "9"], &["there is no task_description.md"]);
}

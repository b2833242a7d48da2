//! The command line of `run`: flags before and after the command, the three sources of the prompt, the dry
//! run, and the help.

use crate::harness::Stage;
use crate::output::redacted;
use expect_test::expect;
use serde_json::Value;

/// Returns the JSON of a dry run.
fn dry_run(stage: &Stage, args: &[&str], stdin: &str) -> Value {
    let output = stage.longhaul(args).stdin(stdin).output();
    assert_eq!(output.code, 0, "{args:?}: {output:?}");
    serde_json::from_str(&output.stdout).expect("a dry run prints JSON")
}

#[test]
fn flags_work_before_and_after_the_command() {
    let stage = Stage::new();
    let agent = stage.agent().display().to_string();
    let check = |args: &[&str]| dry_run(&stage, args, "");
    let after = check(&[
        "run",
        "p",
        "--model",
        "opus",
        "--agent-path",
        &agent,
        "--max-retries",
        "2",
        "--dry-run",
        "--quiet",
    ]);
    let before = check(&[
        "--quiet",
        "--model=opus",
        "--dry-run",
        "--agent-path",
        &agent,
        "--max-retries",
        "2",
        "run",
        "p",
    ]);
    assert_eq!(after, before);
    assert_eq!(after["policy"]["retries_max"], 2);
}

#[test]
fn prompt_comes_from_an_argument_stdin_or_a_file() {
    let stage = Stage::new();
    let agent = stage.agent().display().to_string();
    let task = "fix the tests\nthen the docs – all of them";
    let file = stage.file("task.md", task).display().to_string();
    let check = |args: &[&str], stdin: &str| {
        let plan = dry_run(&stage, &[args, &["--agent-path", &agent, "--dry-run"]].concat(), stdin);
        let line: Value =
            serde_json::from_str(plan["stdin"].as_str().expect("the text is UTF-8")).expect("a line of JSON");
        assert_eq!(line["message"]["content"], task, "{args:?}");
    };
    check(&["run", task], "");
    check(&["run", "-"], task);
    check(&["run", "--prompt-file", &file], "");
}

#[test]
fn dry_run_shows_everything_and_starts_nothing() {
    let stage = Stage::new();
    let witness = stage.folder().join("started");
    let agent = stage.script("agent", &format!("mkdir '{}'", witness.display()));
    let args = [
        "fix the 'tests'",
        "--dry-run",
        "--output-format",
        "text",
        "--model",
        "opus",
        "--",
        "--max-turns",
        "40",
    ];
    let output = stage.run(&agent, &args).output();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    expect![[r#"
        Command: <stage>/agent -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id '<new session id>' --model opus --disallowedTools=CronCreate,ScheduleWakeup --max-turns 40
        Directory: <stage>/work
        Environment:
          CLAUDE_CODE_STARTUP_FAILURE_RESULTS=1
          CLAUDE_CODE_SDK_READS_SESSION_STATE=1
          CLAUDE_CODE_MAX_RETRIES=4
          DISABLE_AUTOUPDATER=1
          LONGHAUL_RUN='<run id>'
          LONGHAUL_ATTEMPT=1
          LONGHAUL_RUN_MARKER='<run id>/<random>'
        Removed: CLAUDECODE, CLAUDE_CODE_BRIDGE_SESSION_ID, CLAUDE_CODE_CHILD_NOTES_DIR, CLAUDE_CODE_CHILD_SESSION, CLAUDE_CODE_ENTRYPOINT, CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS, CLAUDE_CODE_RETRY_WATCHDOG, CLAUDE_CODE_SESSION_ATTENDED, CLAUDE_CODE_SESSION_ID, CLAUDE_CODE_SESSION_KIND, CLAUDE_CODE_SSE_PORT, CLAUDE_EFFORT, CLAUDE_JOB_DIR, CLAUDE_PID
        Stdin: {"message":{"content":"fix the 'tests'","role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}
        Policy: default
          budget: none
          max_tokens: none
          time_limit: none
          wall_limit: none
          max_turns: none
          memory_limit: none
          max_retries: 5
          max_attempts: 1000
          retry_base: 2s
          retry_cap: 5m
          retry_jitter: full
          outage_limit: 6h
          attempt_timeout: none
          stall_timeout: 7m
          progress_timeout: 2h20m
          orphan_timeout: 1h
          max_reset_wait: 192h
          background_wait: 10m
          inner_retries: 4
          on_terminate: suspend
          wrap_up_reserve: a tenth of the limit, from 30s to 5m
          max_failed_checks: none
          check_timeout: none
          keep_going: false
          progress_resets_retries: true
          early_overload_cap: 15s
          early_overload_period: 3m
          reset_jitter: 10s
          attempt_timeout_action: while_progressing
          exit_timeout: 10s
          stop_grace: 10s
          allow_denials: false
          session_loss: fall_back
          handoff_summary: false
          summary_timeout: 1m
        Set by:
          agent_args: flag
          agent_path: flag
          model: flag
        Worst case without progress: at most 13850 requests; longest wait 5m, or until the reset of a usage window, at most 8d; elapsed time unlimited
    "#]].assert_eq(&redacted(&stage, &output.stdout, &[]));
    assert!(!witness.exists() && !stage.home().exists());
}

#[test]
fn help_describes_every_flag_of_run() {
    let output = Stage::new().longhaul(["run", "--help"]).output();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    // clap indents empty lines.
    let help: String = output.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    expect![[r#"
        Run a task to completion

        Usage: longhaul run [OPTIONS] [PROMPT] [-- <AGENT ARGS>...]

        Options:
          -h, --help
                  Print help (see a summary with '-h')

          -V, --version
                  Print version

        Task:
              --prompt-file <FILE>
                  Read the task from a file

          -C, --cwd <DIR>
                  Working directory [default: this one]

              --keep-partial-messages
                  Keep partial messages in the stream file after the run

              --diagnostic
                  Write a text file for each noteworthy event to the run's `diagnostic/`

                  LONGHAUL_DIAGNOSTIC=1 does the same. A project with a file `.claude/diagnostic_mode` also
                  gets them in `.claude/diagnostic/`.

              --runs-dir <DIR>
                  Keep the run's directory in `DIR/<date>/<id>` [default: `runs` in `$LONGHAUL_HOME`]

              --run-id <ID>
                  Id of the run: letters, digits, `-`, `_` and `.` [default: random letters]

              --key <KEY>
                  Start this task once, under a key that becomes the run's id

                  The same call again continues the run if it was stopped, follows it if it is running, and
                  prints its result if it has finished.

              --retry
                  With --key: resume the run unless it finished as `done` or `cancelled`

              --no-attach
                  With --key: fail if the run is running, instead of following it

              --name <NAME>
                  Name of the run; commands accept it for the newest run with this name

              --detach
                  Run in the background; the run survives this terminal

              --dry-run
                  Print the command, the policy and the worst case; start nothing

          [PROMPT]
                  The task; `-` reads it from stdin

        Agent and session:
              --agent <AGENT>
                  The agent: Claude Code, or any agent that speaks the Agent Client Protocol

                  With `acp`, the command of the agent follows `--`: `longhaul run --agent acp PROMPT --
                  opencode acp`.

                  Possible values:
                  - claude: Claude Code
                  - acp:    An agent that speaks the Agent Client Protocol; its command follows `--`

              --model <MODEL>
                  The model, as the agent names it

              --permission-mode <MODE>
                  The agent's permission mode [default: your settings of the agent]

              --agent-path <FILE>
                  The agent's program [default: `claude`, on PATH or where its installers put it]

              --session-id <UUID>
                  UUID of the new session [default: random]

              --resume <SESSION>
                  Continue this session; an unknown session is an error

              --resume-or-new <SESSION>
                  Continue this session, or start a new one if it is unknown

          [AGENT ARGS]...
                  Arguments passed to the agent unchanged; with `--agent acp`, its command

        Guards and questions:
              --allow-tools <TOOL>
                  Allow the agent only these tools, such as `Read` or `mcp__github__*`

              --deny-tools <TOOL>
                  Deny the agent these tools, whatever else permits them

              --network <HOST>
                  Restrict the agent's commands to these hosts, or `none`

                  Names like `example.com`, `*.example.com` or `example.com:443`. The agent runs commands in
                  its own sandbox, and does not start if the sandbox is unavailable.

              --answer <KEY=VALUE>
                  Let the agent ask questions, and answer VALUE if KEY matches or occurs in the text

                  If no key matches, the agent's first option is the answer, with a warning. Without this
                  flag, the agent cannot ask.

              --answers-file <FILE>
                  Answers from a JSON or TOML file, for keys that --answer does not name

              --answer-defaults
                  Let the agent ask questions, and answer each with its first option, with a warning

              --block-url <PATTERN>
                  Deny tool calls that name this URL

                  Patterns: `example.com` with everything below it, `*.example.com`, `example.com:8080`,
                  `https://example.com/papers/*`, `example.com/watch?v=abc`, `192.0.2.1`. What guards
                  inspect and miss: https://github.com/longhaul/longhaul/blob/main/docs/guards.md

              --block-urls-file <FILE>
                  Deny tool calls that name a URL in this file

                  One pattern per line, or a list named `blocked_urls`, `urls` or `patterns` as YAML or
                  JSON.

              --block-path <PATH>
                  Deny tool calls that name this file or directory, or anything below it

                  Absolute, below `~`, or relative to the working directory.

              --allow-denials
                  Count a run with denied tool calls as done

        When the work is done:
              --check <COMMAND>
                  Verify the work with this shell command when the agent reports that it is done; repeatable

                  It runs in the working directory. Its output goes back to the agent until it exits with 0.
                  Several commands run in order.

              --keep-going
                  Keep prompting the agent until it confirms that the work is done, or a limit is reached

                  The agent reports that with a tool, twice in a row.

              --keep-improving
                  Ask for improvements beyond the task [default: if the run may take 24h or more]

              --done-when <TEXT>
                  Also accept this line at the end of the last message, twice in a row, as done

              --status-every <N>
                  State used and remaining time and cost every N stops; 0 means never [default: 5]

              --max-idle-stops <N>
                  Stops in a row without a change in the workspace, after which the run fails [default: 3]

              --max-failed-checks <N>
                  Failed checks after which the run finishes as check_failed [default: 10]

              --check-timeout <DURATION>
                  Maximum duration of one check, all of its commands together [default: 30m]

              --review[=<MODEL>]
                  Have a model review the work when the agent reports that it is done; `none` for no review

                  The reviewer is a fresh session that can only read files. It receives the task, the
                  changes and the agent's last message. The agent continues with what the reviewer finds
                  missing. Without MODEL, the reviewer has the model of the run.

              --review-timeout <DURATION>
                  Maximum duration of one reviewer [default: 10m]

        Handoff and learning:
              --handoff-tokens <N>
                  Maximum size of the handoff prompt, in tokens [default: 12000]

              --handoff-summary <MODEL>
                  Summarize older work in the handoff prompt with this model

                  The model has one minute. If it fails, older work is listed in one line per step.

              --prices-file <FILE>
                  Token prices that override the bundled ones: a TOML file

                  The file has `dated` and, for each `[[model]]`, its `names` and what `input`, `output`,
                  `cache_write`, `cache_write_hour` and `cache_read` cost, in dollars per million tokens.

              --effects-file <FILE>
                  More tool calls with side effects that a resumed agent must not repeat: a TOML file

                  The file has `tools = ["mcp__pager__*"]` or, for each `[[program]]`, its `names` and how
                  its arguments start: `starts_with = ["prod"]`.

              --learn
                  Give the agent the project's playbook, and learn from its sessions

                  Works as `longhaul playbook install` does for all sessions. It asks a model twice per
                  session, at your cost.

              --learn-judge <JUDGE>
                  Judge of the sessions: `api` uses your key, `claude` uses Claude Code's login [default:
                  api]

                  Possible values:
                  - api:    The Messages API, with a key
                  - claude: Claude Code, with its own login

              --learn-tokens <N>
                  Maximum number of playbook tokens per session; the points that match the prompt best come
                  first

        Limits:
              --budget <USD>
                  Maximum cost in dollars; `none` means unlimited (as for every limit) [default: none]

              --max-tokens <N>
                  Maximum number of tokens of every kind, such as 500k or 2M [default: none]

              --time-limit <DURATION>
                  Maximum working time; waits between attempts and machine sleep do not count [default:
                  none]

              --wall-limit <DURATION>
                  Maximum elapsed time, including waits and sleep [default: none]

              --max-turns <N>
                  Maximum number of model responses, without those of sub-agents [default: none]

              --memory-limit <SIZE>
                  Maximum resident memory of the agent's processes, such as 8G [default: none]

                  If they exceed it, the agent is stopped, and resumed once.

              --wrap-up-reserve <DURATION>
                  Part of a time limit that is kept for the wrap-up [default: a tenth, from 30s to 5m]

              --wrap-up-prompt <TEXT>
                  Prompt for the wrap-up [default: write down the state of the work, commit, stop]

              --no-wrap-up
                  Keep no reserve: stop the agent when a limit is reached

        Retries and timeouts:
              --preset <PRESET>
                  Policy to start from: default, openclawpack, archon, researchgym, keypoints, drill

                  The defaults shown here are those of `default`.

              --max-retries <N>
                  Retries in a row without progress [default: 5]

              --max-attempts <N>
                  Maximum number of attempts, after which the run fails [default: 1000]

              --retry-base <DURATION>
                  First wait between attempts; the later ones double [default: 2s]

                  [alias: --retry-backoff]

              --retry-cap <DURATION>
                  Longest wait between attempts [default: 5m]

              --retry-jitter <full|none|PERCENT>
                  Random spread of waits: full, none, or a percentage [default: full]

              --outage-limit <DURATION>
                  Maximum length of one API outage, from its first failure [default: 6h]

              --attempt-timeout <DURATION>
                  Maximum duration of one attempt [default: none]

              --stall-timeout <DURATION>
                  Maximum silence of the agent while no tool runs [default: 7m]

              --progress-timeout <DURATION>
                  Maximum time without a finished message or tool call [default: 2h20m]

              --orphan-timeout <DURATION>
                  Maximum silence of the agent of an orphaned run; then a watchdog stops it [default: 1h]

              --max-reset-wait <DURATION>
                  Maximum wait for a usage window's reset; a later reset finishes the run as `retry_later`
                  [default: 192h]

              --background-wait <DURATION>
                  Time that background commands may outlive the result [default: 10m]

                  With --keep-going, the agent is asked about them after this time. Then only a limit of the
                  run stops them.

              --inner-retries <N>
                  Retries of one request inside the agent [default: 4]

              --on-terminate <suspend|cancel>
                  On SIGTERM and SIGHUP, `suspend` the run until `longhaul recover`, or `cancel` it
                  [default: suspend]

        Notifications:
              --notify <CHANNEL>
                  Notify when the run finishes, needs a person, or waits longer than 15 minutes; repeatable

                  CHANNEL is `desktop`, `ntfy:TOPIC`, `ntfy:https://HOST/TOPIC`, `slack:VARIABLE` (an
                  environment variable with the URL of a webhook), or a shell command that reads one JSON
                  object from stdin. A failed notification changes nothing. See
                  https://github.com/longhaul/longhaul/blob/main/docs/events.md

              --events <FILE|-|fd:N>
                  Write each decision as a JSON line to FILE, stdout (`-`) or a descriptor (`fd:3`)

                  A line is written once its decision is on disk. See
                  https://github.com/longhaul/longhaul/blob/main/docs/events.md

        Output:
              --output-format <FORMAT>
                  Output format [default: text; json in a pipe, for commands that drive a run]

                  Commands that drive a run: run, resume, rerun, loop, research, gsd, recover, attach,
                  cancel.

                  Possible values:
                  - json:        One JSON object
                  - text:        Text for people
                  - stream-json: JSON lines: events, then one `result`; of a workflow, its decisions, then
                    the object of `json`

              --json
                  Print JSON; short for `--output-format json`

          -q, --quiet
                  Print only errors on stderr

          -v, --verbose
                  Print each decision on stderr

              --no-pager
                  Print straight to the terminal, without a pager

                  The pager is `LONGHAUL_PAGER`, else `PAGER`, else `less`.

        Configuration:
              --profile <NAME>
                  Use this configuration profile

              --no-config
                  Read no configuration file

        Examples:
          longhaul run 'fix the failing tests' --check 'cargo test' --budget 5
          longhaul run --prompt-file task.md --time-limit 8h --detach --name nightly
          longhaul run 'refactor the parser' --dry-run

        Durations are like 90s, 5m, 1h30m or 2d; a bare number is seconds; `none` means unlimited.
    "#]]
    .assert_eq(&help);
}

#[test]
fn dry_run_prints_durations_in_input_format() {
    let stage = Stage::new();
    let args = ["p", "--dry-run", "--output-format", "text", "--stall-timeout", "90", "--max-tokens", "none"];
    let text = stage.run(&stage.agent(), &args).output().stdout;
    for line in
        ["stall_timeout: 1m30s", "outage_limit: 6h", "budget: none", "max_tokens: none", "exit_timeout: 10s"]
    {
        assert!(text.contains(&format!("  {line}\n")), "no `{line}` in {text}");
    }
    assert!(!text.contains("00000"), "{text}");
}

#[test]
fn error_of_a_zero_limit_suggests_none() {
    let stage = Stage::new();
    let check = |args: &[&str]| {
        let output = stage.run(&stage.agent(), &["p", "--dry-run"]).args(args).output();
        assert_eq!(output.code, 2, "{args:?}: {output:?}");
        output.assert_error(&["none` means unlimited"]);
    };
    check(&["--budget", "0"]);
    check(&["--time-limit", "0"]);
    check(&["--wall-limit", "0s"]);
    check(&["--max-turns", "0"]);
    check(&["--stall-timeout", "0"]);
    let configured = stage.run(&stage.agent(), &["p", "--dry-run"]).env("LONGHAUL_BUDGET", "0").output();
    assert_eq!(configured.code, 2, "{configured:?}");
    configured.assert_error(&["LONGHAUL_BUDGET", "`--budget none` means unlimited"]);
    for limit in ["--budget", "--max-tokens", "--time-limit", "--wall-limit", "--max-turns", "--memory-limit"]
    {
        let plan = dry_run(
            &stage,
            &["--agent-path", &stage.agent().display().to_string(), "run", "p", "--dry-run", limit, "none"],
            "",
        );
        assert_eq!(plan["policy"]["limits"], serde_json::json!({}), "{limit}");
    }
}

//! The command line of `run`: flags before and after the command, the three sources of the prompt, the dry
//! run, and the help.

use crate::harness::Stage;
use crate::output::redacted;
use expect_test::expect;
use serde_json::Value;

/// Returns the JSON of a dry run.
fn dry_run(stage: &Stage, args: &[&str], stdin: &str) -> Value {
    let ended = stage.longhaul(args).stdin(stdin).end();
    assert_eq!(ended.code, 0, "{args:?}: {ended:?}");
    serde_json::from_str(&ended.stdout).expect("a dry run prints JSON")
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
            serde_json::from_str(plan["stdin"].as_str().expect("it is text")).expect("it is a line of JSON");
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
    let ended = stage.run(&agent, &args).end();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    expect![[r#"
        Command: <stage>/agent -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --session-id '<new session id>' --model opus --max-turns 40
        Directory: <stage>/work
        Environment:
          CLAUDE_CODE_STARTUP_FAILURE_RESULTS=1
          CLAUDE_CODE_SDK_READS_SESSION_STATE=1
          CLAUDE_CODE_MAX_RETRIES=4
          DISABLE_AUTOUPDATER=1
          LONGHAUL_RUN='<run id>'
          LONGHAUL_ATTEMPT=1
          LONGHAUL_RUN_MARKER='<run id>/<drawn for it>'
        Without: CLAUDECODE, CLAUDE_CODE_BRIDGE_SESSION_ID, CLAUDE_CODE_CHILD_NOTES_DIR, CLAUDE_CODE_CHILD_SESSION, CLAUDE_CODE_ENTRYPOINT, CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS, CLAUDE_CODE_RETRY_WATCHDOG, CLAUDE_CODE_SESSION_ATTENDED, CLAUDE_CODE_SESSION_ID, CLAUDE_CODE_SESSION_KIND, CLAUDE_CODE_SSE_PORT, CLAUDE_EFFORT, CLAUDE_JOB_DIR, CLAUDE_PID
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
          progress_resets: true
          overload_cap: 15s
          overload_young: 3m
          reset_jitter: 10s
          attempt_timeout_rule: while_progressing
          linger: 10s
          stop_grace: 10s
          allow_denials: false
          session_loss: ladder
          condense: false
          summary_timeout: 1m
        Worst case without progress: at most 13850 requests; longest wait 5m, or until the reset of a usage window, at most 8d
    "#]].assert_eq(&redacted(&stage, &ended.stdout, &[]));
    assert!(!witness.exists() && !stage.home().exists());
}

#[test]
fn help_of_run() {
    let ended = Stage::new().longhaul(["run", "--help"]).end();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    expect![[r#"
        Carry one request to an honest end

        Usage: longhaul run [OPTIONS] [PROMPT] [-- <AGENT ARGS>...]

        Arguments:
          [PROMPT]
                  What the agent is to do; `-` reads it from stdin

          [AGENT ARGS]...
                  Passed to the agent as they are

        Options:
              --prompt-file <FILE>
                  Read the prompt from a file

              --model <MODEL>
                  The model, as the agent names it

              --permission-mode <MODE>
                  The agent's permission mode [default: the user's own settings]

              --agent-path <FILE>
                  The agent's program [default: `claude`, on PATH and where its installers put it]

              --allow-tools <TOOL>
                  Let the agent use no other tools than these, whatever else permits them: names like `Read`
                  or `mcp__github__*`

              --deny-tools <TOOL>
                  Do not let the agent use these tools, whatever else permits them

              --check <COMMAND>
                  Judge the work by this command when the agent says that it is done, in a shell and in the
                  directory it works in: what it says goes back to the agent, until it exits with 0. Several
                  are run one after the other

          -C, --cwd <DIR>
                  The directory to work in [default: this one]

              --session-id <UUID>
                  The id of the new session, a UUID [default: drawn by chance]

              --resume <SESSION>
                  Continue this session; refused if it is found nowhere

              --resume-or-new <SESSION>
                  Continue this session, or begin a new one if it is found nowhere

              --handoff-tokens <N>
                  How long the account of lost work may be that a fresh session goes on with, in tokens
                  [default: 12000]

              --handoff-summary <MODEL>
                  Have this model condense what of that account is older than the most recent work, in at
                  most a minute; where it does not, that is told in a line each

              --prices-file <FILE>
                  Prices of tokens that hold before the bundled ones, model by model: a TOML file with
                  `dated` and, for each `[[model]]`, its `names` and what `input`, `output`, `cache_write`,
                  `cache_write_hour` and `cache_read` cost, in dollars per million tokens

              --effects-file <FILE>
                  Calls with effects outside of the workspace, besides the bundled ones, which a resumed
                  agent is told not to repeat: a TOML file with `tools = ["mcp__pager__*"]` or, for each
                  `[[program]]`, its `names` and how its arguments begin: `begins = ["prod"]`

              --network <HOST>
                  Let the agent's commands reach these hosts alone, or `none`: names like `example.com`,
                  `*.example.com` or `example.com:443`. The agent runs them in its own sandbox, and does not
                  start where that cannot be had

              --answer <KEY=VALUE>
                  Let the agent ask questions, and answer VALUE to one that is KEY or has it in its text.
                  What no key fits is answered by the first option that the agent offers, with a warning
                  [default: the agent cannot ask]

              --answers-file <FILE>
                  Answers from a file, for keys that --answer does not name: JSON or TOML, one object of
                  keys and answers

              --answer-defaults
                  Let the agent ask questions, also without an --answer: each is answered by its first
                  option, with a warning

              --block-url <PATTERN>
                  Deny tool calls that name this URL, whatever else permits them: `example.com` with all
                  below it, `*.example.com`, `example.com:8080`, `https://example.com/papers/*`,
                  `example.com/watch?v=abc`, `192.0.2.1`. What is looked at, and what cannot be seen, is
                  told in docs/guards.md

              --block-urls-file <FILE>
                  Deny tool calls that name one of the URLs in this file: a pattern in each line, or a list
                  named `blocked_urls`, `urls` or `patterns` as YAML or JSON

              --block-path <PATH>
                  Deny tool calls that touch this file or folder or what is below it, as far as that can be
                  told by what they name: absolute, below `~`, or from the directory of the run on

              --keep-partial-messages
                  Keep the partial messages in the stream file after the run

              --diagnostic
                  Leave a text on each noteworthy event in the run's `diagnostic/`, as LONGHAUL_DIAGNOSTIC=1
                  does; a project that has a file `.claude/diagnostic_mode` gets them in
                  `.claude/diagnostic/`, too

              --runs-dir <DIR>
                  Keep the run's directory in `DIR/<date>/<id>` [default: `runs` in `$LONGHAUL_HOME`]

              --run-id <ID>
                  The id of the run: letters, digits, `-`, `_` and `.` [default: a few letters, drawn by
                  chance]

              --key <KEY>
                  Start this work once, under a key that becomes the run's id: the same call continues the
                  run if it was stopped, follows it if it is running, and prints its result if it has
                  finished

              --retry
                  With --key: resume the run if it finished as anything but `done` or `cancelled`

              --no-attach
                  With --key: refuse if the run is running, instead of following it

              --name <NAME>
                  What to call the run: every command takes the name for the newest run that has it

              --detach
                  Leave the run to a supervisor of its own that survives this terminal

              --dry-run
                  Print what would be done: command, policy, worst case. Starts nothing

          -h, --help
                  Print help (see a summary with '-h')

          -V, --version
                  Print version

        Limits:
              --budget <USD>
                  What the run may cost, in dollars; `none` is unlimited, as for every limit [default: none]

              --max-tokens <N>
                  Tokens that it may use, of every kind: a number, or one like 500k or 2M [default: none]

              --time-limit <DURATION>
                  How long it may work; waits for the API and the machine's sleep are not counted [default:
                  none]

              --wall-limit <DURATION>
                  How long it may take, waits and sleep included [default: none]

              --max-turns <N>
                  How often the model may answer; its sub-agents are not counted [default: none]

              --memory-limit <SIZE>
                  Memory that its processes may have resident together, like 8G or 900M: then the agent is
                  stopped, and resumed once [default: none]

              --wrap-up-reserve <DURATION>
                  How much of a limit on time is held back for the agent to save its work [default: a tenth,
                  from 30s to 5m]

              --wrap-up-prompt <TEXT>
                  What the agent is told then [default: to write down where it stands, to commit, and to
                  stop]

              --no-wrap-up
                  Hold nothing back: end the agent when a limit is reached

        Keeping going:
              --keep-going
                  Tell the agent to go on each time it stops by itself, until it says twice running that the
                  work is finished, or a limit is reached. It says so by a tool that it is offered

              --keep-improving
                  Ask it for more than the task: to improve the work until no part of it can be made better
                  [default: if the run may take 24h or more]

              --done-when <TEXT>
                  Let it also say that the work is finished by ending its last message with this line, twice
                  running

              --status-every <N>
                  After how many stops it is told the time and money used and left; 0 is never [default: 5]

              --max-idle-stops <N>
                  After how many stops in a row that change nothing in the workspace the run ends as failed
                  [default: 3]

        Learning:
              --learn
                  Tell the agent what the project's playbook holds, and learn from its sessions afterwards,
                  as `longhaul playbook install` has it for all sessions. A model is asked twice for that,
                  at your cost

              --learn-judge <JUDGE>
                  Who judges the sessions: `api` asks the Messages API with your key, `claude` asks Claude
                  Code with its login [default: api]

                  Possible values:
                  - api:    The Messages API, with a key
                  - claude: Claude Code, with its own login

              --learn-tokens <N>
                  How much of the playbook a session is told at most, in tokens; what fits the prompt best
                  is chosen

        Policy:
              --preset <PRESET>
                  The policy to start from: default, openclawpack, archon, researchgym, keypoints, drill.
                  The defaults below are those of `default`

              --max-retries <N>
                  Failed attempts in a row, without progress, that are retried [default: 5]

              --max-attempts <N>
                  Attempts of the run, whatever progress they make, after which it ends as failed [default:
                  1000]

              --retry-base <DURATION>
                  The first wait between attempts [default: 2s]

              --retry-cap <DURATION>
                  The longest wait between attempts [default: 5m]

              --retry-jitter <full|none|PERCENT>
                  How chance spreads waits: full, none, or percent either way [default: full]

              --outage-limit <DURATION>
                  How long to wait out one outage of the API, counted from its first failure without
                  progress [default: 6h]

              --attempt-timeout <DURATION>
                  How long one attempt may take [default: none]

              --stall-timeout <DURATION>
                  How long the agent may be silent with no tool running [default: 7m]

              --progress-timeout <DURATION>
                  How long the agent may run without finishing a message or a tool call [default: 2h20m]

              --orphan-timeout <DURATION>
                  How long the agent may be silent after Longhaul itself was killed and nobody has recovered
                  the run; then a watchdog ends it, and the run can still be recovered [default: 1h]

              --max-reset-wait <DURATION>
                  The longest wait for a usage window's reset; a later one ends the run with `retry_later`
                  [default: 192h]

              --background-wait <DURATION>
                  How long background commands may outlive the result before they are stopped; with
                  --keep-going, before the agent is asked about them: then only a limit of the run stops
                  them [default: 10m]

              --inner-retries <N>
                  Retries inside the agent for one request [default: 4]

              --max-failed-checks <N>
                  Checks in vain after which the run ends as check_failed [default: 10]

              --check-timeout <DURATION>
                  How long one check may take, all of its commands together [default: 30m]

              --on-terminate <suspend|cancel>
                  What SIGTERM and SIGHUP do: `suspend` stops the run until `longhaul recover` continues it,
                  `cancel` ends it [default: suspend]

              --allow-denials
                  Count a run with denied tools as done

        Telling others:
              --notify <CHANNEL>
                  Send a notification when the run is finished, needs a person, or starts to wait for more
                  than 15 minutes: `desktop`, `ntfy:TOPIC`, `ntfy:https://HOST/TOPIC`, `slack:VARIABLE` (an
                  environment variable with the URL of a webhook), or a COMMAND for the shell, which reads
                  one JSON object from its stdin. May be repeated. A notification that fails changes
                  nothing. See docs/events.md

              --events <FILE|-|fd:N>
                  Tell each decision of the run as a line of JSON, once it is on disk: at the end of this
                  file; with `-` on stdout, where nothing else is printed then; or with `fd:3` on that open
                  descriptor. See docs/events.md

        Output:
              --output-format <FORMAT>
                  How to print the result [default: text; json to a pipe, from commands that drive a run:
                  run, resume, rerun, research, recover, attach, cancel]

                  Possible values:
                  - json:        One JSON object
                  - text:        For people
                  - stream-json: The agent's events and ours, line by line, then the JSON object

              --json
                  Print JSON: short for `--output-format json`

          -q, --quiet
                  Print nothing on stderr but errors

          -v, --verbose
                  Print each decision on stderr

              --no-pager
                  Print straight to the terminal, without a pager (`LONGHAUL_PAGER`, `PAGER`, else `less`)

        Configuration:
              --profile <NAME>
                  Lay this profile of the configuration files over their other keys

              --no-config
                  Read no configuration file

        Durations are like 90s, 5m or 1h30m; a bare number is seconds; `none` is unlimited.
    "#]]
    .assert_eq(&ended.stdout);
}

#[test]
fn dry_run_prints_durations_in_input_format() {
    let stage = Stage::new();
    let args = ["p", "--dry-run", "--output-format", "text", "--stall-timeout", "90", "--max-tokens", "none"];
    let text = stage.run(&stage.agent(), &args).end().stdout;
    for line in
        ["stall_timeout: 1m30s", "outage_limit: 6h", "budget: none", "max_tokens: none", "linger: 10s"]
    {
        assert!(text.contains(&format!("  {line}\n")), "no `{line}` in {text}");
    }
    assert!(!text.contains("00000"), "{text}");
}

#[test]
fn limit_of_0_is_an_error_that_names_none() {
    let stage = Stage::new();
    let check = |args: &[&str]| {
        let ended = stage.run(&stage.agent(), &["p", "--dry-run"]).args(args).end();
        assert_eq!(ended.code, 2, "{args:?}: {ended:?}");
        ended.says(&["none` means unlimited"]);
    };
    check(&["--budget", "0"]);
    check(&["--time-limit", "0"]);
    check(&["--wall-limit", "0s"]);
    check(&["--max-turns", "0"]);
    check(&["--stall-timeout", "0"]);
    let configured = stage.run(&stage.agent(), &["p", "--dry-run"]).env("LONGHAUL_BUDGET", "0").end();
    assert_eq!(configured.code, 2, "{configured:?}");
    configured.says(&["LONGHAUL_BUDGET", "`--budget none` means unlimited"]);
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

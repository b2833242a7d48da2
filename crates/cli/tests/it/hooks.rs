//! The hooks: the context they inject, the sessions they queue, their installation in the agent's settings,
//! and their use by the real agent.

use crate::call::{Call, Output};
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::schemas::validate;
use crate::server::{Server, WORK};
use expect_test::expect;
use longhaul_playbook::LearningPaths;
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::hooks::{HookError, logged_errors};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

impl Stage {
    /// A call of a hook, with the agent's input.
    fn hook(&self, args: &[&str], input: impl Into<Vec<u8>>) -> Call {
        let work = self.work();
        self.longhaul(["hook"].iter().chain(args))
            .env("CLAUDE_PROJECT_DIR", work)
            .env("ANTHROPIC_BASE_URL", "http://me:secret@127.0.0.1:9/api/")
            .stdin(input)
    }

    fn write_playbook(&self) {
        let point = json!({"name": "pat-001", "text": "Run `make check` first.", "helpful": 3, "harmful": 0});
        let playbook =
            json!({"version": "1.0", "last_updated": null, "sections": {"PATTERNS & APPROACHES": [point]}});
        fs::create_dir_all(self.work().join(".claude")).expect("the stage is writable");
        fs::write(self.work().join(".claude/playbook.json"), playbook.to_string())
            .expect("the stage is writable");
    }

    fn settings(&self) -> PathBuf {
        self.user_home().join(".claude/settings.json")
    }

    fn write_settings(&self, text: &str) {
        fs::create_dir_all(self.user_home().join(".claude")).expect("the stage is writable");
        fs::write(self.settings(), text).expect("the stage is writable");
    }

    fn learning_paths(&self) -> LearningPaths {
        LearningPaths::in_home(&self.home())
    }

    fn hook_errors(&self) -> Vec<HookError> {
        logged_errors(&self.learning_paths())
    }

    /// Returns the queue, without timestamps.
    fn queued(&self) -> Vec<Value> {
        let path = self.learning_paths().database();
        if !path.exists() {
            return Vec::new();
        }
        let db = Connection::open(path).expect("a database");
        let sql = "SELECT json_object('project', project, 'session', session, 'transcript', transcript, 'event', event,
                          'reason', reason, 'judge', judge, 'destination', destination) FROM queue ORDER BY id";
        let mut select = db.prepare(sql).expect("there is a queue");
        let rows = select.query_map([], |row| row.get::<_, String>(0)).expect("the query succeeds");
        rows.map(|row| serde_json::from_str(&row.expect("reading succeeds")).expect("valid JSON")).collect()
    }
}

/// Returns the context that the hook injects, or `None` if it prints nothing.
fn injected_context(output: &Output) -> Option<String> {
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    if output.stdout.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_str(&output.stdout).expect("valid JSON");
    answer["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
}

fn prompt(session: &str) -> String {
    json!({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": "Continue."}).to_string()
}

#[test]
fn session_receives_the_playbook_once() {
    let stage = Stage::new();
    let prompted =
        |session: &str| injected_context(&stage.hook(&["UserPromptSubmit"], prompt(session)).output());
    assert_eq!(prompted("early"), None, "there is no playbook yet");
    stage.write_playbook();
    let first = prompted("early").expect("the playbook exists now");
    assert!(first.contains("[pat-001] helpful=3 harmful=0 :: Run `make check` first."), "{first}");
    assert_eq!(prompted("early"), None);

    // Concurrent sessions each receive it.
    let started: Vec<_> = (0..8)
        .map(|number| stage.hook(&["UserPromptSubmit"], prompt(&format!("{number}"))).start())
        .collect();
    for hook in started {
        assert_eq!(injected_context(&hook.output()).as_ref(), Some(&first));
    }
    for number in 0..8 {
        assert_eq!(prompted(&format!("{number}")), None);
    }
    // Of several processes of one session, only one injects it.
    let started: Vec<_> = (0..8).map(|_| stage.hook(&["UserPromptSubmit"], prompt("one")).start()).collect();
    assert_eq!(started.into_iter().filter_map(|hook| injected_context(&hook.output())).count(), 1);

    // After a compaction the playbook is injected again: with the next prompt, or at once if there is no
    // prompt.
    let compacted = json!({"session_id": "early", "trigger": "auto"}).to_string();
    let compacting =
        || assert_eq!(injected_context(&stage.hook(&["PreCompact"], compacted.clone()).output()), None);
    compacting();
    assert_eq!(prompted("early").as_ref(), Some(&first));
    compacting();
    let compact_start = json!({"session_id": "early", "source": "compact"}).to_string();
    assert_eq!(
        injected_context(&stage.hook(&["SessionStart"], compact_start).output()).as_ref(),
        Some(&first)
    );
    assert_eq!(prompted("early"), None);
    // An ended session still contains the playbook when it is resumed. A cleared session does not.
    for (reason, expected) in [("other", None), ("clear", Some(&first))] {
        stage.hook(&["SessionEnd"], json!({"session_id": "early", "reason": reason}).to_string()).output();
        assert_eq!(prompted("early").as_ref(), expected, "{reason}");
    }
    // The input names no transcript, so nothing is queued.
    assert!(stage.hook_errors().iter().all(|error| error.description == "the agent names no transcript"));
}

#[test]
fn session_receives_the_best_points_of_a_large_playbook() {
    let stage = Stage::new();
    let point = |number: usize| {
        let text = format!("{number} {}", "🦀 ".repeat(98));
        json!({"name": format!("mis-{number:03}"), "text": text, "helpful": 0, "harmful": 0})
    };
    let points: Vec<Value> = (0..200).map(point).collect();
    let playbook = json!({"version": "1.0", "last_updated": null, "sections": {"MISTAKES TO AVOID": points}});
    fs::create_dir_all(stage.work().join(".claude")).expect("the stage is writable");
    fs::write(stage.work().join(".claude/playbook.json"), playbook.to_string())
        .expect("the stage is writable");
    for (session, args) in
        [("a", &["UserPromptSubmit"][..]), ("b", &["UserPromptSubmit", "--max-tokens", "1000000"][..])]
    {
        let context = injected_context(&stage.hook(args, prompt(session)).output()).expect("some points fit");
        let length = context.encode_utf16().count();
        assert!((9_000..=10_000).contains(&length), "{length}");
    }
    let printed = |command: &str| -> Value {
        let output = stage.longhaul(["playbook", command, "--project"]).args([stage.work()]).output();
        serde_json::from_str(&output.stdout).expect("valid JSON")
    };
    assert_eq!(printed("inject")["points"], 200);
    let warning = printed("check")["warnings"][0].to_string();
    assert!(warning.contains(" of the 200 points"), "{warning}");
}

#[test]
fn unreadable_playbook_is_logged() {
    let stage = Stage::new();
    stage.write_playbook();
    let playbook = stage.work().join(".claude/playbook.json");
    fs::write(&playbook, "{").expect("the stage is writable");
    assert_eq!(injected_context(&stage.hook(&["UserPromptSubmit"], prompt("a")).output()), None);
    let descriptions: Vec<String> = stage.hook_errors().into_iter().map(|error| error.description).collect();
    assert!(descriptions.len() == 1 && descriptions[0].contains("playbook.json"), "{descriptions:?}");
    assert_eq!(fs::read_to_string(playbook).expect("the file exists"), "{");

    // If the home cannot be written, each prompt injects the playbook again.
    let stage = Stage::new();
    stage.write_playbook();
    fs::write(stage.home(), "in the way").expect("the stage is writable");
    for _ in 0..2 {
        let output = stage.hook(&["UserPromptSubmit"], prompt("a")).output();
        assert!(injected_context(&output).is_some_and(|text| text.contains("pat-001")));
    }
}

#[test]
fn hook_exits_with_0_on_any_error() {
    let stage = Stage::new();
    let check = |args: &[&str], input: &[u8], expected: &str| {
        let before = stage.hook_errors().len();
        let output = stage.hook(args, input).output();
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""), "{args:?}");
        let errors = stage.hook_errors();
        assert_eq!(errors.len(), before + 1, "{args:?}: {errors:?}");
        let last = errors.last().expect("an error is logged");
        assert!(last.description.contains(expected), "{args:?}: {last:?}");
    };
    for event in ["UserPromptSubmit", "SessionStart", "SessionEnd", "PreCompact", "SubagentStop"] {
        check(&[event], b"", "EOF while parsing");
        check(&[event], b"no JSON", "expected ident");
        check(&[event], b"\xff\xfe", "expected value");
        check(&[event], br#"{"session_id": 7}"#, "expected a string");
    }
    for event in ["SessionEnd", "PreCompact", "SubagentStop"] {
        check(&[event], b"{}", "the agent names no transcript");
    }
    check(&[], b"{}", "required arguments");
    check(&["Nonsense"], b"{}", "invalid value 'Nonsense'");
    check(&["SessionEnd", "--judge", "jury"], b"{}", "invalid value 'jury'");
    check(&["SessionEnd", "--unknown"], b"{}", "unexpected argument");
    assert!(stage.hook_errors().iter().all(|error| !error.at.is_empty()));
    assert_eq!(stage.queued(), Vec::<Value>::new());

    // Without a home the hook cannot log.
    let output = stage.hook(&["SessionEnd"], "{}").without_env("LONGHAUL_HOME").without_env("HOME").output();
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""));
}

#[test]
fn session_of_a_judge_is_ignored() {
    let stage = Stage::new();
    stage.write_playbook();
    for event in ["UserPromptSubmit", "SessionEnd"] {
        let output = stage.hook(&[event], "no JSON").env("LONGHAUL_JUDGE", "1").output();
        assert_eq!(injected_context(&output), None);
    }
    assert!(!stage.home().exists(), "nothing is recorded");
}

#[test]
fn session_ends_are_queued() {
    let stage = Stage::new();
    let transcript = stage.file("session.jsonl", "{}\n");
    let agent_transcript = stage.file("agent-a.jsonl", "{}\n");
    let missing = stage.folder().join("none.jsonl");
    let mut expected = 0;
    let mut check = |settings: &str, args: &[&str], input: Value, queued: bool| {
        stage.write_settings(settings);
        let output = stage.hook(args, input.to_string()).output();
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""));
        expected += usize::from(queued);
        assert_eq!(stage.queued().len(), expected, "{settings} {args:?} {input}");
    };
    let session_end = |reason: &str| json!({"session_id": "s", "transcript_path": transcript, "cwd": "/", "reason": reason});
    let keys = |value: bool| {
        json!({"playbook_update_on_exit": value, "playbook_update_on_clear": value,
               "playbook_update_on_subagent_stop": value})
        .to_string()
    };
    let subagent_stop = json!({"session_id": "s", "transcript_path": transcript, "agent_type": "Explore",
                         "agent_transcript_path": agent_transcript});
    let compact = json!({"session_id": "s", "transcript_path": transcript, "trigger": "manual"});
    for (settings, exit, clear, subagent) in [
        ("{}".to_owned(), false, false, true),
        (keys(true), true, true, true),
        (keys(false), false, false, false),
    ] {
        check(&settings, &["SessionEnd"], session_end("prompt_input_exit"), exit);
        check(&settings, &["SessionEnd"], session_end("clear"), clear);
        check(&settings, &["SessionEnd"], session_end("other"), true);
        check(&settings, &["SessionEnd"], session_end("logout"), true);
        check(&settings, &["SubagentStop"], subagent_stop.clone(), subagent);
        check(&settings, &["PreCompact", "--judge", "claude"], compact.clone(), true);
    }
    // An empty session has no file, and neither does the agent's own compaction request.
    check("{}", &["SessionEnd"], json!({"transcript_path": missing, "reason": "other"}), false);
    let compaction_agent =
        json!({"transcript_path": transcript, "agent_type": "", "agent_transcript_path": missing});
    check("{}", &["SubagentStop"], compaction_agent, false);
    assert_eq!(stage.hook_errors(), []);

    let folder = stage.folder().display().to_string();
    let first: Vec<String> =
        stage.queued()[..4].iter().map(|queued| queued.to_string().replace(&folder, "<stage>")).collect();
    expect![[r#"
        {"destination":"http://127.0.0.1:9/api","event":"SessionEnd","judge":"api","project":"<stage>/work","reason":"other","session":"s","transcript":"<stage>/session.jsonl"}
        {"destination":"http://127.0.0.1:9/api","event":"SessionEnd","judge":"api","project":"<stage>/work","reason":"logout","session":"s","transcript":"<stage>/session.jsonl"}
        {"destination":"http://127.0.0.1:9/api","event":"SubagentStop","judge":"api","project":"<stage>/work","reason":null,"session":"s","transcript":"<stage>/agent-a.jsonl"}
        {"destination":"http://127.0.0.1:9/api","event":"PreCompact","judge":"claude","project":"<stage>/work","reason":"manual","session":"s","transcript":"<stage>/session.jsonl"}
    "#]].assert_eq(&(first.join("\n") + "\n"));
}

#[test]
fn queue_error_is_logged() {
    let stage = Stage::new();
    let transcript = stage.file("session.jsonl", "{}\n");
    fs::create_dir_all(stage.learning_paths().database()).expect("the stage is writable");
    fs::set_permissions(stage.home(), fs::Permissions::from_mode(0o700)).expect("the test owns the file");
    fs::set_permissions(stage.learning_paths().dir(), fs::Permissions::from_mode(0o700))
        .expect("the test owns the file");
    let input = json!({"session_id": "s", "transcript_path": transcript, "reason": "other"}).to_string();
    assert_eq!(injected_context(&stage.hook(&["SessionEnd"], input).output()), None);
    let errors = stage.hook_errors();
    assert!(
        errors.len() == 1
            && errors[0].event == "SessionEnd"
            && errors[0].description.contains("learning.sqlite3"),
        "{errors:?}"
    );
    fs::remove_dir(stage.learning_paths().database()).expect("the directory is empty");
}

#[test]
fn install_is_idempotent_and_uninstall_restores() {
    let stage = Stage::new();
    let original = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": []\n    }\n}\n";
    stage.write_settings(original);
    let read = || fs::read_to_string(stage.settings()).expect("the file exists");
    let call = |args: &[&str]| {
        let output =
            stage.longhaul(["playbook"].iter().chain(args)).args(["--output-format", "json"]).output();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        serde_json::from_str::<Value>(&output.stdout).expect("valid JSON")
    };
    let planned = call(&["install", "--dry-run"]);
    assert_eq!(
        (&planned["changed"], &planned["backup"], read()),
        (&json!(true), &Value::Null, original.to_owned())
    );
    let first = call(&["install"]);
    assert_eq!(planned["content"], read());
    let backup = first["backup"].as_str().expect("the original file has a backup");
    assert_eq!(fs::read_to_string(backup).expect("the file exists"), original);
    let installed: Value = serde_json::from_str(&read()).expect("valid JSON");
    for event in ["UserPromptSubmit", "SessionStart", "SessionEnd", "PreCompact", "SubagentStop"] {
        assert_eq!(installed["hooks"][event][0]["hooks"][0]["command"], format!("{LONGHAUL} hook {event}"));
    }
    let second = call(&["install"]);
    assert_eq!((&second["changed"], &second["backup"]), (&json!(false), &Value::Null));
    call(&["install", "--judge", "claude", "--max-tokens", "900"]);
    let with_flags = read();
    assert_eq!(with_flags.matches(" --judge claude --max-tokens 900\"").count(), 5, "{with_flags}");
    assert_eq!(with_flags.matches(" hook ").count(), 5, "{with_flags}");
    assert_eq!(call(&["uninstall", "--dry-run"])["content"], original);
    assert_eq!(call(&["uninstall"])["changed"], true);
    assert_eq!(read(), original);
    assert_eq!(call(&["uninstall"])["changed"], false);
}

#[test]
fn settings_have_three_locations() {
    let stage = Stage::new();
    fs::create_dir(stage.folder().join("elsewhere")).expect("the path is new");
    let check = |flags: &[&str], expected: &str| {
        let elsewhere = stage.folder().join("elsewhere");
        let args = ["playbook", "install", "--quiet", "--output-format", "text"];
        let output = stage.longhaul(args).args(flags).env("CLAUDE_CONFIG_DIR", elsewhere).output();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        let path = stage.folder().join(expected);
        assert_eq!(output.stdout, format!("installed: {}\n", path.display()));
        assert!(fs::read_to_string(path).expect("the file exists").contains("hook SessionEnd"));
    };
    check(&[], "elsewhere/settings.json");
    check(&["--project"], ".claude/settings.json");
    check(&["--local"], ".claude/settings.local.json");
    let output = stage.longhaul(["playbook", "install", "--project"]).output();
    assert!(output.code == 0 && output.stderr.contains("--local"), "{output:?}");
    let output = stage.longhaul(["playbook", "install", "--project", "--user"]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["--project", "--user"]);
}

#[test]
fn invalid_settings_are_not_changed() {
    let check = |text: &str, expected: &[&str]| {
        let stage = Stage::new();
        stage.write_settings(text);
        for command in ["install", "uninstall"] {
            let output = stage.longhaul(["playbook", command]).output();
            assert_eq!(output.code, 2, "{output:?}");
            output.assert_error(expected);
            assert_eq!(fs::read_to_string(stage.settings()).expect("the file exists"), text);
            let files = fs::read_dir(stage.user_home().join(".claude")).expect("the file exists").count();
            assert_eq!(files, 1, "no other file remains");
        }
    };
    check(
        "{\n  // mine\n  \"model\": \"opus\"\n}",
        &["settings.json", "line 2", "remove its comments", "nothing was changed"],
    );
    check("{\"model\": ", &["settings.json", "line 1", "fix it"]);
    check("[1]", &["settings.json", "not an object"]);
}

#[test]
fn ace_hooks_are_reported() {
    let stage = Stage::new();
    let ace = "uv run --project \"/repo\" python \"/home/me/.claude/hooks/user_prompt_inject.py\"";
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": ace}]}]}})
        .to_string();
    stage.write_settings(&settings);
    for args in [&["playbook", "install", "--local"][..], &["playbook", "install"]] {
        let output = stage.longhaul(args).output();
        assert!(output.code == 0 && output.stderr.contains("--replace-ace"), "{output:?}");
    }
    let output = stage.longhaul(["playbook", "install", "--replace-ace"]).output();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    assert!(!fs::read_to_string(stage.settings()).expect("the file exists").contains("inject.py"));
    // A project installation still removes the user's ACE hooks, and adds nothing to the user's settings.
    stage.write_settings(&settings);
    let output = stage.longhaul(["playbook", "install", "--local", "--replace-ace"]).output();
    assert!(output.code == 0 && output.stderr.contains("backup: "), "{output:?}");
    let remaining = fs::read_to_string(stage.settings()).expect("the file exists");
    assert!(!remaining.contains("inject.py") && !remaining.contains("longhaul"), "{remaining}");
}

#[test]
fn inject_prints_the_playbook() {
    let stage = Stage::new();
    let inject = |args: &[&str]| {
        let script = ["-c", "cd work && exec \"$0\" playbook inject --output-format \"$@\"", LONGHAUL];
        stage.program("sh").args(script).args(args).output()
    };
    let json = |args: &[&str]| {
        let output = inject(args);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        let injected: Value = serde_json::from_str(&output.stdout).expect("valid JSON");
        validate("playbook-inject", &injected);
        injected
    };
    let nothing = json!({"text": null, "points": 0, "omitted": 0});
    assert_eq!(json(&["json"]), nothing);
    assert_eq!(inject(&["text"]).stdout, "");
    stage.write_playbook();
    let text = inject(&["text", "--prompt", "make"]).stdout;
    assert!(text.contains("[pat-001] helpful=3 harmful=0 :: Run `make check` first."), "{text}");
    assert_eq!(json(&["json"]), json!({"text": text, "points": 1, "omitted": 0}));
    assert_eq!(json(&["json", "--max-tokens", "1"]), nothing, "the limit is too small for a point");
    fs::write(stage.work().join(".claude/playbook.json"), "[]").expect("the stage is writable");
    inject(&["text"]).assert_error(&["playbook.json", "hint:"]);
}

/// A scenario with a sub-agent and a conversation that becomes too long.
const LONG: &str = r#"
A sub-agent looks.
! call = { name = "Agent", input = { description = "look", prompt = "Look around.", subagent_type = "general-purpose" } }
I write the file.
$ echo hello > hello.txt
All done.
? Look around.
There is nothing.
[[fault]]
turn = 3
status = { code = 400, message = "prompt is too long: 1200000 tokens > 1000000 maximum" }
"#;

/// The real agent with a simulated API and with hooks installed by `longhaul playbook install`.
struct AgentWithHooks {
    stage: Stage,
    server: Server,
    claude: PathBuf,
    /// Held lock of a worker, so that the hooks start none.
    _worker: File,
}

impl AgentWithHooks {
    fn new(claude: PathBuf, scenario: &str) -> AgentWithHooks {
        let (stage, server) = (Stage::new(), Server::start(scenario));
        let installed = stage.longhaul(["playbook", "install"]).output();
        assert_eq!(installed.code, 0, "{installed:?}");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(stage.learning_paths().dir())
            .expect("the path is new");
        let lock = stage.learning_paths().worker_lock(&server.api.url(), JudgeKind::Api);
        let worker =
            File::options().append(true).create(true).mode(0o600).open(lock).expect("the path is new");
        worker.lock().expect("the lock is free");
        AgentWithHooks { stage, server, claude, _worker: worker }
    }

    fn session(&self, args: &[&str]) {
        let claude = self.claude.to_str().expect("the path is UTF-8");
        let script = ["-c", "cd work && exec \"$0\" -p --permission-mode bypassPermissions \"$@\"", claude];
        let call = self.stage.program("sh").args(script).args(args).against(&self.server);
        let output = call.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").output();
        assert_eq!(output.code, 0, "{output:?}");
    }

    /// Returns the system notes in each request for a message.
    fn notes(&self) -> Vec<String> {
        let request_log = self.server.api.request_log();
        let requests = request_log.requests.into_iter().filter(|request| request.turn.is_some());
        requests.map(|request| request.notes).collect()
    }

    /// Returns the queued events, in order.
    fn events(&self) -> Vec<String> {
        let event = |queued: &Value| queued["event"].as_str().unwrap_or_default().to_owned();
        self.stage.queued().iter().map(event).collect()
    }
}

/// Counts how often a text contains the playbook.
fn playbook_count(text: &str) -> usize {
    text.matches("[pat-001] helpful=3 harmful=0 :: Run `make check` first.").count()
}

#[test]
fn real_agent_calls_the_hooks() {
    let Some(claude) = claude_code("hooks") else { return };
    let fixture = AgentWithHooks::new(claude, WORK);
    let stage = &fixture.stage;
    fixture.session(&["Write the file."]);
    assert!(fixture.notes().iter().all(|text| !text.contains("pat-001")), "there is no playbook yet");
    let queued = stage.queued().remove(0);
    let work = fs::canonicalize(stage.work()).expect("the file exists");
    assert_eq!((&queued["event"], &queued["reason"]), (&json!("SessionEnd"), &json!("other")));
    assert_eq!(
        (&queued["project"], &queued["destination"]),
        (&json!(work), &json!(fixture.server.api.url()))
    );
    // When the hook is called, the transcript is complete.
    let transcript =
        fs::read_to_string(queued["transcript"].as_str().expect("a path")).expect("the file exists");
    assert!(transcript.contains("All done: hello.txt says hello."), "{transcript}");

    // The next session has the playbook in its first request.
    stage.write_playbook();
    let before = fixture.notes().len();
    fixture.session(&["Write it again."]);
    let notes = fixture.notes();
    assert_eq!(playbook_count(&notes[before]), 1, "{}", notes[before]);
    assert!(notes[before].contains("UserPromptSubmit hook additional context: "), "{}", notes[before]);

    // A resumed session still has one copy. After a compaction the playbook is injected again.
    let id = stage.queued()[1]["session"].as_str().expect("the event has a session").to_owned();
    let before = fixture.notes().len();
    fixture.session(&["--resume", &id, "Once more."]);
    assert_eq!(playbook_count(&fixture.notes()[before]), 1);
    fixture.session(&["--resume", &id, "/compact"]);
    let before = fixture.notes().len();
    fixture.session(&["--resume", &id, "And once more."]);
    let notes = fixture.notes();
    assert_eq!(playbook_count(&notes[before]), 1, "{}", notes[before]);
    assert!(notes[before].contains("SessionStart hook additional context: "), "{}", notes[before]);
    let ends = ["SessionEnd", "SessionEnd", "SessionEnd", "PreCompact", "SessionEnd", "SessionEnd"];
    assert_eq!(fixture.events(), ends);
    assert_eq!(stage.hook_errors(), []);
}

#[test]
fn playbook_is_injected_again_after_automatic_compaction() {
    let Some(claude) = claude_code("hooks after a compaction") else { return };
    let fixture = AgentWithHooks::new(claude, LONG);
    fixture.stage.write_playbook();
    fixture.session(&["Write the file."]);
    let notes = fixture.notes();
    assert_eq!(playbook_count(notes.first().expect("there was a request")), 1, "{notes:?}");
    let last = notes.last().expect("there was a request");
    assert_eq!(playbook_count(last), 1, "{last}");
    assert!(
        last.contains("SessionStart hook additional context: "),
        "the compaction injected the playbook: {last}"
    );
    let mut events = fixture.events();
    events.sort();
    assert_eq!(events, ["PreCompact", "SessionEnd", "SubagentStop"]);
    let queued = fixture.stage.queued();
    let queued_event =
        |event: &str| queued.iter().find(|queued| queued["event"] == event).expect("the event is queued");
    assert_eq!(queued_event("PreCompact")["reason"], "auto");
    // The sub-agent has its own transcript.
    let subagent_transcript = queued_event("SubagentStop")["transcript"].as_str().expect("a path");
    assert!(subagent_transcript.contains("/subagents/agent-"), "{subagent_transcript}");
    assert!(
        fs::read_to_string(subagent_transcript).expect("the file exists").contains("There is nothing."),
        "{subagent_transcript}"
    );
    assert_eq!(fixture.stage.hook_errors(), []);
}

//! The hooks: what they tell and queue, how they are put into the agent's settings, and the real agent calling them.

use crate::call::{Call, Ended};
use crate::harness::{LONGHAUL, Stage, claude_code};
use crate::schemas::validate;
use crate::server::{Server, WORK};
use expect_test::expect;
use longhaul_playbook::LearningPaths;
use longhaul_playbook::database::JudgeKind;
use longhaul_playbook::hooks::{HookError, troubles};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

impl Stage {
    /// A call of a hook, with what the agent says to it.
    fn hook(&self, args: &[&str], input: impl Into<Vec<u8>>) -> Call {
        let work = self.work();
        self.longhaul(["hook"].iter().chain(args))
            .env("CLAUDE_PROJECT_DIR", work)
            .env("ANTHROPIC_BASE_URL", "http://me:secret@127.0.0.1:9/api/")
            .stdin(input)
    }

    fn put_playbook(&self) {
        let point = json!({"name": "pat-001", "text": "Run `make check` first.", "helpful": 3, "harmful": 0});
        let playbook =
            json!({"version": "1.0", "last_updated": null, "sections": {"PATTERNS & APPROACHES": [point]}});
        fs::create_dir_all(self.work().join(".claude")).expect("the stage can be written");
        fs::write(self.work().join(".claude/playbook.json"), playbook.to_string())
            .expect("the stage can be written");
    }

    fn settings(&self) -> PathBuf {
        self.user_home().join(".claude/settings.json")
    }

    fn put_settings(&self, text: &str) {
        fs::create_dir_all(self.user_home().join(".claude")).expect("the stage can be written");
        fs::write(self.settings(), text).expect("the stage can be written");
    }

    fn place(&self) -> LearningPaths {
        LearningPaths::in_home(&self.home())
    }

    fn troubles(&self) -> Vec<HookError> {
        troubles(&self.place())
    }

    /// What is queued, without when.
    fn queued(&self) -> Vec<Value> {
        let path = self.place().database();
        if !path.exists() {
            return Vec::new();
        }
        let db = Connection::open(path).expect("it is a database");
        let sql = "SELECT json_object('project', project, 'session', session, 'transcript', transcript, 'event', event,
                          'reason', reason, 'judge', judge, 'destination', destination) FROM queue ORDER BY id";
        let mut select = db.prepare(sql).expect("there is a queue");
        let rows = select.query_map([], |row| row.get::<_, String>(0)).expect("it is asked");
        rows.map(|row| serde_json::from_str(&row.expect("it is read")).expect("it is JSON")).collect()
    }
}

/// What the model is told by the hook; nothing if nothing is printed.
fn told(ended: &Ended) -> Option<String> {
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    if ended.stdout.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
    answer["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
}

fn prompt(session: &str) -> String {
    json!({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": "Go on."}).to_string()
}

#[test]
fn a_session_is_told_the_playbook_once() {
    let stage = Stage::new();
    let prompted = |session: &str| told(&stage.hook(&["UserPromptSubmit"], prompt(session)).end());
    assert_eq!(prompted("early"), None, "there is no playbook yet");
    stage.put_playbook();
    let first = prompted("early").expect("there is one now");
    assert!(first.contains("[pat-001] helpful=3 harmful=0 :: Run `make check` first."), "{first}");
    assert_eq!(prompted("early"), None);

    // Sessions side by side do not take it from each other.
    let started: Vec<_> = (0..8)
        .map(|number| stage.hook(&["UserPromptSubmit"], prompt(&format!("{number}"))).start())
        .collect();
    for each in started {
        assert_eq!(told(&each.end()).as_ref(), Some(&first));
    }
    for number in 0..8 {
        assert_eq!(prompted(&format!("{number}")), None);
    }
    // And of many processes of one session, one tells.
    let started: Vec<_> = (0..8).map(|_| stage.hook(&["UserPromptSubmit"], prompt("one")).start()).collect();
    assert_eq!(started.into_iter().filter_map(|each| told(&each.end())).count(), 1);

    // What was compacted is told again: at the next prompt, or before it, where nobody says anything.
    let compacted = json!({"session_id": "early", "trigger": "auto"}).to_string();
    let compacting = || assert_eq!(told(&stage.hook(&["PreCompact"], compacted.clone()).end()), None);
    compacting();
    assert_eq!(prompted("early").as_ref(), Some(&first));
    compacting();
    let begun = json!({"session_id": "early", "source": "compact"}).to_string();
    assert_eq!(told(&stage.hook(&["SessionStart"], begun).end()).as_ref(), Some(&first));
    assert_eq!(prompted("early"), None);
    // A session that ends may be resumed with all that it was told; one that is cleared has nothing.
    for (reason, expected) in [("other", None), ("clear", Some(&first))] {
        stage.hook(&["SessionEnd"], json!({"session_id": "early", "reason": reason}).to_string()).end();
        assert_eq!(prompted("early").as_ref(), expected, "{reason}");
    }
    // The agent names no transcript here, and nothing is queued for that.
    assert!(stage.troubles().iter().all(|trouble| trouble.description == "the agent names no transcript"));
}

#[test]
fn what_cannot_be_told_is_put_down() {
    let stage = Stage::new();
    stage.put_playbook();
    let playbook = stage.work().join(".claude/playbook.json");
    fs::write(&playbook, "{").expect("the stage can be written");
    assert_eq!(told(&stage.hook(&["UserPromptSubmit"], prompt("a")).end()), None);
    let what: Vec<String> = stage.troubles().into_iter().map(|trouble| trouble.description).collect();
    assert!(what.len() == 1 && what[0].contains("playbook.json"), "{what:?}");
    assert_eq!(fs::read_to_string(playbook).expect("it is there"), "{");

    // Where nothing can be written, it is told, and again.
    let stage = Stage::new();
    stage.put_playbook();
    fs::write(stage.home(), "in the way").expect("the stage can be written");
    for _ in 0..2 {
        let ended = stage.hook(&["UserPromptSubmit"], prompt("a")).end();
        assert!(told(&ended).is_some_and(|text| text.contains("pat-001")));
    }
}

#[test]
fn a_hook_never_fails() {
    let stage = Stage::new();
    let check = |args: &[&str], input: &[u8], expected: &str| {
        let before = stage.troubles().len();
        let ended = stage.hook(args, input).end();
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""), "{args:?}");
        let noted = stage.troubles();
        assert_eq!(noted.len(), before + 1, "{args:?}: {noted:?}");
        let last = noted.last().expect("there is one");
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
    assert!(stage.troubles().iter().all(|trouble| !trouble.at.is_empty()));
    assert_eq!(stage.queued(), Vec::<Value>::new());

    // Without a home there is nowhere to put anything down.
    let ended = stage.hook(&["SessionEnd"], "{}").without_env("LONGHAUL_HOME").without_env("HOME").end();
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
}

#[test]
fn a_session_that_is_judged_by_hooks_of_its_own_is_left_alone() {
    let stage = Stage::new();
    stage.put_playbook();
    for event in ["UserPromptSubmit", "SessionEnd"] {
        let ended = stage.hook(&[event], "no JSON").env("LONGHAUL_JUDGE", "1").end();
        assert_eq!(told(&ended), None);
    }
    assert!(!stage.home().exists(), "nothing is put down");
}

#[test]
fn the_ends_of_sessions_are_queued() {
    let stage = Stage::new();
    let transcript = stage.file("session.jsonl", "{}\n");
    let own = stage.file("agent-a.jsonl", "{}\n");
    let gone = stage.folder().join("none.jsonl");
    let mut expected = 0;
    let mut check = |settings: &str, args: &[&str], input: Value, queued: bool| {
        stage.put_settings(settings);
        let ended = stage.hook(args, input.to_string()).end();
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
        expected += usize::from(queued);
        assert_eq!(stage.queued().len(), expected, "{settings} {args:?} {input}");
    };
    let ended = |reason: &str| json!({"session_id": "s", "transcript_path": transcript, "cwd": "/", "reason": reason});
    let keys = |value: bool| {
        json!({"playbook_update_on_exit": value, "playbook_update_on_clear": value,
               "playbook_update_on_subagent_stop": value})
        .to_string()
    };
    let stopped = json!({"session_id": "s", "transcript_path": transcript, "agent_type": "Explore",
                         "agent_transcript_path": own});
    let compacts = json!({"session_id": "s", "transcript_path": transcript, "trigger": "manual"});
    for (settings, exit, clear, subagent) in [
        ("{}".to_owned(), false, false, true),
        (keys(true), true, true, true),
        (keys(false), false, false, false),
    ] {
        check(&settings, &["SessionEnd"], ended("prompt_input_exit"), exit);
        check(&settings, &["SessionEnd"], ended("clear"), clear);
        check(&settings, &["SessionEnd"], ended("other"), true);
        check(&settings, &["SessionEnd"], ended("logout"), true);
        check(&settings, &["SubagentStop"], stopped.clone(), subagent);
        check(&settings, &["PreCompact", "--judge", "claude"], compacts.clone(), true);
    }
    // Nothing was ever said in it; and what the agent asks itself to compact has no file.
    check("{}", &["SessionEnd"], json!({"transcript_path": gone, "reason": "other"}), false);
    let own_agent = json!({"transcript_path": transcript, "agent_type": "", "agent_transcript_path": gone});
    check("{}", &["SubagentStop"], own_agent, false);
    assert_eq!(stage.troubles(), []);

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
fn without_room_nothing_is_lost_in_silence() {
    let stage = Stage::new();
    let transcript = stage.file("session.jsonl", "{}\n");
    fs::create_dir_all(stage.place().database()).expect("the stage can be written");
    fs::set_permissions(stage.home(), fs::Permissions::from_mode(0o700)).expect("it is ours");
    fs::set_permissions(stage.place().dir(), fs::Permissions::from_mode(0o700)).expect("it is ours");
    let input = json!({"session_id": "s", "transcript_path": transcript, "reason": "other"}).to_string();
    assert_eq!(told(&stage.hook(&["SessionEnd"], input).end()), None);
    let noted = stage.troubles();
    assert!(
        noted.len() == 1
            && noted[0].event == "SessionEnd"
            && noted[0].description.contains("learning.sqlite3"),
        "{noted:?}"
    );
    fs::remove_dir(stage.place().database()).expect("it is empty");
}

#[test]
fn installing_twice_is_installing_once_and_uninstalling_restores() {
    let stage = Stage::new();
    let mine = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": []\n    }\n}\n";
    stage.put_settings(mine);
    let read = || fs::read_to_string(stage.settings()).expect("it is there");
    let call = |args: &[&str]| {
        let ended = stage.longhaul(["playbook"].iter().chain(args)).args(["--output-format", "json"]).end();
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
        serde_json::from_str::<Value>(&ended.stdout).expect("it is JSON")
    };
    let dry = call(&["install", "--dry-run"]);
    assert_eq!((&dry["changed"], &dry["backup"], read()), (&json!(true), &Value::Null, mine.to_owned()));
    let first = call(&["install"]);
    assert_eq!(dry["content"], read());
    let backup = first["backup"].as_str().expect("it was somebody else's");
    assert_eq!(fs::read_to_string(backup).expect("it is there"), mine);
    let with: Value = serde_json::from_str(&read()).expect("it is JSON");
    for event in ["UserPromptSubmit", "SessionStart", "SessionEnd", "PreCompact", "SubagentStop"] {
        assert_eq!(with["hooks"][event][0]["hooks"][0]["command"], format!("{LONGHAUL} hook {event}"));
    }
    let again = call(&["install"]);
    assert_eq!((&again["changed"], &again["backup"]), (&json!(false), &Value::Null));
    call(&["install", "--judge", "claude", "--max-tokens", "900"]);
    let flagged = read();
    assert_eq!(flagged.matches(" --judge claude --max-tokens 900\"").count(), 5, "{flagged}");
    assert_eq!(flagged.matches(" hook ").count(), 5, "{flagged}");
    assert_eq!(call(&["uninstall", "--dry-run"])["content"], mine);
    assert_eq!(call(&["uninstall"])["changed"], true);
    assert_eq!(read(), mine);
    assert_eq!(call(&["uninstall"])["changed"], false);
}

#[test]
fn settings_have_three_places() {
    let stage = Stage::new();
    fs::create_dir(stage.folder().join("elsewhere")).expect("it is new");
    let check = |flags: &[&str], expected: &str| {
        let elsewhere = stage.folder().join("elsewhere");
        let args = ["playbook", "install", "--quiet", "--output-format", "text"];
        let ended = stage.longhaul(args).args(flags).env("CLAUDE_CONFIG_DIR", elsewhere).end();
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
        let path = stage.folder().join(expected);
        assert_eq!(ended.stdout, format!("installed: {}\n", path.display()));
        assert!(fs::read_to_string(path).expect("it is there").contains("hook SessionEnd"));
    };
    check(&[], "elsewhere/settings.json");
    check(&["--project"], ".claude/settings.json");
    check(&["--local"], ".claude/settings.local.json");
    let ended = stage.longhaul(["playbook", "install", "--project"]).end();
    assert!(ended.code == 0 && ended.stderr.contains("--local"), "{ended:?}");
    let ended = stage.longhaul(["playbook", "install", "--project", "--user"]).end();
    assert_eq!(ended.code, 2, "{ended:?}");
    ended.says(&["--project", "--user"]);
}

#[test]
fn settings_that_are_not_understood_are_not_touched() {
    let check = |text: &str, expected: &[&str]| {
        let stage = Stage::new();
        stage.put_settings(text);
        for command in ["install", "uninstall"] {
            let ended = stage.longhaul(["playbook", command]).end();
            assert_eq!(ended.code, 2, "{ended:?}");
            ended.says(expected);
            assert_eq!(fs::read_to_string(stage.settings()).expect("it is there"), text);
            let files = fs::read_dir(stage.user_home().join(".claude")).expect("it is there").count();
            assert_eq!(files, 1, "nothing is left beside it");
        }
    };
    check(
        "{\n  // mine\n  \"model\": \"opus\"\n}",
        &["settings.json", "line 2", "take its comments out", "nothing was changed"],
    );
    check("{\"model\": ", &["settings.json", "line 1", "fix it"]);
    check("[1]", &["settings.json", "not an object"]);
}

#[test]
fn the_ace_hooks_are_told_of() {
    let stage = Stage::new();
    let ace = "uv run --project \"/repo\" python \"/home/me/.claude/hooks/user_prompt_inject.py\"";
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": ace}]}]}})
        .to_string();
    stage.put_settings(&settings);
    for args in [&["playbook", "install", "--local"][..], &["playbook", "install"]] {
        let ended = stage.longhaul(args).end();
        assert!(ended.code == 0 && ended.stderr.contains("--replace-ace"), "{ended:?}");
    }
    let ended = stage.longhaul(["playbook", "install", "--replace-ace"]).end();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    assert!(!fs::read_to_string(stage.settings()).expect("it is there").contains("inject.py"));
    // Where ours are for one project, theirs go all the same, and nothing of ours is put in their place.
    stage.put_settings(&settings);
    let ended = stage.longhaul(["playbook", "install", "--local", "--replace-ace"]).end();
    assert!(ended.code == 0 && ended.stderr.contains("kept as they were"), "{ended:?}");
    let left = fs::read_to_string(stage.settings()).expect("it is there");
    assert!(!left.contains("inject.py") && !left.contains("longhaul"), "{left}");
}

#[test]
fn what_a_session_would_be_told_can_be_read() {
    let stage = Stage::new();
    let inject = |args: &[&str]| {
        let inside = ["-c", "cd work && exec \"$0\" playbook inject --output-format \"$@\"", LONGHAUL];
        stage.program("sh").args(inside).args(args).end()
    };
    let json = |args: &[&str]| {
        let ended = inject(args);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
        let injected: Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
        validate("playbook-inject", &injected);
        injected
    };
    let nothing = json!({"text": null, "points": 0, "omitted": 0});
    assert_eq!(json(&["json"]), nothing);
    assert_eq!(inject(&["text"]).stdout, "");
    stage.put_playbook();
    let told = inject(&["text", "--prompt", "make"]).stdout;
    assert!(told.contains("[pat-001] helpful=3 harmful=0 :: Run `make check` first."), "{told}");
    assert_eq!(json(&["json"]), json!({"text": told, "points": 1, "omitted": 0}));
    assert_eq!(json(&["json", "--max-tokens", "1"]), nothing, "there is no room for it");
    fs::write(stage.work().join(".claude/playbook.json"), "[]").expect("the stage can be written");
    inject(&["text"]).says(&["playbook.json", "hint:"]);
}

/// A piece of work that has a sub-agent, and whose conversation becomes too long.
const LONG: &str = r#"
name = "long"
summary = "a sub-agent, a conversation that is too long, the answer"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "Somebody else looks."
[[turn.tools]]
call = { name = "Agent", input = { description = "look", prompt = "Look around.", subagent_type = "general-purpose" } }
[[turn]]
text = "I write the file."
[[turn.tools]]
bash = { command = "echo hello > hello.txt" }
[[turn]]
text = "All done."
[[reply]]
to = "Look around."
[[reply.turn]]
text = "There is nothing."
[[fault]]
turn = 3
status = { code = 400, message = "prompt is too long: 1200000 tokens > 1000000 maximum" }
"#;

/// The real agent at this API, with the hooks installed as a person would.
struct Calling {
    stage: Stage,
    server: Server,
    claude: PathBuf,
    /// A worker is at work, as far as the hooks can see: no other is started.
    _worker: File,
}

impl Calling {
    fn new(claude: PathBuf, scenario: &str) -> Calling {
        let (stage, server) = (Stage::new(), Server::plays(scenario));
        let installed = stage.longhaul(["playbook", "install"]).end();
        assert_eq!(installed.code, 0, "{installed:?}");
        DirBuilder::new().recursive(true).mode(0o700).create(stage.place().dir()).expect("it is new");
        let lock = stage.place().worker_lock(&server.api.url(), JudgeKind::Api);
        let worker = File::options().append(true).create(true).mode(0o600).open(lock).expect("it is new");
        worker.lock().expect("nobody holds it");
        Calling { stage, server, claude, _worker: worker }
    }

    fn session(&self, args: &[&str]) {
        let claude = self.claude.to_str().expect("its path is text");
        let inside = ["-c", "cd work && exec \"$0\" -p --permission-mode bypassPermissions \"$@\"", claude];
        let call = self.stage.program("sh").args(inside).args(args).against(&self.server);
        let ended = call.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").end();
        assert_eq!(ended.code, 0, "{ended:?}");
    }

    /// What the model was told by the agent's program in each request for a message.
    fn told(&self) -> Vec<String> {
        let account = self.server.api.account();
        let asked = account.requests.into_iter().filter(|request| request.turn.is_some());
        asked.map(|request| request.notes).collect()
    }

    /// The events that were queued, in their order.
    fn events(&self) -> Vec<String> {
        let word = |queued: &Value| queued["event"].as_str().unwrap_or_default().to_owned();
        self.stage.queued().iter().map(word).collect()
    }
}

/// How often the playbook is told in a text.
fn tellings(text: &str) -> usize {
    text.matches("[pat-001] helpful=3 harmful=0 :: Run `make check` first.").count()
}

#[test]
fn the_real_agent_calls_the_hooks() {
    let Some(claude) = claude_code("hooks") else { return };
    let calling = Calling::new(claude, WORK);
    let stage = &calling.stage;
    calling.session(&["Write the file."]);
    assert!(calling.told().iter().all(|text| !text.contains("pat-001")), "there is no playbook yet");
    let queued = stage.queued().remove(0);
    let work = fs::canonicalize(stage.work()).expect("it is there");
    assert_eq!((&queued["event"], &queued["reason"]), (&json!("SessionEnd"), &json!("other")));
    assert_eq!(
        (&queued["project"], &queued["destination"]),
        (&json!(work), &json!(calling.server.api.url()))
    );
    // All that was said is in the file when the hook is called, and stays what it was.
    let transcript = fs::read_to_string(queued["transcript"].as_str().expect("a path")).expect("it is there");
    assert!(transcript.contains("All done: hello.txt says hello."), "{transcript}");

    // The next session has the playbook in its first request.
    stage.put_playbook();
    let before = calling.told().len();
    calling.session(&["Write it again."]);
    let told = calling.told();
    assert_eq!(tellings(&told[before]), 1, "{}", told[before]);
    assert!(told[before].contains("UserPromptSubmit hook additional context: "), "{}", told[before]);

    // Resumed, it has it still, and once. After it was compacted it is told again.
    let id = stage.queued()[1]["session"].as_str().expect("it has one").to_owned();
    let before = calling.told().len();
    calling.session(&["--resume", &id, "Once more."]);
    assert_eq!(tellings(&calling.told()[before]), 1);
    calling.session(&["--resume", &id, "/compact"]);
    let before = calling.told().len();
    calling.session(&["--resume", &id, "And once more."]);
    let told = calling.told();
    assert_eq!(tellings(&told[before]), 1, "{}", told[before]);
    assert!(told[before].contains("SessionStart hook additional context: "), "{}", told[before]);
    let ends = ["SessionEnd", "SessionEnd", "SessionEnd", "PreCompact", "SessionEnd", "SessionEnd"];
    assert_eq!(calling.events(), ends);
    assert_eq!(stage.troubles(), []);
}

#[test]
fn the_real_agent_is_told_again_in_the_middle_of_its_work() {
    let Some(claude) = claude_code("hooks in mid-work") else { return };
    let calling = Calling::new(claude, LONG);
    calling.stage.put_playbook();
    calling.session(&["Write the file."]);
    let told = calling.told();
    assert_eq!(tellings(told.first().expect("something was asked")), 1, "{told:?}");
    let last = told.last().expect("something was asked");
    assert_eq!(tellings(last), 1, "{last}");
    assert!(
        last.contains("SessionStart hook additional context: "),
        "nobody said anything meanwhile: {last}"
    );
    let mut events = calling.events();
    events.sort();
    assert_eq!(events, ["PreCompact", "SessionEnd", "SubagentStop"]);
    let queued = calling.stage.queued();
    let of = |event: &str| queued.iter().find(|queued| queued["event"] == event).expect("it is queued");
    assert_eq!(of("PreCompact")["reason"], "auto");
    // A sub-agent's own file, with what it said.
    let own = of("SubagentStop")["transcript"].as_str().expect("a path");
    assert!(own.contains("/subagents/agent-"), "{own}");
    assert!(fs::read_to_string(own).expect("it is there").contains("There is nothing."), "{own}");
    assert_eq!(calling.stage.troubles(), []);
}

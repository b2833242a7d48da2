//! Invalid requests fail with a clear error, a hint and the documented exit code, and leave nothing on disk.

use crate::call::{Output, wait_until};
use crate::harness::{LONGHAUL, Stage};
use crate::server::{Server, WORK};
use crate::tidy;
use longhaul_store::Journal;
use rustix::process::{Signal, geteuid};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

const SESSION: &str = "0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0";

/// An agent that opens its session, stays silent, and exits when its input closes.
const SILENT: &str = r#"echo '{"type":"system","subtype":"init","session_id":"0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0"}'; cat > /dev/null"#;

#[test]
fn wrong_usage_exits_with_2_and_touches_nothing() {
    let stage = Stage::new();
    let latin = stage.file("latin.md", b"caf\xe9").display().to_string();
    let blank = stage.file("blank.md", " \n\t\n").display().to_string();
    let check = |args: &[&str], fragments: &[&str]| {
        let output = stage.longhaul(args).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        output.assert_error(fragments);
        assert!(!stage.home().exists(), "{args:?} created {}", stage.home().display());
    };
    check(&["run", "p", "--nonsense"], &["--nonsense", "--help"]);
    check(&["frobnicate"], &["frobnicate", "--help"]);
    check(&["run"], &["<PROMPT>", "--help"]);
    check(
        &["run", ""],
        &["the prompt from the command line is empty", "hint: write what the agent should do"],
    );
    check(&["run", " \n"], &["the prompt from the command line is empty", "hint:"]);
    check(&["run", "-"], &["the prompt from stdin is empty", "hint:"]);
    check(&["run", "--prompt-file", &blank], &["blank.md is empty", "hint:"]);
    check(
        &["run", "--prompt-file", "/nowhere/task.md"],
        &["/nowhere/task.md", "No such file", "hint: name a file that you can read"],
    );
    check(&["run", "--prompt-file", &latin], &["latin.md is not UTF-8", "byte 3", "hint: convert it"]);
    check(&["run", "--prompt-file", &blank, "p"], &["cannot be used with", "--help"]);
    for name in ["--resume=-x", "--resume=", "--resume=a/b", "--resume-or-new=--fork-session"] {
        check(&["run", "p", name], &["expected the id or the title of a session"]);
    }
    check(
        &["run", "p", "--cwd", "/nowhere"],
        &["/nowhere", "No such file", "hint: name an existing directory"],
    );
    check(&["run", "p", "--cwd", &latin], &["latin.md", "hint: name an existing directory"]);
    check(&["run", "p", "--stall-timeout", "soon"], &["soon", "90s, 5m, 1h30m or 2d"]);
    check(&["run", "p", "--retry-base=-5s"], &["-5s", "a duration cannot be negative"]);
    check(&["run", "p", "--retry-jitter", "150"], &["150", "percentage from 1 to 100"]);
    check(&["run", "p", "--max-retries", "-1"], &["invalid value '-1'"]);
    check(&["runs", "-n", "-1"], &["invalid value '-1'"]);
    check(&["import", "/nowhere/x.longhaul", "--into", "x"], &["cannot read /nowhere/x.longhaul", "hint:"]);
    check(&["export", "@", "-o", "/nowhere/x"], &["cannot write /nowhere/x", "hint:"]);
    check(&["run", "p", "--preset", "tornado"], &["tornado", "openclawpack"]);
    check(&["run", "p", "--max-retries", "many"], &["many", "--help"]);
    check(&["simulate", "--runs", "0"], &["expected at least 1"]);
    check(&["run", "p", "--output-format", "xml"], &["xml", "stream-json"]);
    check(&["run", "p", "--quiet", "--verbose"], &["--quiet", "--verbose"]);
    check(&["run", "p", "--session-id", SESSION, "--resume", SESSION], &["--session-id", "--resume"]);
    check(&["run", "p", "--session-id", "tuesday"], &["tuesday", "expected a UUID"]);
}

/// Asserts that a run was rejected: exit code 25, the fault in the envelope, an error and a hint on stderr.
fn assert_rejected(output: &Output, fault: &str, fragments: &[&str]) -> Value {
    let envelope = output.envelope(25);
    assert_eq!(
        (&envelope["run"]["outcome"], &envelope["run"]["fault"]),
        (&"not_started".into(), &fault.into())
    );
    assert!(!envelope["errors"].as_array().expect("a list").is_empty(), "{envelope}");
    output.assert_error(fragments);
    output.assert_error(&["hint:"]);
    envelope
}

#[test]
fn missing_agent_error_lists_the_searched_directories() {
    let stage = Stage::new();
    fs::create_dir(stage.folder().join("bin")).expect("the stage is writable");
    let output = stage.longhaul(["run", "p"]).env("PATH", stage.folder().join("bin")).output();
    let dirs = [
        stage.folder().join("bin"),
        stage.user_home().join(".local/bin"),
        stage.user_home().join(".claude/local"),
    ];
    let envelope = assert_rejected(
        &output,
        "agent_missing",
        &["npm install -g @anthropic-ai/claude-code", "--agent-path"],
    );
    output.assert_error(&dirs.each_ref().map(|dir| dir.to_str().expect("the stage has a plain name")));
    assert_eq!(envelope["run"]["id"], Value::Null);
    let named = stage.longhaul(["run", "p", "--agent-path", "/nowhere/claude"]).output();
    assert_rejected(&named, "agent_missing", &["/nowhere/claude", "check --agent-path"]);
    assert!(!stage.home().exists());
}

#[test]
fn unstartable_agent_is_rejected() {
    let stage = Stage::new();
    let text = stage.file("notes.txt", "no program");
    assert_rejected(&stage.run(&text, &["p"]).output(), "agent_unusable", &["notes.txt", "chmod +x"]);
    assert!(!stage.home().exists());
    // The file is executable but no program for this machine. Only the attempt to start it reveals that.
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).expect("the test owns the file");
    assert_rejected(
        &stage.run(&text, &["p"]).output(),
        "agent_unusable",
        &["npm install -g @anthropic-ai/claude-code", "`longhaul doctor --agent-path "],
    );
    assert_eq!(tidy::replayed_outcome(&stage.only_run()).exit_code(), 25);
    let script = stage.script("script", "");
    fs::write(&script, "#!/nowhere/sh\n").expect("the test owns the file");
    let output = stage.run(&script, &["p"]).output();
    let envelope = assert_rejected(&output, "agent_unusable", &["longhaul doctor"]);
    assert!(
        envelope["errors"].to_string().contains("the interpreter that it names does not exist"),
        "{envelope}"
    );
    assert_rejected(&stage.run(stage.folder(), &["p"]).output(), "agent_unusable", &["not a directory"]);
}

#[test]
fn outdated_agent_is_rejected() {
    let stage = Stage::new();
    let old = stage.script("old", "echo \"error: unknown option '--include-partial-messages'\" >&2; exit 1");
    let envelope = assert_rejected(
        &stage.run(&old, &["p"]).output(),
        "agent_unusable",
        &["npm install -g @anthropic-ai/claude-code"],
    );
    assert!(envelope["errors"].to_string().contains("--include-partial-messages"));
    assert_eq!(tidy::replayed_outcome(&stage.only_run()).exit_code(), 25);
}

#[test]
fn session_has_one_run_at_a_time() {
    let stage = Stage::new();
    stage.write_session(SESSION);
    let silent = stage.script("silent", SILENT);
    let first = stage.run(&silent, &["p", "--session-id", SESSION]).start();
    let stream = || Some(stage.runs().first()?.attempt(1).stream_path());
    wait_until("the first run has its session", || {
        stream().is_some_and(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0))
    });
    let holder = stage.only_run();
    for second in [["--session-id", SESSION], ["--resume", SESSION], ["--resume-or-new", SESSION]] {
        let output = stage.run(&silent, &["p"]).args(second).output();
        let envelope =
            assert_rejected(&output, "session_busy", &["finish or cancel the run that has the session"]);
        let error = envelope["errors"].to_string();
        assert!(error.contains(holder.id().as_str()) && error.contains(SESSION), "{second:?}: {envelope}");
        let busy = stage
            .runs()
            .into_iter()
            .find(|run| run.id() != holder.id() && run.id().as_str() == envelope["run"]["id"]);
        assert_eq!(tidy::replayed_outcome(&busy.expect("the file is stored")).exit_code(), 25);
    }
    first.signal(Signal::TERM);
    first.output().envelope(143);
    // The suspended run keeps its session. Once it is cancelled, the session is free.
    assert_eq!(stage.longhaul(["cancel", holder.id().as_str()]).output().code, 0);
    let after =
        stage.run(&stage.agent(), &["p", "--resume", SESSION]).env("LONGHAUL_SCRIPTED_INSTANT", "1").output();
    after.envelope(0);
}

#[test]
fn unwritable_home_is_rejected() {
    let stage = Stage::new();
    let agent = stage.agent();
    let check = |home: &Path, fragments: &[&str]| {
        let output = stage.run(&agent, &["p"]).env("LONGHAUL_HOME", home).output();
        let envelope = output.envelope(25);
        assert_eq!(envelope["run"]["outcome"], "not_started");
        output.assert_error(&[&home.display().to_string(), "hint: set LONGHAUL_HOME"]);
        output.assert_error(fragments);
        assert!(!home.exists(), "{} was created", home.display());
    };
    check(&stage.file("a file", "").join("home"), &["is not a directory"]);
    // Not even root can create a directory here.
    check(Path::new("/proc/longhaul"), &[]);
    if !geteuid().is_root() {
        let read_only = stage.folder().join("read-only");
        fs::create_dir(&read_only).expect("the stage is writable");
        fs::set_permissions(&read_only, fs::Permissions::from_mode(0o500))
            .expect("the test owns the directory");
        check(&read_only.join("home"), &["permission denied"]);
    }
    let without_home = stage.run(&agent, &["p"]).without_env("LONGHAUL_HOME").without_env("HOME").output();
    without_home.envelope(25);
    without_home.assert_error(&["LONGHAUL_HOME", "XDG_STATE_HOME", "hint:"]);
}

#[test]
fn reading_commands_say_what_to_do_about_a_home_that_is_a_file() {
    let stage = Stage::new();
    let file = stage.file("a file", "");
    let commands: [&[&str]; 10] = [
        &["runs"],
        &["status"],
        &["show"],
        &["show", "kmzxqp"],
        &["why"],
        &["logs"],
        &["diff"],
        &["cost"],
        &["attach", "@"],
        &["export", "kmzxqp"],
    ];
    for command in commands {
        let output = stage.longhaul(command).env("LONGHAUL_HOME", &file).output();
        assert_ne!(output.code, 0, "{command:?}: {output:?}");
        output.assert_error(&["a file", "not a directory", "hint: set LONGHAUL_HOME to a directory"]);
    }
}

#[test]
fn full_disk_is_detected_before_anything_starts() {
    let stage = Stage::new();
    let witness = stage.folder().join("started");
    let agent = stage.script("agent", &format!("mkdir '{}'", witness.display()));
    // No file may grow. A program cannot distinguish this from a full disk.
    let limited = r#"ulimit -f 0; exec "$0" "$@""#;
    let call = stage.program("sh").args(["-c", limited, LONGHAUL, "run", "p", "--agent-path"]).args([&agent]);
    let output = call.output();
    assert_eq!(output.envelope(25)["run"]["outcome"], "not_started");
    output.assert_error(&["write plan", "hint:", "LONGHAUL_HOME"]);
    assert!(!witness.exists(), "the agent was started");
    let files: Vec<_> = tidy::all_paths(&stage.home()).into_iter().filter(|path| path.is_file()).collect();
    assert!(files.is_empty(), "{files:?}");
}

/// Longhaul stops a run, and its agent, once it can no longer write the journal.
#[test]
fn filling_disk_aborts_the_run() {
    let stage = Stage::new();
    let stream = stage.file("stream", r#"{"type":"system","subtype":"init"}"#);
    // The limit allows the plan and some attempts. Each attempt fails and adds to the journal.
    let limited = r#"ulimit -f 8; exec "$0" "$@""#;
    let policy = ["--max-retries", "1000", "--retry-base", "1ms", "--retry-cap", "1ms"];
    let call = stage.program("sh").args(["-c", limited, LONGHAUL, "run", "p"]).args(policy);
    let call = call.args(["--agent-path".as_ref(), stage.agent().as_os_str()]);
    let output = call.env("LONGHAUL_SCRIPTED_REPLAY", stream).env("LONGHAUL_SCRIPTED_EXIT", "1").output();
    assert_eq!(output.envelope(26)["run"]["outcome"], "incomplete");
    output.assert_error(&["was aborted", "journal.jsonl", "hint: free disk space"]);
    let history = <Journal>::load(&stage.only_run().journal_path()).expect("the journal can be read");
    assert!(history.torn_bytes == 0 && history.entries.len() > 3, "{history:?}");
}

#[test]
fn missing_session_is_rejected_with_similar_ids() {
    let stage = Stage::new();
    stage.write_session(SESSION);
    let similar = SESSION.replace("2ba958", "2ba985");
    let resume = |session: &str| stage.run(&stage.agent(), &["p", "--resume", session]).output();
    assert_rejected(&resume(&similar), "session_lost", &[&similar, &format!("did you mean {SESSION}?")]);
    let unrelated = "ffffffff-ffff-4fff-bfff-ffffffffffff";
    assert_rejected(&resume(unrelated), "session_lost", &[unrelated, "--resume-or-new"]);
    assert!(!stage.home().exists());
    // Only the agent knows the titles of sessions.
    assert_rejected(&resume("no such title"), "session_lost", &["in a new session: `longhaul resume "]);
    assert_eq!(tidy::replayed_outcome(&stage.only_run()).exit_code(), 25);
}

#[test]
fn resume_or_new_starts_a_new_session() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let call = stage
        .run(&stage.agent(), &["p", "--permission-mode", "bypassPermissions", "--resume-or-new", SESSION]);
    let output = call.against(&server).output();
    let envelope = output.envelope(0);
    let session = envelope["session_id"].as_str().expect("there is a session");
    assert!(!session.is_empty() && session != SESSION, "{envelope}");
    assert_eq!(fs::read_to_string(stage.work().join("hello.txt")).ok().as_deref(), Some("hello\n"));
}

#[test]
fn pipes_and_devices_are_rejected_as_input_files() {
    let stage = Stage::new();
    let fifo = stage.folder().join("fifo");
    let make_fifo = |path: &Path| assert_eq!(stage.program("mkfifo").args([path]).output().code, 0);
    make_fifo(&fifo);
    let fifo = fifo.display().to_string();
    let assert_file_rejected = |args: &[&str]| {
        let output = stage.longhaul(args).env("LONGHAUL_AGENT_PATH", stage.agent()).output();
        assert!(matches!(output.code, 2 | 25), "{args:?}: {output:?}");
        output.assert_error(&["this is a pipe or a device", "hint:"]);
        assert!(output.duration < Duration::from_secs(60), "{args:?}: {output:?}");
    };
    for path in [fifo.as_str(), "/dev/zero"] {
        assert_file_rejected(&["run", "--prompt-file", path]);
        assert_file_rejected(&["run", "p", "--prices-file", path]);
        assert_file_rejected(&["run", "p", "--effects-file", path]);
        assert_file_rejected(&["run", "p", "--block-urls-file", path]);
        assert_file_rejected(&["handoff", "--from-transcript", path]);
        assert_file_rejected(&["handoff", "--task-file", path, "--from-transcript", path]);
        assert_file_rejected(&["import", path, "--into", "there"]);
        assert_file_rejected(&["playbook", "extract", path]);
        assert_file_rejected(&["loop", path]);
        assert_file_rejected(&["loop", "validate", path]);
    }
    assert!(!stage.home().exists() || stage.runs().is_empty());
    let server = Server::start(WORK);
    let base_args = ["p", "--permission-mode", "bypassPermissions"];
    stage.run(&stage.agent(), &base_args).against(&server).output().envelope(0);
    for name in ["journal.jsonl", "plan.json"] {
        let path = stage.only_run().path().join(name);
        let original = path.with_extension("kept");
        fs::rename(&path, &original).expect("the test owns the file");
        make_fifo(&path);
        for command in ["show", "why", "recover"] {
            assert_file_rejected(&[command, "@"]);
        }
        fs::rename(&original, &path).expect("the test owns the file");
    }
}

#[test]
fn json_works_in_a_directory_that_is_not_utf8() {
    let stage = Stage::new();
    let dir = stage.folder().join(OsStr::from_bytes(b"b\xffd"));
    fs::create_dir(&dir).expect("the stage is writable");
    let commands: [&[&str]; 5] = [
        &["run", "hi", "--dry-run"],
        &["config", "init"],
        &["config", "trust", "--revoke"],
        &["playbook", "install", "--project"],
        &["playbook", "uninstall", "--project"],
    ];
    let agent_path = stage.agent();
    let agent: [&OsStr; 2] = ["--agent-path".as_ref(), agent_path.as_os_str()];
    for command in commands {
        let agent = if command[0] == "run" { &agent[..] } else { &[] };
        let output = stage.longhaul(command).args(agent).in_dir(&dir).output();
        assert_eq!(output.code, 0, "{command:?}: {output:?}");
        let printed: Value = serde_json::from_str(&output.stdout).expect("an object is printed");
        assert!(printed.to_string().contains("b\u{fffd}d"), "{command:?}: {printed}");
    }
}

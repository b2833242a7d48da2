use super::{
    BootstrapSettings, BootstrapState, Estimator, PastSession, SessionFilter, folder_sessions, plan,
    project_sessions, result_of, spent_since,
};
use crate::database::{
    ByteRange, Item, JudgeKind, JudgeRequest, LearnResult, NextItem, Queued, QueuedEvent, Slice,
};
use crate::judging::{Excerpt, JudgeQuestion};
use crate::{JudgeReply, LearningDb, LearningPaths};
use expect_test::{Expect, expect};
use longhaul_agent::Prices;
use longhaul_core::{Moment, Span, Tokens, Usd};
use serde_json::json;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;

const MODEL: &str = "claude-sonnet-4-5";

struct Stage(TempDir);

impl Stage {
    fn new() -> Stage {
        let stage = Stage(tempfile::tempdir().expect("a directory"));
        for project in ["mine", "other"] {
            fs::create_dir(stage.path(project)).expect("the stage is new");
        }
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a transcript that was last written to on this day.
    fn session(&self, name: &str, day: u64, project: &str, text: &str) {
        let row = json!({
            "type": "user", "uuid": name, "sessionId": "s", "cwd": self.path(project),
            "message": { "role": "user", "content": text },
        });
        let first = json!({ "type": "queue-operation", "operation": "enqueue", "sessionId": "s" });
        self.file(name, day, format!("{first}\n{row}\n").as_bytes());
    }

    fn file(&self, name: &str, day: u64, bytes: &[u8]) {
        let path = self.path("config/projects").join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the stage can be written");
        fs::write(&path, bytes).expect("the stage can be written");
        let at = UNIX_EPOCH + Duration::from_hours(24 * day);
        File::options().write(true).open(&path).expect("it is there").set_modified(at).expect("it is ours");
    }

    fn sessions(&self) -> Vec<PastSession> {
        project_sessions(&self.path("config"), &self.path("mine")).expect("they can be read")
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.path("config/projects")).unwrap_or(path).display().to_string()
    }

    fn names(&self, sessions: &[PastSession]) -> Vec<String> {
        sessions.iter().map(|session| self.name(&session.path)).collect()
    }

    fn state(&self) -> BootstrapState {
        BootstrapState::read(&self.path("mine")).expect("it can be read")
    }

    fn learning(&self) -> LearningDb {
        LearningDb::open(&LearningPaths::in_home(&self.path("home"))).expect("it can be made")
    }

    /// Returns a session that the user requests.
    fn queued(&self, name: &str) -> Queued {
        Queued {
            project: self.path("mine"),
            session: None,
            transcript: self.path("config/projects").join(name),
            event: QueuedEvent::Manual,
            reason: None,
            judge: JudgeKind::Api,
            destination: "http://127.0.0.1".to_owned(),
        }
    }
}

/// Returns the queued item of a transcript.
fn due_item(learning: &LearningDb, queued: &Queued) -> Item {
    let next = learning
        .next(JudgeKind::Api, &queued.destination, Some(&queued.transcript), Moment(2))
        .expect("it can be read");
    let NextItem::Due(item) = next else { unreachable!("it is queued") };
    *item
}

/// Starts a slice of the whole transcript.
fn start_slice(learning: &mut LearningDb, item: &Item) -> Slice {
    let end = fs::metadata(&item.queued.transcript).expect("it is there").len();
    let part = ByteRange { start: 0, end, generation: 0, fingerprint: 0, more: false };
    let slice = learning.start_slice(item, Moment(3), None, part).expect("it can be written");
    slice.expect("it is the first")
}

#[test]
fn finds_sessions_by_their_content() {
    let stage = Stage::new();
    assert_eq!(stage.sessions(), []);
    stage.session("any-name/b.jsonl", 2, "mine", "Hi");
    stage.session("any-name/a.jsonl", 3, "mine", "Hi");
    stage.session("any-name/c.jsonl", 1, "other", "Hi");
    stage.session("another/d.jsonl", 1, "mine", "Hi");
    stage.session("another/agent-1.jsonl", 4, "mine", "Hi");
    stage.session("another/d/subagents/agent-2.jsonl", 5, "mine", "Hi");
    stage.file("another/notes.md", 1, b"text");
    stage.file("another/empty.jsonl", 1, b"");
    stage.file("another/broken.jsonl", 1, b"{\"cwd\":");
    symlink(stage.path("mine"), stage.path("link")).expect("a link");
    stage.session("linked/e.jsonl", 6, "link", "Hi");
    let direct = ["another/d.jsonl", "any-name/b.jsonl", "any-name/a.jsonl", "another/agent-1.jsonl"];
    let others = ["another/d/subagents/agent-2.jsonl", "linked/e.jsonl"];
    assert_eq!(stage.names(&stage.sessions()), [&direct[..], &others].concat());

    let in_folder = |name: &str| folder_sessions(&stage.path(name)).expect("it can be read");
    let names = stage.names(&in_folder("config/projects/any-name"));
    assert_eq!(names, ["any-name/c.jsonl", "any-name/b.jsonl", "any-name/a.jsonl"]);
    assert_eq!(in_folder("nowhere"), []);
}

fn default_filter() -> SessionFilter {
    let (limit, since) = (None, None);
    SessionFilter { limit, newest_first: false, since, force: false, skip_sub_agents: true, bytes_max: 2_000 }
}

fn planned(stage: &Stage, filter: &SessionFilter, learning: Option<&LearningDb>) -> String {
    let estimator = Estimator {
        prices: Prices::bundled(),
        model: MODEL,
        prompt_tokens_max: 100_000,
        playbook_tokens: 50,
    };
    let plan =
        plan(stage.sessions(), filter, &stage.state(), learning, &estimator).expect("the plan can be made");
    let name = |session: &PastSession| stage.name(&session.path);
    let learns = plan.included.iter().map(|planned| format!("learn {}\n", name(&planned.session)));
    let passes = plan.skipped.iter().map(|(session, reason)| format!("pass {}: {reason}\n", name(session)));
    learns.chain(passes).collect()
}

#[test]
fn plans_sessions_and_reasons_for_skipping() {
    let stage = Stage::new();
    let check = |filter: &SessionFilter, expected: Expect| expected.assert_eq(&planned(&stage, filter, None));
    stage.session("p/1.jsonl", 1, "mine", "Hi");
    stage.session("p/2.jsonl", 2, "mine", "Hi");
    stage.session("p/3.jsonl", 3, "mine", &"long ".repeat(1_000));
    stage.session("p/4.jsonl", 4, "mine", "");
    stage.session("p/agent-5.jsonl", 5, "mine", "Hi");
    stage.session("p/6.jsonl", 6, "mine", "Hi");
    let state =
        || stage.state().record_learned(&stage.path("config/projects/p/2.jsonl"), "2026-11-23T00:30:00", 7);
    state().expect("it can be written");
    check(
        &default_filter(),
        expect![[r#"
        learn p/1.jsonl
        learn p/6.jsonl
        pass p/2.jsonl: it was learned at 2026-11-23T00:30:00
        pass p/3.jsonl: it is too large: 0.0 MB
        pass p/4.jsonl: it contains no messages
        pass p/agent-5.jsonl: it belongs to a sub-agent
    "#]],
    );
    check(
        &SessionFilter { force: true, newest_first: true, limit: Some(2), ..default_filter() },
        expect![[r#"
        learn p/6.jsonl
        learn p/2.jsonl
        pass p/agent-5.jsonl: it belongs to a sub-agent
        pass p/4.jsonl: it contains no messages
        pass p/3.jsonl: it is too large: 0.0 MB
        pass p/1.jsonl: it is beyond the limit
    "#]],
    );
    check(
        &SessionFilter {
            since: Some(Moment(86_400_000 * 3)),
            skip_sub_agents: false,
            bytes_max: 10_000,
            ..default_filter()
        },
        expect![[r#"
            learn p/3.jsonl
            learn p/agent-5.jsonl
            learn p/6.jsonl
            pass p/1.jsonl: it is older than requested
            pass p/2.jsonl: it was learned at 2026-11-23T00:30:00
            pass p/4.jsonl: it contains no messages
        "#]],
    );
}

#[test]
fn plan_skips_judged_but_not_queued_sessions() {
    let stage = Stage::new();
    stage.session("p/1.jsonl", 1, "mine", "Hi");
    let (mut learning, queued) = (stage.learning(), stage.queued("p/1.jsonl"));
    learning.enqueue(Moment(1), &queued).expect("it is queued");
    assert_eq!(planned(&stage, &default_filter(), Some(&learning)), "learn p/1.jsonl\n");
    let item = due_item(&learning, &queued);
    let slice = start_slice(&mut learning, &item);
    assert_eq!(planned(&stage, &default_filter(), Some(&learning)), "learn p/1.jsonl\n");
    let learned = LearnResult::Learned;
    learning.finish_slice(&item, &slice, Moment(4), learned, "1 new").expect("it can be written");
    assert_eq!(planned(&stage, &default_filter(), Some(&learning)), "pass p/1.jsonl: all of it was judged\n");
    assert_eq!(result_of(&learning, &queued).expect("it can be read"), Some(LearnResult::Learned));
}

#[test]
fn reports_result_without_slice() {
    let stage = Stage::new();
    let mut learning = stage.learning();
    let mut check = |reason: &str, expected: LearnResult| {
        let queued = stage.queued("gone.jsonl");
        // A hook has queued it before.
        let by_hook = Queued { event: QueuedEvent::SessionEnd, ..queued.clone() };
        learning.enqueue(Moment(1), &by_hook).expect("it is queued");
        learning.enqueue(Moment(1), &queued).expect("it is queued");
        assert_eq!(result_of(&learning, &queued).expect("it can be read"), None);
        let item = due_item(&learning, &queued);
        learning.finish(&item, Moment(3), expected, reason).expect("it can be written");
        assert_eq!(result_of(&learning, &queued).expect("it can be read"), Some(expected));
    };
    check("cannot read gone.jsonl: there is no such file", LearnResult::Failed);
    check("it contains nothing new", LearnResult::Empty);
}

#[test]
fn cost_is_that_of_given_transcripts() {
    let stage = Stage::new();
    let mut learning = stage.learning();
    let queued = ["p/1.jsonl", "p/2.jsonl"].map(|name| {
        stage.session(name, 1, "mine", "Hi");
        stage.queued(name)
    });
    for (queued, cost) in queued.iter().zip([7, 50]) {
        learning.enqueue(Moment(1), queued).expect("it is queued");
        let item = due_item(&learning, queued);
        let slice = start_slice(&mut learning, &item);
        let (text, model) = (String::new(), MODEL.to_owned());
        let reply = JudgeReply { text, model, tokens: Tokens::default(), cost: Some(Usd(cost)) };
        let request = JudgeRequest {
            at: Moment(5),
            project: &queued.project,
            slice: Some(slice.id),
            question: JudgeQuestion::Reflector,
            judge: JudgeKind::Api,
            model: MODEL,
            prompt: 0,
            result: Ok(&reply),
        };
        learning.record_request(&request).expect("it can be written");
    }
    let spent = |at: u64, queued: &[Queued]| {
        let transcripts = queued.iter().map(|queued| queued.transcript.as_path());
        spent_since(&learning, Moment(at), transcripts).expect("it can be read")
    };
    assert_eq!((spent(5, &queued[..1]), spent(5, &queued)), (Usd(7), Usd(57)));
    assert_eq!((spent(6, &queued), spent(5, &[])), (Usd(0), Usd(0)));
}

#[test]
fn names_unreadable_files_and_folders() {
    let stage = Stage::new();
    let path = |name: &str| stage.path("config/projects").join(name);
    stage.session("p/1.jsonl", 1, "mine", "Hi");
    stage.session("p/gone.jsonl", 1, "mine", "Hi");
    fs::remove_file(path("p/gone.jsonl")).expect("it was there");
    symlink(path("p/gone.jsonl"), path("p/dangling.jsonl")).expect("a link");
    for name in ["loop", "p/loop.jsonl", "p/loop"] {
        symlink(path(name), path(name)).expect("a link");
    }
    fs::create_dir(path("p/1")).expect("the stage can be written");
    symlink(path("p/1/subagents"), path("p/1/subagents")).expect("a link");
    let made = Command::new("mkfifo").arg(path("p/pipe.jsonl")).status().expect("there is mkfifo");
    assert!(made.success());
    let foreign = OsStr::from_bytes(b"\xff.jsonl");
    fs::copy(path("p/1.jsonl"), path("p").join(foreign)).expect("the stage can be written");
    let mut planned: Vec<String> = planned(&stage, &default_filter(), None)
        .lines()
        .map(|line| line.split(" (os error").next().unwrap_or_default().to_owned() + "\n")
        .collect();
    planned.sort();
    expect![[r#"
        learn p/1.jsonl
        pass loop: it cannot be read: Too many levels of symbolic links
        pass p/1/subagents: it cannot be read: Too many levels of symbolic links
        pass p/loop.jsonl: it cannot be read: Too many levels of symbolic links
        pass p/pipe.jsonl: it cannot be read: this is a pipe or a device, not a regular file
        pass p/�.jsonl: it cannot be read: its path is not valid UTF-8
    "#]]
    .assert_eq(&planned.concat());
}

#[test]
fn state_has_format_of_ace_hooks() {
    let stage = Stage::new();
    let path = stage.path("mine/.claude/bootstrap_state.json");
    fs::create_dir(stage.path("mine/.claude")).expect("the stage can be written");
    fs::write(
        &path,
        r#"{"version": "1.0", "mine": 1, "processed_sessions": {"/a.jsonl": {"processed_at": "then"}}}"#,
    )
    .expect("the stage can be written");
    let mut state = stage.state();
    assert_eq!(state.learned_at(Path::new("/a.jsonl")), Some("then"));
    assert_eq!(state.learned_at(Path::new("/b.jsonl")), None);
    state.record_learned(Path::new("/b.jsonl"), "2026-11-23T00:30:00.123456", 12).expect("it can be written");
    let text = fs::read_to_string(&path).expect("it was written");
    expect![[r#"
        {
          "mine": 1,
          "processed_sessions": {
            "/a.jsonl": {
              "processed_at": "then"
            },
            "/b.jsonl": {
              "key_points_after": 12,
              "processed_at": "2026-11-23T00:30:00.123456"
            }
          },
          "version": "1.0"
        }"#]]
    .assert_eq(&text);
    assert_eq!(stage.state(), state);

    for broken in ["", "[]", "{", "{\"processed_sessions\": []}"] {
        fs::write(&path, broken).expect("the stage can be written");
        let error = BootstrapState::read(&stage.path("mine")).expect_err(broken);
        assert!(error.hint.starts_with("move it away"), "{error}");
    }
}

#[test]
fn estimate_grows_with_length() {
    let excerpt = |bytes: usize| {
        let row = json!({ "type": "user", "message": { "role": "user", "content": "x".repeat(bytes) } });
        Excerpt::new(row.to_string().as_bytes(), |_| false).expect("it is a transcript")
    };
    let estimate = |bytes: usize| {
        let estimator = Estimator {
            prices: Prices::bundled(),
            model: MODEL,
            prompt_tokens_max: 100_000,
            playbook_tokens: 50,
        };
        let estimate = estimator.estimate(&excerpt(bytes));
        let cost = estimate.cost.map(|cost| cost.to_string());
        format!("{} questions, {} tokens, {cost:?}\n", estimate.questions, estimate.tokens.total())
    };
    expect![[r#"
        0 questions, 0 tokens, Some("$0")
        2 questions, 5208 tokens, Some("$0.0336")
        3 questions, 106958 tokens, Some("$0.3497")
        9 questions, 815850 tokens, Some("$2.54")
    "#]]
    .assert_eq(&[0, 4_000, 400_000, 40_000_000].map(estimate).concat());
    let prices = Prices::bundled();
    let unpriced = Estimator { prices, model: "a stranger", prompt_tokens_max: 100_000, playbook_tokens: 50 };
    assert_eq!(unpriced.estimate(&excerpt(100)).cost, None);
}

#[test]
fn reads_settings_from_environment() {
    let settings = |set: &[(&str, &str)]| {
        BootstrapSettings::from_variables(|name| {
            set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
        })
    };
    let defaults = BootstrapSettings {
        transcript_dir: None,
        skip_sub_agents: true,
        delay: Span::from_secs(2),
        bytes_max: 5 * 1024 * 1024,
    };
    assert_eq!(settings(&[]), Ok(defaults.clone()));
    assert_eq!(settings(&[("AGENTIC_CONTEXT_BOOTSTRAP_DELAY", " ")]), Ok(defaults));
    let set = settings(&[
        ("AGENTIC_CONTEXT_TRANSCRIPT_DIR", "/t"),
        ("AGENTIC_CONTEXT_BOOTSTRAP_SKIP_SUBAGENTS", "False"),
        ("AGENTIC_CONTEXT_BOOTSTRAP_DELAY", "0.25"),
        ("AGENTIC_CONTEXT_MAX_TRANSCRIPT_MB", "0.5"),
    ]);
    let expected = BootstrapSettings {
        transcript_dir: Some("/t".into()),
        skip_sub_agents: false,
        delay: Span(250),
        bytes_max: 512 * 1024,
    };
    assert_eq!(set, Ok(expected));
    for wrong in ["-1", "many", "NaN", "inf"] {
        let error = settings(&[("AGENTIC_CONTEXT_BOOTSTRAP_DELAY", wrong)]).expect_err(wrong);
        let message =
            format!("AGENTIC_CONTEXT_BOOTSTRAP_DELAY is `{wrong}`, not a number of seconds, like 2.0");
        assert_eq!(error.to_string(), message);
    }
}

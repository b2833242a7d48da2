use super::{
    BootstrapSettings, BootstrapState, Estimator, PastSession, SessionFilter, folder_sessions, plan,
    project_sessions, result_of,
};
use crate::LearningDb;
use crate::database::{JudgeKind, LearnResult, Queued, QueuedEvent};
use crate::judging::Excerpt;
use expect_test::{Expect, expect};
use longhaul_agent::Prices;
use longhaul_core::{Moment, Span};
use serde_json::json;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
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
    std::os::unix::fs::symlink(stage.path("mine"), stage.path("link")).expect("a link");
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
    let paths = crate::LearningPaths::in_home(&stage.path("home"));
    let mut learning = LearningDb::open(&paths).expect("it can be made");
    let queued = Queued {
        project: stage.path("mine"),
        session: None,
        transcript: stage.path("config/projects/p/1.jsonl"),
        event: QueuedEvent::Manual,
        reason: None,
        judge: JudgeKind::Api,
        destination: "http://127.0.0.1".to_owned(),
    };
    learning.enqueue(Moment(1), &queued).expect("it is queued");
    assert_eq!(planned(&stage, &default_filter(), Some(&learning)), "learn p/1.jsonl\n");
    let ends = fs::metadata(&queued.transcript).expect("it is there").len();
    let crate::database::NextItem::Due(item) =
        learning.next(JudgeKind::Api, &queued.destination, None, Moment(2)).expect("it can be read")
    else {
        unreachable!("it is queued")
    };
    let part = crate::database::ByteRange { start: 0, end: ends, generation: 0, fingerprint: 0, more: false };
    let slice = learning
        .start_slice(&item, Moment(3), None, part)
        .expect("it can be written")
        .expect("it is the first");
    assert_eq!(planned(&stage, &default_filter(), Some(&learning)), "learn p/1.jsonl\n");
    let learned = LearnResult::Learned;
    learning.finish_slice(&item, &slice, Moment(4), learned, "1 new").expect("it can be written");
    assert_eq!(planned(&stage, &default_filter(), Some(&learning)), "pass p/1.jsonl: all of it was judged\n");
    assert_eq!(result_of(&learning, &queued).expect("it can be read"), Some(LearnResult::Learned));
}

#[test]
fn reports_result_without_slice() {
    let stage = Stage::new();
    let paths = crate::LearningPaths::in_home(&stage.path("home"));
    let mut learning = LearningDb::open(&paths).expect("it can be made");
    let mut check = |reason: &str, expected: LearnResult| {
        let queued = Queued {
            project: stage.path("mine"),
            session: None,
            transcript: stage.path("gone.jsonl"),
            event: QueuedEvent::Manual,
            reason: None,
            judge: JudgeKind::Api,
            destination: "http://127.0.0.1".to_owned(),
        };
        learning.enqueue(Moment(1), &queued).expect("it is queued");
        assert_eq!(result_of(&learning, &queued).expect("it can be read"), None);
        let next =
            learning.next(JudgeKind::Api, &queued.destination, None, Moment(2)).expect("it can be read");
        let crate::database::NextItem::Due(item) = next else { unreachable!("it is queued") };
        learning.finish(&item, Moment(3), expected, reason).expect("it can be written");
        assert_eq!(result_of(&learning, &queued).expect("it can be read"), Some(expected));
    };
    check("cannot read gone.jsonl: there is no such file", LearnResult::Failed);
    check("it contains nothing new", LearnResult::Empty);
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
        0 questions, 0 tokens, Some("$0.0000")
        2 questions, 5208 tokens, Some("$0.0336")
        3 questions, 106958 tokens, Some("$0.3497")
        9 questions, 815850 tokens, Some("$2.5412")
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

use super::*;
use crate::database::{Queued, QueuedEvent};
use crate::judge::RequestObserver;
use crate::{JudgeError, JudgeReply, Templates};
use async_trait::async_trait;
use expect_test::{Expect, expect};
use longhaul_core::{Fault, Now, Tokens, Usd};
use serde_json::json;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

const API: &str = "http://api";
const START: Moment = Moment(1_000_000);

/// A home, a judge with scripted answers, and time that advances while the worker waits.
struct Stage {
    dir: TempDir,
    paths: LearningPaths,
    now: Mutex<Moment>,
    /// Items that are queued at a given time while the worker waits.
    later: Mutex<VecDeque<(Moment, Queued)>>,
    answers: Mutex<VecDeque<Result<&'static str, JudgeError>>>,
    prompts: Mutex<Vec<String>>,
    /// The time and the item of each event, and its description.
    events: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl Clock for Stage {
    fn now(&self) -> Now {
        let at = *self.now.lock().expect("one thread");
        Now { at, roll: u64::MAX }
    }

    async fn sleep_until(&self, at: Moment) {
        let next = self.later.lock().expect("one thread").pop_front_if(|(due_at, _)| *due_at <= at);
        next.iter().for_each(|(_, queued)| self.enqueue(queued));
        *self.now.lock().expect("one thread") = at;
    }
}

#[async_trait]
impl Judge for Stage {
    async fn ask(&self, prompt: &str, _observer: RequestObserver<'_>) -> Result<JudgeReply, JudgeError> {
        self.prompts.lock().expect("one thread").push(prompt.to_owned());
        let answer = self.answers.lock().expect("one thread").pop_front().unwrap_or(Ok("fine"));
        answer.map(|text| JudgeReply {
            text: json!({ "analysis": text, "bullet_tags": [], "operations": [] }).to_string(),
            model: "small".to_owned(),
            tokens: Tokens { input: 10, output: 2, ..Tokens::default() },
            cost: Some(Usd(7)),
        })
    }

    fn model(&self) -> &'static str {
        "small"
    }

    fn prompt_tokens_max(&self) -> u64 {
        100_000
    }
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["shop", "prompts"] {
            fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        let prompts =
            [("reflector.txt", "reflect on {transcript}"), ("curator.txt", "curate {reflector_output}")];
        for (name, text) in prompts {
            fs::write(dir.path().join("prompts").join(name), text).expect("a file");
        }
        Stage {
            paths: LearningPaths::in_home(dir.path()),
            dir,
            now: Mutex::new(START),
            later: Mutex::default(),
            answers: Mutex::default(),
            prompts: Mutex::default(),
            events: Mutex::default(),
        }
    }

    /// Returns a stage whose queue contains the session `one` with the row `a`.
    fn with_item() -> Stage {
        let stage = Stage::new();
        stage.queue("one", &["a"]);
        stage
    }

    fn answering(self, answers: impl IntoIterator<Item = Result<&'static str, JudgeError>>) -> Stage {
        self.answers.lock().expect("one thread").extend(answers);
        self
    }

    /// Writes answers of the agent. A row that starts with `?` is a prompt.
    fn transcript(&self, name: &str, rows: &[&str]) -> PathBuf {
        let path = self.dir.path().join(name);
        let row = |row: &&str| {
            let role = if row.starts_with('?') { "user" } else { "assistant" };
            let message = json!({ "role": role, "content": [{ "type": "text", "text": row }] });
            format!("{}\n", json!({ "type": role, "uuid": row, "message": message }))
        };
        fs::write(&path, rows.iter().map(row).collect::<String>()).expect("a file");
        path
    }

    fn queued(&self, name: &str) -> Queued {
        Queued {
            project: self.dir.path().join("shop"),
            session: None,
            transcript: self.dir.path().join(name),
            event: QueuedEvent::SessionEnd,
            reason: None,
            judge: JudgeKind::Api,
            destination: API.to_owned(),
        }
    }

    fn enqueue(&self, queued: &Queued) {
        let learning = LearningDb::open(&self.paths).expect("a database");
        learning.enqueue(self.now().at, queued).expect("it is queued");
    }

    fn queue(&self, name: &str, rows: &[&str]) {
        self.transcript(name, rows);
        self.enqueue(&self.queued(name));
    }

    fn work(&self, linger: bool) -> WorkerReport {
        self.try_work(None, linger).expect("it works")
    }

    fn work_on(&self, only: Option<&Path>, linger: bool) -> WorkerReport {
        self.try_work(only, linger).expect("it works")
    }

    fn try_work(&self, only: Option<&Path>, linger: bool) -> Result<WorkerReport, DatabaseError> {
        let on_event = |event: WorkerEvent<'_>| {
            let name = |item: &Item| {
                item.queued.transcript.file_name().expect("a name").to_string_lossy().into_owned()
            };
            let (item, text) = match event {
                WorkerEvent::Started(item, slice) => {
                    (name(item), format!("begins at byte {}", slice.part.start))
                }
                WorkerEvent::Reflected(item) => (name(item), "reflected".to_owned()),
                WorkerEvent::Curated(item) => (name(item), "curated".to_owned()),
                WorkerEvent::Finished(item, result, reason) => {
                    let reason = reason.replace(&self.dir.path().display().to_string(), "DIR");
                    (name(item), format!("{}: {reason}", <&str>::from(result)))
                }
                WorkerEvent::Waits(item, until, reason) => {
                    (name(item), format!("waits {}: {reason}", until.since(self.now().at)))
                }
                WorkerEvent::NeedsPerson { reason, is_news } => {
                    ("person".to_owned(), format!("news {is_news}: {reason}"))
                }
                WorkerEvent::DatabaseDamaged(path) => {
                    let name = path.file_name().expect("a name").to_string_lossy();
                    ("database".to_owned(), format!("set aside {name}"))
                }
            };
            let after = self.now().at.since(START);
            self.events.lock().expect("one thread").push((format!("{after} {item}"), text));
        };
        let rules =
            LearnRules { templates: Templates::in_dir(&self.dir.path().join("prompts")), threshold: 1.0 };
        let worker = Worker {
            paths: &self.paths,
            judge: self,
            kind: JudgeKind::Api,
            destination: API,
            transcript: only,
            rules: &rules,
            clock: self,
            linger,
            on_event: &on_event,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(worker.work())
    }

    /// Checks the events. Those of one slice, from `begins` on, share a line.
    #[track_caller]
    fn check(&self, expected: &Expect) {
        let events = std::mem::take(&mut *self.events.lock().expect("one thread"));
        let mut lines: Vec<String> = Vec::new();
        for (time_and_item, event) in events {
            match lines.last_mut() {
                Some(line) if line.starts_with(&time_and_item) && !event.starts_with("begins") => {
                    line.push_str(&format!(", {event}"));
                }
                _ => lines.push(format!("{time_and_item} {event}")),
            }
        }
        lines.push(String::new());
        expected.assert_eq(&lines.join("\n"));
    }

    fn prompts(&self) -> Vec<String> {
        std::mem::take(&mut *self.prompts.lock().expect("one thread"))
    }

    fn execute(&self, sql: &str) {
        let learning = LearningDb::open(&self.paths).expect("a database");
        learning.database.query(|db| db.execute(sql, [])).expect("it is changed");
    }

    fn query<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        let learning = LearningDb::open(&self.paths).expect("a database");
        learning.database.query(|db| db.query_row(sql, [], |row| row.get(0))).expect("an answer")
    }
}

/// Returns the question about these rows.
fn reflect_on(rows: &[&str]) -> String {
    let messages: Vec<String> =
        rows.iter().map(|row| format!(r#"{{"role":"assistant","content":"{row}"}}"#)).collect();
    format!("reflect on [\n{}\n]", messages.join(",\n"))
}

fn down(retry: RetryAdvice) -> JudgeError {
    JudgeError { fault: Fault::Overloaded, retry, message: "the API is overloaded".to_owned(), requests: 3 }
}

#[test]
fn learns_each_item_once_oldest_first() {
    let stage = Stage::new();
    stage.queue("one", &["a", "b"]);
    stage.queue("two", &["c"]);
    // The same session is queued a second time.
    stage.enqueue(&stage.queued("one"));
    let worked = stage.work(true);
    assert_eq!(worked, WorkerReport { learned: 2, empty: 1, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0, reflected, curated, learned: no new points
        0s two begins at byte 0, reflected, curated, learned: no new points
        0s one empty: it contains nothing new
    "#]]);
    assert_eq!(stage.prompts().len(), 4);
    assert_eq!(stage.work(true), WorkerReport::default());
    assert_eq!(stage.query::<i64>("SELECT count(*) FROM queue WHERE state = 'done'"), 3);
    assert_eq!(stage.query::<i64>("SELECT sum(cost) FROM judge_requests"), 28);
    // Answers contain details of the session and are deleted once it is learned.
    assert_eq!(stage.query::<i64>("SELECT count(*) FROM judge_requests WHERE answer IS NOT NULL"), 0);
    assert_eq!(stage.query::<i64>("SELECT count(coalesce(reflection, operations)) FROM slices"), 0);
}

#[test]
fn writes_diagnostics_if_project_enables_them() {
    let stage = Stage::new();
    let settings = stage.dir.path().join("shop/.claude");
    fs::create_dir_all(settings.join("diagnostic_mode")).expect("a directory");
    stage.queue("one", &["a"]);
    stage.work(false);
    let texts = fs::read_dir(settings.join("diagnostic")).expect("there are texts");
    let mut texts: Vec<String> = texts
        .map(|text| {
            let path = text.expect("it can be read").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("it can be read");
            // Omits the date, the time and the separator.
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("==="));
            format!("{}: {}\n", &name["20260101_000000_".len()..], lines.collect::<Vec<_>>().join(" | "))
        })
        .collect();
    texts.sort();
    expect![[r#"
        curator.txt: # CURATOR PROMPT | curate { |   "analysis": "fine", |   "bullet_tags": [] | } | # CURATOR RESPONSE | {"analysis":"fine","bullet_tags":[],"operations":[]}
        reflector.txt: # REFLECTOR PROMPT | reflect on [ | {"role":"assistant","content":"a"} | ] | # REFLECTOR RESPONSE | {"analysis":"fine","bullet_tags":[],"operations":[]}
    "#]]
    .assert_eq(&texts.concat());
}

#[test]
fn worker_of_one_transcript_keeps_other_items() {
    let stage = Stage::new();
    for name in ["one", "two", "three"] {
        stage.queue(name, &[name]);
    }
    let worked = stage.work_on(Some(&stage.dir.path().join("two")), false);
    assert_eq!(worked, WorkerReport { learned: 1, ..WorkerReport::default() });
    assert_eq!(stage.query::<i64>("SELECT count(*) FROM queue WHERE state = 'waiting'"), 2);
    assert_eq!(stage.work(false), WorkerReport { learned: 2, ..WorkerReport::default() });
}

#[test]
fn judges_only_new_part_of_continued_session() {
    let stage = Stage::with_item();
    stage.work(false);
    stage.queue("one", &["a", "b"]);
    stage.work(false);
    let prompts = stage.prompts();
    assert_eq!(prompts[2], reflect_on(&["b"]));
}

#[test]
fn judges_a_prompt_together_with_its_answer() {
    let stage = Stage::new();
    stage.queue("one", &["?a"]);
    assert_eq!(stage.work(false), WorkerReport { empty: 1, ..WorkerReport::default() });
    assert_eq!(stage.prompts().len(), 0);
    stage.queue("one", &["?a", "b"]);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0, empty: the agent has not answered
        0s one begins at byte 0, reflected, curated, learned: no new points
    "#]]);
    let prompts = stage.prompts();
    assert!(prompts[0].contains(r#"{"role":"user","content":"?a"}"#), "{prompts:?}");
}

#[test]
fn curator_that_was_not_asked_has_not_answered() {
    let stage = Stage::with_item().answering([Ok("")]);
    stage.work(false);
    assert_eq!(stage.prompts().len(), 1);
    stage.check(&expect![[r#"
        0s one begins at byte 0, reflected, learned: no new points
    "#]]);
}

#[test]
fn skips_rows_judged_in_another_file() {
    let stage = Stage::new();
    stage.queue("one", &["a", "b"]);
    stage.queue("fork", &["a", "b", "c"]);
    stage.queue("copy", &["b", "a"]);
    let worked = stage.work(false);
    assert_eq!((worked.learned, worked.empty), (2, 1));
    let prompts = stage.prompts();
    assert_eq!(prompts[2], reflect_on(&["c"]));
    assert_eq!(prompts.len(), 4);
}

#[test]
fn judges_new_rows_of_replaced_transcript() {
    let stage = Stage::new();
    stage.queue("one", &["a", "b", "c"]);
    stage.work(false);
    for (rows, expected) in [(&["c", "d"][..], &["d"][..]), (&["x", "y", "z", "c"], &["x", "y", "z"])] {
        stage.prompts();
        stage.queue("one", rows);
        stage.work(false);
        assert_eq!(stage.prompts()[0], reflect_on(expected));
    }
}

#[test]
fn asks_nothing_about_a_playbook_that_cannot_be_written() {
    let stage = Stage::with_item();
    fs::create_dir(stage.dir.path().join("outside")).expect("a directory");
    symlink("../outside", stage.dir.path().join("shop/.claude")).expect("a link");
    assert!(stage.work(false).due_at.is_some());
    assert_eq!(stage.prompts(), Vec::<String>::new());
    assert!(stage.query::<String>("SELECT last_result FROM queue").contains("outside the project"));
}

#[test]
fn status_reports_a_pause_only_while_transcripts_wait() {
    let stage = Stage::with_item().answering([Err(down(RetryAdvice::NeedsPerson))]);
    stage.work(false);
    let paused = || {
        let learning = LearningDb::open(&stage.paths).expect("a database");
        learning.status(START, 0).expect("a status").paused_judges.len()
    };
    assert_eq!(paused(), 1);
    stage.execute("UPDATE queue SET state = 'done'");
    assert_eq!(paused(), 0);
}

#[test]
fn retries_api_by_backoff_of_runs() {
    let stage = Stage::new().answering([
        Err(down(RetryAdvice::Later(None))),
        Err(down(RetryAdvice::Later(Some(START + Span::from_secs(30))))),
        Err(down(RetryAdvice::Later(None))),
    ]);
    stage.queue("one", &["a"]);
    stage.queue("two", &["b"]);
    let worked = stage.work(true);
    assert_eq!(worked, WorkerReport { learned: 2, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0, waits 1.2s: the API is overloaded
        2s one begins at byte 0, waits 29s: the API is overloaded
        32s one begins at byte 0, waits 5.1s: the API is overloaded
        38s one begins at byte 0, reflected, curated, learned: no new points
        38s two begins at byte 0, reflected, curated, learned: no new points
    "#]]);
    assert_eq!(stage.query::<i64>("SELECT count(*) FROM judge_requests WHERE fault = 'overloaded'"), 3);
    assert_eq!(stage.query::<i64>("SELECT count(*) FROM judge_backoff"), 0);
}

#[test]
fn reports_next_due_time_without_lingering() {
    let stage = Stage::new().answering([Err(down(RetryAdvice::Later(None)))]);
    stage.queue("one", &["a"]);
    let drawn = Preset::Default.policy().backoff.delay(0, None, u64::MAX);
    let until = START + drawn;
    assert_eq!(stage.work(false), WorkerReport { due_at: Some(until), ..WorkerReport::default() });
    assert_eq!(stage.work(false), WorkerReport { due_at: Some(until), ..WorkerReport::default() });
    assert_eq!(stage.prompts().len(), 1);
    // The user may know that the API works again.
    let mut learning = LearningDb::open(&stage.paths).expect("a database");
    learning.make_due(JudgeKind::Api, "http://other").expect("none");
    assert_eq!(stage.work(false), WorkerReport { due_at: Some(until), ..WorkerReport::default() });
    learning.make_due(JudgeKind::Api, API).expect("one");
    assert_eq!(stage.work(false), WorkerReport { learned: 1, ..WorkerReport::default() });
}

#[test]
fn limits_delay_of_api_to_one_day() {
    let stage =
        Stage::new().answering([Err(down(RetryAdvice::Later(Some(START + Span::from_hours(24 * 365)))))]);
    stage.queue("one", &["a"]);
    let waits = stage.work(false).due_at.expect("it waits").since(START);
    assert!(waits >= HINT_MAX && waits < HINT_MAX + Span::from_mins(10), "{waits}");
}

#[test]
fn lingers_one_hour_and_keeps_queue() {
    // The number of attempts in that hour does not matter.
    for until in [Some(Moment(u64::MAX / 4)), None] {
        let errors = std::iter::repeat_with(|| Err(down(RetryAdvice::Later(until))));
        let stage = Stage::new().answering(errors.take(100));
        stage.queue("one", &["a"]);
        let worked = stage.work(true);
        assert!(worked.due_at.is_some());
        assert_eq!(stage.now().at.since(START), Span::from_hours(1), "{until:?}");
        assert_eq!(stage.query::<String>("SELECT state FROM queue"), "waiting");
    }
}

#[test]
fn takes_items_queued_while_waiting() {
    let stage = Stage::new().answering([Err(down(RetryAdvice::Later(Some(START + Span::from_mins(10)))))]);
    stage.queue("one", &["a"]);
    stage.transcript("two", &["b"]);
    let other = Queued { destination: "http://other".to_owned(), ..stage.queued("two") };
    let later = [(START + Span::from_secs(5), other), (START + Span::from_secs(9), stage.queued("two"))];
    stage.later.lock().expect("one thread").extend(later);
    let worked = stage.work(true);
    assert_eq!(worked.learned, 2);
    // Items of another API are left in the queue.
    assert_eq!(
        stage.query::<String>("SELECT destination FROM queue WHERE state = 'waiting'"),
        "http://other"
    );
}

#[test]
fn reports_needs_person_once_and_keeps_queue() {
    let no_key = || JudgeError {
        fault: Fault::Auth,
        retry: RetryAdvice::NeedsPerson,
        message: "no API key is set".to_owned(),
        requests: 0,
    };
    let stage = Stage::new().answering([Err(no_key()), Err(no_key())]);
    stage.queue("one", &["a"]);
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(true).needs_person.as_deref(), Some("no API key is set"));
    assert_eq!(stage.work(true).needs_person.as_deref(), Some("no API key is set"));
    assert_eq!(stage.work(true), WorkerReport { learned: 2, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0
        0s person news true: no API key is set
        0s one begins at byte 0
        0s person news false: no API key is set
        0s one begins at byte 0, reflected, curated, learned: no new points
        0s two begins at byte 0, reflected, curated, learned: no new points
    "#]]);
}

#[test]
fn keeps_failed_items_for_manual_retry() {
    let refused = JudgeError {
        fault: Fault::BadRequest,
        retry: RetryAdvice::Never,
        message: "the API rejects it".to_owned(),
        requests: 1,
    };
    let stage = Stage::new().answering([Ok("good"), Err(refused)]);
    stage.queue("one", &["a"]);
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, failed: 1, ..WorkerReport::default() });
    let mut learning = LearningDb::open(&stage.paths).expect("a database");
    assert_eq!(learning.retry_failed(JudgeKind::Api, "http://other").expect("none"), 0);
    assert_eq!(learning.retry_failed(JudgeKind::Api, API).expect("one"), 1);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0, reflected, failed: the API rejects it
        0s two begins at byte 0, reflected, curated, learned: no new points
        0s one begins at byte 0, curated, learned: no new points
    "#]]);
    // The reflector's answer was stored.
    assert_eq!(stage.prompts().len(), 5);
}

#[test]
fn unreadable_transcript_fails() {
    let stage = Stage::new();
    stage.enqueue(&stage.queued("gone"));
    fs::create_dir(stage.dir.path().join("folder")).expect("a folder");
    stage.enqueue(&stage.queued("folder"));
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, failed: 2, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s gone failed: cannot read DIR/gone: No such file or directory (os error 2)
        0s folder failed: cannot read DIR/folder: Is a directory (os error 21)
        0s two begins at byte 0, reflected, curated, learned: no new points
    "#]]);
}

#[test]
fn allows_one_worker_at_a_time() {
    let stage = Stage::with_item();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let take =
        || runtime.block_on(WorkerLock::take(&stage.paths, API, JudgeKind::Api, &stage)).expect("a lock");
    let lock = take();
    assert!(lock.is_some() && take().is_none());
    assert!(WorkerLock::is_any_held(&stage.paths));
    assert_eq!(stage.work(true), WorkerReport { other_worker_active: true, ..WorkerReport::default() });
    drop(lock);
    assert!(!WorkerLock::is_any_held(&stage.paths));
    assert_eq!(stage.work(true).learned, 1);
}

#[test]
fn recovers_from_damaged_database() {
    let stage = Stage::with_item();
    LearningDb::open(&stage.paths).expect("a database").checkpoint().expect("the checkpoint succeeds");
    let mut bytes = fs::read(stage.paths.database()).expect("a file");
    // The first page stays intact, so that the database can be opened.
    bytes[4096..].fill(0xa5);
    fs::write(stage.paths.database(), &bytes).expect("a file");
    stage.work(false);
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(false).learned, 1);
    stage.check(&expect![[r#"
        0s database set aside learning.sqlite3.damaged-1
        0s two begins at byte 0, reflected, curated, learned: no new points
    "#]]);
}

#[test]
fn stops_on_valid_database_with_invalid_values() {
    let stage = Stage::with_item();
    stage.execute("UPDATE queue SET tries = 1 << 40");
    let error = stage.try_work(None, true).expect_err("the number of tries is invalid");
    assert!(matches!(error, DatabaseError::Damaged { .. }), "{error}");
    stage.check(&expect![[r#""#]]);
}

#[test]
fn invalid_stored_answer_fails_only_its_slice() {
    let stage = Stage::new().answering([Ok("good"), Err(down(RetryAdvice::Never))]);
    stage.queue("one", &["a"]);
    stage.work(false);
    stage.execute("UPDATE slices SET reflection = '7'");
    LearningDb::open(&stage.paths)
        .and_then(|mut learning| learning.retry_failed(JudgeKind::Api, API))
        .expect("it is tried again");
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, failed: 1, ..WorkerReport::default() });
}

#[test]
fn judges_rows_once_after_file_changes() {
    type Change = fn(&Stage);
    let check = |change: Change| {
        let stage = Stage::new().answering([Ok("good"), Err(down(RetryAdvice::Later(None)))]);
        stage.queue("one", &["a", "b"]);
        // The curator is unavailable.
        stage.work(false);
        change(&stage);
        *stage.now.lock().expect("one thread") = START + Span::from_mins(10);
        assert_eq!(stage.work(false).learned, 1);
        stage.prompts();
        // A fork of the file, and a fork of its replacement.
        stage.queue("fork", &["a", "b", "c"]);
        stage.queue("other", &["x", "y"]);
        stage.work(false);
        let prompts = stage.prompts();
        let reflected: Vec<&String> =
            prompts.iter().filter(|prompt| prompt.starts_with("reflect on ")).collect();
        assert_eq!(reflected, [&reflect_on(&["c"]), &reflect_on(&["x", "y"])]);
    };
    check(|_| {});
    check(|stage| fs::remove_file(stage.dir.path().join("one")).expect("a file"));
    check(|stage| drop(stage.transcript("one", &["x", "y"])));
}

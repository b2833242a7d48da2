use super::*;
use crate::database::{Queued, QueuedEvent};
use crate::judge::Clock;
use crate::judging::{Reflection, ReflectionResult};
use crate::{JudgeError, Reply};
use async_trait::async_trait;
use expect_test::{Expect, expect};
use longhaul_core::{Fault, Now, Tokens, Usd};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

const API: &str = "http://api";
const BEGAN: Moment = Moment(1_000_000);

/// A home, a judge whose answers are written down beforehand, and time that passes when somebody waits.
struct Stage {
    dir: TempDir,
    paths: LearningPaths,
    now: Mutex<Moment>,
    /// What happens while somebody waits, and when.
    later: Mutex<VecDeque<(Moment, Queued)>>,
    answers: Mutex<VecDeque<Result<&'static str, JudgeError>>>,
    prompts: Mutex<Vec<String>>,
    /// What the playbook says, by slice: a slice is in it once.
    playbook: Mutex<Vec<(i64, String)>>,
    happened: Mutex<Vec<String>>,
}

#[async_trait]
impl Clock for Stage {
    fn now(&self) -> Now {
        let at = *self.now.lock().expect("one thread");
        Now { at, roll: u64::MAX }
    }

    async fn sleep_until(&self, at: Moment) {
        let next = self.later.lock().expect("one thread").pop_front_if(|(when, _)| *when <= at);
        next.iter().for_each(|(_, queued)| self.enqueue(queued));
        *self.now.lock().expect("one thread") = at;
    }
}

#[async_trait]
impl Judge for Stage {
    async fn ask(&self, prompt: &str) -> Result<Reply, JudgeError> {
        self.prompts.lock().expect("one thread").push(prompt.to_owned());
        let answer = self.answers.lock().expect("one thread").pop_front().unwrap_or(Ok("fine"));
        answer.map(|text| Reply {
            text: text.to_owned(),
            model: "small".to_owned(),
            tokens: Tokens { input: 10, output: 2, ..Tokens::default() },
            cost: Some(Usd(7)),
        })
    }

    fn model(&self) -> &'static str {
        "small"
    }

    fn prompt_tokens_max(&self) -> u64 {
        1_000
    }
}

#[async_trait]
impl WorkerSteps for Stage {
    async fn reflect(
        &self,
        subject: &StepInput<'_>,
        judge: &dyn Judge,
    ) -> Result<ReflectionResult, StepError> {
        let text = String::from_utf8_lossy(subject.bytes);
        let fresh = text.lines().filter(|line| {
            let row: Value = serde_json::from_str(line).unwrap_or_default();
            row["uuid"].as_str().is_none_or(|uuid| !subject.is_judged(uuid))
        });
        let fresh: Vec<&str> = fresh.collect();
        let reply = judge.ask(&format!("reflect on {}", fresh.join(" "))).await.map_err(StepError::Judge)?;
        let reflection = Reflection { analysis: reply.text, tags: Vec::new() };
        Ok(ReflectionResult { reflection, notes: Vec::new() })
    }

    async fn curate(
        &self,
        _subject: &StepInput<'_>,
        reflection: &Reflection,
        judge: &dyn Judge,
    ) -> Result<Vec<Value>, StepError> {
        let prompt = format!("curate {}", reflection.analysis);
        let reply = judge.ask(&prompt).await.map_err(StepError::Judge)?;
        Ok(vec![json!(reply.text)])
    }

    fn learn(
        &self,
        _learning: &mut LearningDb,
        subject: &StepInput<'_>,
        reflection: &Reflection,
        operations: &[Value],
    ) -> Result<String, StepError> {
        let mut playbook = self.playbook.lock().expect("one thread");
        if playbook.iter().all(|(slice, _)| *slice != subject.slice) {
            playbook.push((subject.slice, format!("{} {}", reflection.analysis, operations[0])));
        }
        Ok("one point more".to_owned())
    }
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Stage {
            paths: LearningPaths::in_home(dir.path()),
            dir,
            now: Mutex::new(BEGAN),
            later: Mutex::default(),
            answers: Mutex::default(),
            prompts: Mutex::default(),
            playbook: Mutex::default(),
            happened: Mutex::default(),
        }
    }

    fn answering(self, answers: impl IntoIterator<Item = Result<&'static str, JudgeError>>) -> Stage {
        self.answers.lock().expect("one thread").extend(answers);
        self
    }

    fn transcript(&self, name: &str, rows: &[&str]) -> PathBuf {
        let path = self.dir.path().join(name);
        let rows: String = rows.iter().map(|row| format!("{}\n", json!({ "uuid": row }))).collect();
        fs::write(&path, rows).expect("a file");
        path
    }

    fn queued(&self, name: &str) -> Queued {
        Queued {
            project: "/home/demo/shop".into(),
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

    fn work(&self, stays: bool) -> WorkerReport {
        self.try_to_work(None, stays).expect("it works")
    }

    fn work_on(&self, only: Option<&Path>, stays: bool) -> WorkerReport {
        self.try_to_work(only, stays).expect("it works")
    }

    fn try_to_work(&self, only: Option<&Path>, stays: bool) -> Result<WorkerReport, LearningError> {
        let told = |happening: WorkerEvent<'_>| {
            let name = |item: &Item| {
                item.queued.transcript.file_name().expect("a name").to_string_lossy().into_owned()
            };
            let after = self.now().at.since(BEGAN);
            self.happened.lock().expect("one thread").push(match happening {
                WorkerEvent::Began(item, slice) => {
                    format!("{after} {} begins at byte {}", name(item), slice.part.begins)
                }
                WorkerEvent::Reflected(item) => format!("{after} {} reflected", name(item)),
                WorkerEvent::Curated(item) => format!("{after} {} curated", name(item)),
                WorkerEvent::Learned(item, what) => format!("{after} {} learnt: {what}", name(item)),
                WorkerEvent::Empty(item, why) => format!("{after} {} empty: {why}", name(item)),
                WorkerEvent::Failed(item, why) => {
                    let why = why.replace(&self.dir.path().display().to_string(), "DIR");
                    format!("{after} {} failed: {why}", name(item))
                }
                WorkerEvent::Waits(item, until, why) => {
                    format!("{after} {} waits {}: {why}", name(item), until.since(self.now().at))
                }
                WorkerEvent::NeedsPerson { reason: why, is_news } => {
                    format!("{after} person, news {is_news}: {why}")
                }
                WorkerEvent::SetAside(path) => {
                    format!("{after} set aside {}", path.file_name().expect("a name").to_string_lossy())
                }
            });
        };
        let worker = Worker {
            paths: &self.paths,
            judge: self,
            kind: JudgeKind::Api,
            destination: API,
            only,
            steps: self,
            clock: self,
            linger: stays,
            on_event: &told,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(worker.work())
    }

    /// What happened since the last look.
    #[track_caller]
    fn check(&self, expected: &Expect) {
        expected.assert_eq(
            &std::mem::take(&mut *self.happened.lock().expect("one thread"))
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>(),
        );
    }

    fn prompts(&self) -> Vec<String> {
        std::mem::take(&mut *self.prompts.lock().expect("one thread"))
    }

    fn changes(&self, sql: &str) {
        let learning = LearningDb::open(&self.paths).expect("a database");
        learning.known(|db| db.execute(sql, [])).expect("it is changed");
    }

    fn asks<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        let learning = LearningDb::open(&self.paths).expect("a database");
        learning.known(|db| db.query_row(sql, [], |row| row.get(0))).expect("an answer")
    }
}

fn down(then: RetryAdvice) -> JudgeError {
    JudgeError {
        fault: Fault::Overloaded,
        retry: then,
        message: "the API is overloaded".to_owned(),
        requests: 3,
    }
}

#[test]
fn everything_that_is_queued_is_learnt_once_the_oldest_first() {
    let stage = Stage::new();
    stage.queue("one", &["a", "b"]);
    stage.queue("two", &["c"]);
    // The same session said twice that there is something.
    stage.enqueue(&stage.queued("one"));
    let worked = stage.work(true);
    assert_eq!(worked, WorkerReport { learned: 2, empty: 1, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0
        0s one reflected
        0s one curated
        0s one learnt: one point more
        0s two begins at byte 0
        0s two reflected
        0s two curated
        0s two learnt: one point more
        0s one empty: nothing was new in it
    "#]]);
    assert_eq!(stage.prompts().len(), 4);
    assert_eq!(stage.work(true), WorkerReport::default());
    assert_eq!(stage.asks::<i64>("SELECT count(*) FROM queue WHERE state = 'done'"), 3);
    assert_eq!(stage.asks::<i64>("SELECT sum(cost) FROM judge_requests"), 28);
    // What tells of a session goes when it is learnt.
    assert_eq!(stage.asks::<i64>("SELECT count(*) FROM judge_requests WHERE answer IS NOT NULL"), 0);
    assert_eq!(stage.asks::<i64>("SELECT count(coalesce(reflection, operations)) FROM slices"), 0);
}

#[test]
fn a_project_that_asks_for_texts_has_what_its_judges_were_asked() {
    let stage = Stage::new();
    let project = stage.dir.path().join("shop");
    fs::create_dir_all(project.join(".claude/diagnostic_mode")).expect("a directory");
    stage.transcript("one", &["a"]);
    stage.enqueue(&Queued { project: project.clone(), ..stage.queued("one") });
    stage.work(false);
    let texts = fs::read_dir(project.join(".claude/diagnostic")).expect("there are texts");
    let mut texts: Vec<String> = texts
        .map(|text| {
            let path = text.expect("it can be read").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("it can be read");
            // But for the date, the time, and the rule between both.
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("==="));
            format!("{}: {}\n", &name["20260101_000000_".len()..], lines.collect::<Vec<_>>().join(" | "))
        })
        .collect();
    texts.sort();
    expect![[r#"
        curator.txt: # CURATOR PROMPT | curate fine | # CURATOR RESPONSE | fine
        reflector.txt: # REFLECTOR PROMPT | reflect on {"uuid":"a"} | # REFLECTOR RESPONSE | fine
    "#]]
    .assert_eq(&texts.concat());
}

#[test]
fn a_worker_of_one_transcript_leaves_the_others() {
    let stage = Stage::new();
    for name in ["one", "two", "three"] {
        stage.queue(name, &[name]);
    }
    let worked = stage.work_on(Some(&stage.dir.path().join("two")), false);
    assert_eq!(worked, WorkerReport { learned: 1, ..WorkerReport::default() });
    assert_eq!(stage.asks::<i64>("SELECT count(*) FROM queue WHERE state = 'waiting'"), 2);
    assert_eq!(stage.work(false), WorkerReport { learned: 2, ..WorkerReport::default() });
}

#[test]
fn a_session_that_goes_on_is_judged_from_where_it_was() {
    let stage = Stage::new();
    stage.queue("one", &["a"]);
    stage.work(false);
    stage.queue("one", &["a", "b"]);
    stage.work(false);
    let prompts = stage.prompts();
    assert_eq!(prompts[2], r#"reflect on {"uuid":"b"}"#);
}

#[test]
fn rows_that_were_judged_elsewhere_are_left_out() {
    let stage = Stage::new();
    stage.queue("one", &["a", "b"]);
    stage.queue("fork", &["a", "b", "c"]);
    stage.queue("copy", &["b", "a"]);
    let worked = stage.work(false);
    assert_eq!((worked.learned, worked.empty), (2, 1));
    let prompts = stage.prompts();
    assert_eq!(prompts[2], r#"reflect on {"uuid":"c"}"#);
    assert_eq!(prompts.len(), 4);
}

#[test]
fn a_transcript_that_was_replaced_is_judged_by_its_rows() {
    let stage = Stage::new();
    stage.queue("one", &["a", "b", "c"]);
    stage.work(false);
    for (rows, expected) in [
        (&["c", "d"][..], r#"{"uuid":"d"}"#),
        (&["x", "y", "z", "c"], r#"{"uuid":"x"} {"uuid":"y"} {"uuid":"z"}"#),
    ] {
        stage.prompts();
        stage.queue("one", rows);
        stage.work(false);
        assert_eq!(stage.prompts()[0], format!("reflect on {expected}"));
    }
}

#[test]
fn an_api_that_is_down_is_asked_again_by_the_schedule_of_runs() {
    let stage = Stage::new().answering([
        Err(down(RetryAdvice::Later(None))),
        Err(down(RetryAdvice::Later(Some(BEGAN + Span::from_secs(30))))),
        Err(down(RetryAdvice::Later(None))),
    ]);
    stage.queue("one", &["a"]);
    stage.queue("two", &["b"]);
    let worked = stage.work(true);
    assert_eq!(worked, WorkerReport { learned: 2, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0
        0s one waits 1.2s: the API is overloaded
        2s one begins at byte 0
        2s one waits 29s: the API is overloaded
        32s one begins at byte 0
        32s one waits 5.1s: the API is overloaded
        38s one begins at byte 0
        38s one reflected
        38s one curated
        38s one learnt: one point more
        38s two begins at byte 0
        38s two reflected
        38s two curated
        38s two learnt: one point more
    "#]]);
    assert_eq!(stage.asks::<i64>("SELECT count(*) FROM judge_requests WHERE fault = 'overloaded'"), 3);
    assert_eq!(stage.asks::<i64>("SELECT count(*) FROM judge_backoff"), 0);
}

#[test]
fn who_does_not_stay_says_when_to_come_back() {
    let stage = Stage::new().answering([Err(down(RetryAdvice::Later(None)))]);
    stage.queue("one", &["a"]);
    let drawn = Preset::Default.policy().backoff.delay(0, None, u64::MAX);
    let until = BEGAN + drawn;
    assert_eq!(stage.work(false), WorkerReport { waits: Some(until), ..WorkerReport::default() });
    assert_eq!(stage.work(false), WorkerReport { waits: Some(until), ..WorkerReport::default() });
    assert_eq!(stage.prompts().len(), 1);
    // A person may know better.
    let mut learning = LearningDb::open(&stage.paths).expect("a database");
    learning.make_due(JudgeKind::Api, "http://other").expect("none");
    assert_eq!(stage.work(false), WorkerReport { waits: Some(until), ..WorkerReport::default() });
    learning.make_due(JudgeKind::Api, API).expect("one");
    assert_eq!(stage.work(false), WorkerReport { learned: 1, ..WorkerReport::default() });
}

#[test]
fn no_api_silences_its_queue_for_longer_than_a_day() {
    let stage =
        Stage::new().answering([Err(down(RetryAdvice::Later(Some(BEGAN + Span::from_hours(24 * 365)))))]);
    stage.queue("one", &["a"]);
    let waits = stage.work(false).waits.expect("it waits").since(BEGAN);
    assert!(waits >= HINT_MAX && waits < HINT_MAX + Span::from_mins(10), "{waits}");
}

#[test]
fn it_stays_for_an_hour_and_the_queue_stays_longer() {
    // However often it is tried in that hour.
    for until in [Some(Moment(u64::MAX / 4)), None] {
        let forever = std::iter::repeat_with(|| Err(down(RetryAdvice::Later(until))));
        let stage = Stage::new().answering(forever.take(100));
        stage.queue("one", &["a"]);
        let worked = stage.work(true);
        assert!(worked.waits.is_some());
        assert_eq!(stage.now().at.since(BEGAN), Span::from_hours(1), "{until:?}");
        assert_eq!(stage.asks::<String>("SELECT state FROM queue"), "waiting");
    }
}

#[test]
fn what_is_queued_while_it_waits_is_taken_when_it_comes() {
    let stage = Stage::new().answering([Err(down(RetryAdvice::Later(Some(BEGAN + Span::from_mins(10)))))]);
    stage.queue("one", &["a"]);
    stage.transcript("two", &["b"]);
    let other = Queued { destination: "http://other".to_owned(), ..stage.queued("two") };
    let later = [(BEGAN + Span::from_secs(5), other), (BEGAN + Span::from_secs(9), stage.queued("two"))];
    stage.later.lock().expect("one thread").extend(later);
    let worked = stage.work(true);
    assert_eq!(worked.learned, 2);
    // What is for another API is not for this judge.
    assert_eq!(stage.asks::<String>("SELECT destination FROM queue WHERE state = 'waiting'"), "http://other");
}

#[test]
fn what_a_person_must_change_is_said_once_and_the_queue_is_kept() {
    let no_key = || JudgeError {
        fault: Fault::Auth,
        retry: RetryAdvice::NeedsPerson,
        message: "no API key is set".to_owned(),
        requests: 0,
    };
    let stage = Stage::new().answering([Err(no_key()), Err(no_key())]);
    stage.queue("one", &["a"]);
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(true).person.as_deref(), Some("no API key is set"));
    assert_eq!(stage.work(true).person.as_deref(), Some("no API key is set"));
    assert_eq!(stage.work(true), WorkerReport { learned: 2, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0
        0s person, news true: no API key is set
        0s one begins at byte 0
        0s person, news false: no API key is set
        0s one begins at byte 0
        0s one reflected
        0s one curated
        0s one learnt: one point more
        0s two begins at byte 0
        0s two reflected
        0s two curated
        0s two learnt: one point more
    "#]]);
}

#[test]
fn what_will_never_be_answered_is_kept_and_tried_again_by_hand() {
    let refused = JudgeError {
        fault: Fault::BadRequest,
        retry: RetryAdvice::Never,
        message: "the API will not have it".to_owned(),
        requests: 1,
    };
    let stage = Stage::new().answering([Ok("good"), Err(refused)]);
    stage.queue("one", &["a"]);
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, failed: 1, ..WorkerReport::default() });
    let mut learning = LearningDb::open(&stage.paths).expect("a database");
    assert_eq!(learning.try_failed_again(JudgeKind::Api, "http://other").expect("none"), 0);
    assert_eq!(learning.try_failed_again(JudgeKind::Api, API).expect("one"), 1);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s one begins at byte 0
        0s one reflected
        0s one failed: the API will not have it
        0s two begins at byte 0
        0s two reflected
        0s two curated
        0s two learnt: one point more
        0s one begins at byte 0
        0s one curated
        0s one learnt: one point more
    "#]]);
    // The reflector's answer was there.
    assert_eq!(stage.prompts().len(), 5);
}

#[test]
fn what_cannot_be_read_fails_and_is_kept() {
    let stage = Stage::new();
    stage.enqueue(&stage.queued("gone"));
    fs::create_dir(stage.dir.path().join("folder")).expect("a folder");
    stage.enqueue(&stage.queued("folder"));
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, failed: 2, ..WorkerReport::default() });
    stage.check(&expect![[r#"
        0s gone failed: read DIR/gone: No such file or directory (os error 2)
        0s folder failed: read DIR/folder: it is no file
        0s two begins at byte 0
        0s two reflected
        0s two curated
        0s two learnt: one point more
    "#]]);
}

#[test]
fn one_worker_at_a_time() {
    let stage = Stage::new();
    stage.queue("one", &["a"]);
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
fn a_damaged_database_keeps_nobody_from_learning() {
    let stage = Stage::new();
    stage.queue("one", &["a"]);
    LearningDb::open(&stage.paths).expect("a database").checkpoint().expect("it is tidied");
    let mut bytes = fs::read(stage.paths.database()).expect("a file");
    // Behind the first page: it can be opened.
    bytes[4096..].fill(0xa5);
    fs::write(stage.paths.database(), &bytes).expect("a file");
    stage.work(false);
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(false).learned, 1);
    stage.check(&expect![[r#"
        0s set aside learning.sqlite3.damaged-1
        0s two begins at byte 0
        0s two reflected
        0s two curated
        0s two learnt: one point more
    "#]]);
}

#[test]
fn a_database_that_is_whole_but_not_understood_stops_a_worker() {
    let stage = Stage::new();
    stage.queue("one", &["a"]);
    stage.changes("UPDATE queue SET tries = 1 << 40");
    let error = stage.try_to_work(None, true).expect_err("it is no number of tries");
    assert!(matches!(error, LearningError::Damaged { .. }), "{error}");
    stage.check(&expect![[r#""#]]);
}

#[test]
fn an_answer_of_another_form_is_the_matter_of_its_slice() {
    let stage = Stage::new().answering([Ok("good"), Err(down(RetryAdvice::Never))]);
    stage.queue("one", &["a"]);
    stage.work(false);
    stage.changes("UPDATE slices SET reflection = '7'");
    LearningDb::open(&stage.paths)
        .and_then(|mut learning| learning.try_failed_again(JudgeKind::Api, API))
        .expect("it is tried again");
    stage.queue("two", &["b"]);
    assert_eq!(stage.work(false), WorkerReport { learned: 1, failed: 1, ..WorkerReport::default() });
}

#[test]
fn rows_are_judged_once_whatever_becomes_of_their_file() {
    type Change = fn(&Stage);
    let check = |change: Change, expected: &[&str]| {
        let stage = Stage::new().answering([Ok("good"), Err(down(RetryAdvice::Later(None)))]);
        stage.queue("one", &["a", "b"]);
        // The curator is down.
        stage.work(false);
        change(&stage);
        *stage.now.lock().expect("one thread") = BEGAN + Span::from_mins(10);
        assert_eq!(stage.work(false).learned, 1);
        stage.prompts();
        // Forks of it, and of what took its place.
        stage.queue("fork", &["a", "b", "c"]);
        stage.queue("other", &["x", "y"]);
        stage.work(false);
        let prompts = stage.prompts();
        let reflected: Vec<&str> =
            prompts.iter().filter_map(|prompt| prompt.strip_prefix("reflect on ")).collect();
        assert_eq!(reflected, expected);
    };
    let expected = [r#"{"uuid":"c"}"#, r#"{"uuid":"x"} {"uuid":"y"}"#];
    check(|_| {}, &expected);
    check(|stage| fs::remove_file(stage.dir.path().join("one")).expect("a file"), &expected);
    check(|stage| drop(stage.transcript("one", &["x", "y"])), &expected);
}

use super::*;
use longhaul_core::{
    AfterAttempt, AgentResult, AttemptEnd, AttemptPlan, CancelSource, Continuity, Evidence, Exit, Fault,
    Outcome, OutcomeKind, ProcessId, PromptKind, Remaining, Remedy, ResumeRequest, ResumeStrategy,
    ReviewResult, SessionFileState, SessionId, SessionPlan, SettingChange, Span, StopCause, StopLevel,
    StrategyReason, SummaryResult, Usage, Usd,
};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("temporary directory")
}

fn plan(attempt: u32, session: &str) -> AttemptPlan {
    AttemptPlan {
        attempt,
        session: SessionPlan::Fork { from: SessionId::from("é\n\"\u{0}"), to: SessionId::from(session) },
        prompt: PromptKind::Continue(Fault::Overloaded),
        strategy: Some(ResumeStrategy::Fork),
        with_summary: true,
        remaining: Remaining { budget: Some(Usd(1)), turns: Some(2), time: Some(Span(3)) },
    }
}

/// Returns steps that contain most kinds of records.
fn steps() -> Vec<Vec<Record>> {
    let at = Moment(1_763_775_245_120);
    let ended = |fault: Option<Fault>, evidence, next| {
        Record::AttemptEnded(AttemptEnd {
            result: fault.is_none().then_some(AgentResult::COMPLETED),
            denied_calls: 2,
            continuity: Some(Continuity::Continued),
            evidence,
            ..AttemptEnd::new(fault, Usage { reported_cost: Usd(1_234), ..Usage::default() }, next)
        })
    };
    let retry = AfterAttempt::Attempt { at, remedy: Remedy::WaitOut, plan: plan(2, "b") };
    let cancelled = Outcome::cancelled(CancelSource::Person);
    vec![
        vec![
            Record::RunStarted,
            Record::AttemptStarted {
                plan: AttemptPlan::new(1, SessionPlan::New(SessionId::from("a")), PromptKind::Task),
            },
        ],
        vec![Record::AttemptSpawned { process: ProcessId { pid: 7, start_ticks: u64::MAX } }],
        vec![Record::SessionOpened { session: SessionId::from("a") }],
        vec![ended(Some(Fault::Unknown), Some(Box::new(Evidence::from_exit(Exit::Signal(9)))), retry)],
        vec![
            Record::Swept { stopped_processes: 2 },
            Record::Downtime { duration: Span::from_secs(9) },
            Record::ProgressMade { resets_retries: true },
        ],
        vec![
            Record::CancelRequested { source: CancelSource::Person },
            Record::StopOrdered { cause: StopCause::Cancelled, level: StopLevel::Interrupt, stall: None },
            Record::InputClosed,
        ],
        vec![Record::ResumeStrategyChosen {
            strategy: ResumeStrategy::Repair,
            reason: StrategyReason::SessionFile(SessionFileState::Damaged),
        }],
        vec![
            Record::SummaryStarted,
            Record::SummaryStopOrdered { cause: StopCause::TimedOut },
            Record::SummaryEnded {
                result: SummaryResult::Failed(Fault::AttemptTimeout),
                usage: Usage { estimated_cost: Usd(7), ..Usage::default() },
            },
        ],
        vec![
            Record::CheckStarted,
            Record::ReviewStarted { after_commands: true },
            Record::ReviewEnded {
                result: ReviewResult::NoVerdict(Fault::Overloaded),
                usage: Usage { reported_cost: Usd(7), ..Usage::default() },
                retry_at: Some(at),
            },
            Record::ReviewStarted { after_commands: false },
            Record::ReviewEnded { result: ReviewResult::Failed(2), usage: Usage::default(), retry_at: None },
        ],
        vec![Record::RunReopened {
            request: ResumeRequest::Prompt("é\n\"\u{0}".to_owned()),
            changes: vec![SettingChange {
                setting: "budget".to_owned(),
                from: "1".to_owned(),
                to: "3".to_owned(),
            }],
        }],
        vec![
            ended(None, None, AfterAttempt::Finish(cancelled)),
            Record::RunFinished {
                outcome: Outcome {
                    retry_at: Some(at),
                    ..Outcome::from_fault(OutcomeKind::RetryLater, Fault::UsageLimit)
                },
            },
        ],
    ]
}

/// Writes a journal with these steps, and returns the length of each of its prefixes of complete lines.
fn write(path: &Path, steps: &[Vec<Record>]) -> Vec<u64> {
    let mut journal = Journal::create(path).expect("journal");
    let mut lengths = vec![0];
    for (step, at) in steps.iter().zip(1..) {
        journal.append(Moment(at), step).expect("appended");
        lengths.push(fs::metadata(path).expect("metadata").len());
    }
    journal.sync().expect("synced");
    lengths
}

/// Returns the path of a journal with [`steps`], and the directory that it is in.
fn written_journal() -> (tempfile::TempDir, PathBuf) {
    let dir = dir();
    let path = dir.path().join("journal.jsonl");
    write(&path, &steps());
    (dir, path)
}

fn records(history: &LoadedJournal) -> Vec<Vec<Record>> {
    history.entries.iter().map(|entry| entry.records.clone()).collect()
}

#[test]
fn follower_ignores_removed_part_of_line() {
    let dir = dir();
    let path = dir.path().join("journal.jsonl");
    let mut journal = Journal::create(&path).expect("created");
    let [first, second] = [0, 1].map(|index| steps().swap_remove(index));
    journal.append(Moment(1), &first).expect("appended");
    let mut follower = JournalFollower::<Record>::open(&path).expect("opened");
    assert_eq!(follower.read().expect("read").len(), 1);
    let file = File::options().append(true).open(&path).expect("opened");
    let whole_bytes = file.metadata().expect("metadata").len();
    std::io::Write::write_all(&mut &file, b"{\"seq\":2,\"at\":77777,\"rec").expect("written");
    assert!(follower.read().expect("read").is_empty());
    // A write failed, because the disk was full, and the supervisor repeats it later.
    file.set_len(whole_bytes).expect("truncated");
    journal.append(Moment(2), &second).expect("appended");
    let entries = follower.read().expect("read");
    assert_eq!(entries, [JournalEntry { seq: 2, at: Moment(2), records: second }]);
}

#[test]
fn loads_written_steps() {
    let (_dir, path) = written_journal();
    let history = Journal::load(&path).expect("history");
    assert_eq!(records(&history), steps());
    assert_eq!(history.torn_bytes, 0);
    assert_eq!(history.entries[2].seq, 3);
    assert_eq!(history.entries[2].at, Moment(3));
    assert_eq!(history.records().count(), steps().concat().len());
}

#[test]
fn line_format_is_stable() {
    let dir = dir();
    let path = dir.path().join("journal.jsonl");
    write(&path, &steps()[1..2]);
    expect_test::expect![[r#"
        {"format":1,"seq":1,"at":1,"records":[{"record":"attempt_spawned","process":{"pid":7,"start_ticks":18446744073709551615}}]}
    "#]]
    .assert_eq(&fs::read_to_string(&path).expect("text"));
}

#[test]
fn truncated_journal_loads_a_prefix_and_continues() {
    let dir = dir();
    let (whole, cut) = (dir.path().join("whole"), dir.path().join("cut"));
    let steps = steps();
    let lengths = write(&whole, &steps);
    let text = fs::read(&whole).expect("text");
    for length in 0..=text.len() {
        let retained = lengths.iter().filter(|end| **end <= length as u64).count() - 1;
        for tail in [&b""[..], b"\0\0\0\0\0\0\0\0", b"\0\0\0\n"] {
            let torn = [&text[..length], tail].concat();
            let history = LoadedJournal::parse(&cut, &torn).expect("history");
            assert_eq!(records(&history), steps[..retained], "{length}");
            assert_eq!(history.torn_bytes, torn.len() as u64 - lengths[retained]);
            // Files are slow: each length is written once, with one of the tails.
            if length % 3 != tail.len() % 3 {
                continue;
            }
            fs::write(&cut, torn).expect("written");
            let (mut journal, opened) = Journal::open_append(&cut).expect("journal");
            assert_eq!(opened, history);
            journal.append(Moment(9), &steps[0]).expect("appended");
            drop(journal);
            let continued = Journal::load(&cut).expect("history");
            assert_eq!(records(&continued), [&steps[..retained], &steps[..1]].concat(), "{length}");
            assert_eq!(continued.torn_bytes, 0);
        }
    }
}

#[test]
fn empty_step_writes_nothing() {
    let dir = dir();
    let path = dir.path().join("journal.jsonl");
    let mut journal = <Journal>::create(&path).expect("journal");
    journal.append(Moment(1), &[]).expect("no write");
    journal.sync().expect("no write");
    assert_eq!(fs::metadata(&path).expect("metadata").len(), 0);
}

/// Checks the error of loading the journal of `steps()` after `change`.
fn check(change: impl Fn(&mut Vec<String>), expected: &str) {
    let (_dir, path) = written_journal();
    let text = fs::read_to_string(&path).expect("text");
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    change(&mut lines);
    fs::write(&path, lines.concat()).expect("written");
    let error = <Journal>::load(&path).expect_err("an error").to_string();
    assert_eq!(error, <Journal>::open_append(&path).expect_err("an error").to_string());
    let (head, tail) = error.split_once(": ").expect("path and cause");
    assert_eq!(head, format!("cannot read journal {}", path.display()));
    assert_eq!(tail, expected);
}

#[test]
fn damage_error_names_the_line() {
    let syntax = "line 3 is damaged: expected value at line 1 column 1";
    check(|lines| lines[2] = "\0\0\0\n".to_owned(), syntax);
    check(|lines| lines[2] = "garbage\n".to_owned(), syntax);
    let empty = "line 1 is damaged: EOF while parsing a value at line 1 column 0";
    check(|lines| lines.insert(0, "\n".to_owned()), empty);
    // Two concurrent supervisors would write this.
    let two = "line 2 is damaged: trailing characters at line 1 column 113";
    check(|lines| lines[1] = lines[1].trim_end().to_owned(), two);
    // Valid JSON on a complete line, but not a step: a crash never leaves this.
    let last = "line 7 is damaged: invalid type: null, expected a step at line 1 column 4";
    check(|lines| lines[6] = "null\n".to_owned(), last);
    check(|lines| lines[6] = "{}\n".to_owned(), "line 7 is damaged: missing field `seq` at line 1 column 2");
}

#[test]
fn detects_gaps() {
    check(|lines| drop(lines.remove(3)), "line 4 is step 5, expected 4");
    check(|lines| lines.insert(3, lines[2].clone()), "line 4 is step 3, expected 4");
    check(|lines| drop(lines.remove(0)), "line 1 is step 2, expected 1");
}

#[test]
fn detects_newer_journal() {
    let newer =
        |word: &str| format!("line 2 was written by a newer version of longhaul: unknown variant `{word}`");
    check(|lines| lines[1] = lines[1].replace("attempt_spawned", "dreamt"), &newer("dreamt"));
    check(
        |lines| {
            lines[1] = r#"{"seq":2,"at":1,"records":[{"record":"cancel_requested","at":1,"source":"cat"}]}"#
                .to_owned()
                + "\n"
        },
        &newer("cat"),
    );
}

#[test]
fn unknown_fields_are_ignored() {
    let (_dir, path) = written_journal();
    let text = fs::read_to_string(&path).expect("text");
    let text = text.replace("{\"seq\":", "{\"later\":{\"a\":[1]},\"seq\":");
    fs::write(&path, text.replace("{\"record\":", "{\"later\":null,\"record\":")).expect("written");
    assert_eq!(records(&Journal::load(&path).expect("history")), steps());
}

#[test]
fn only_one_supervisor_holds_a_journal() {
    let dir = dir();
    let path = dir.path().join("journal.jsonl");
    let journal = <Journal>::create(&path).expect("journal");
    let error = <Journal>::open_append(&path).expect_err("locked");
    assert!(matches!(error, StoreError::JournalLocked { .. }));
    <Journal>::load(&path).expect("reading needs no lock");
    // A child keeps the lock neither while it is being started, when it has a copy of the file, nor later.
    let _copy = journal.lock.0.try_clone().expect("copy");
    let mut child = Command::new("sleep").arg("60").spawn().expect("child");
    drop(journal);
    let reopened = <Journal>::open_append(&path);
    child.kill().and_then(|()| child.wait()).expect("ended");
    reopened.expect("free");
}

#[test]
fn lock_keeps_supervisors_out() {
    let dir = dir();
    let path = dir.path().join("journal.jsonl");
    drop(<Journal>::create(&path).expect("journal"));
    // Half a line, as a crash leaves it. Only the next supervisor may cut it off.
    fs::write(&path, "{\"seq\":").expect("written");
    let lock = Journal::lock(&path).expect("free");
    for error in [<Journal>::open_append(&path).map(drop), Journal::lock(&path).map(drop)] {
        assert!(matches!(error, Err(StoreError::JournalLocked { .. })), "{error:?}");
    }
    assert!(Journal::is_locked(&path).expect("the journal exists"));
    drop(lock);
    assert_eq!(fs::read_to_string(&path).expect("read"), "{\"seq\":");
    <Journal>::open_append(&path).expect("free");
}

#[test]
fn failed_write_keeps_earlier_steps() {
    let dir = dir();
    let path = dir.path().join("journal.jsonl");
    write(&path, &steps()[..1]);
    // A read-only file simulates a disk that accepts no writes.
    let mut journal = Journal::open_append(&path).expect("journal").0;
    let writable = std::mem::replace(&mut journal.lock.0, File::open(&path).expect("read-only"));
    journal.append(Moment(2), &steps()[1]).expect_err("not writable");
    // The file cannot be truncated either, so the journal stays broken even if writes succeed later.
    journal.lock.0 = writable;
    let error = journal.append(Moment(2), &steps()[1]).expect_err("broken");
    assert!(matches!(error, StoreError::JournalWriteFailed { .. }));
    assert!(matches!(journal.sync(), Err(StoreError::JournalWriteFailed { .. })));
    assert_eq!(records(&Journal::load(&path).expect("history")), steps()[..1]);
}

#[test]
fn handles_missing_and_empty_journals() {
    let dir = dir();
    let missing = dir.path().join("none");
    let error = <Journal>::load(&missing).expect_err("missing");
    assert_eq!(
        error.to_string(),
        format!("cannot read journal {}: no such file or directory", missing.display())
    );
    let error = <Journal>::open_append(&missing).expect_err("missing");
    assert_eq!(
        error.to_string(),
        format!("cannot open journal {}: no such file or directory", missing.display())
    );
    fs::write(dir.path().join("empty"), "").expect("written");
    assert_eq!(<Journal>::load(&dir.path().join("empty")).expect("history"), LoadedJournal::default());
}

prop_compose! {
    fn any_session()(text in ".{0,40}") -> SessionId { SessionId::from(text) }
}

fn any_record() -> impl Strategy<Value = Record> {
    prop_oneof![
        Just(Record::RunStarted),
        any_session().prop_map(|session| Record::SessionOpened { session }),
        (any::<u32>(), any::<u64>()).prop_map(|(pid, start_ticks)| Record::AttemptSpawned {
            process: ProcessId { pid, start_ticks }
        }),
        (any::<u32>(), any_session(), 0..Fault::ALL.len()).prop_map(|(attempt, session, fault)| {
            Record::AttemptStarted {
                plan: AttemptPlan::new(
                    attempt,
                    SessionPlan::Resume(session),
                    PromptKind::TaskAfterLoss(Fault::ALL[fault]),
                ),
            }
        }),
        (any::<u64>().prop_map(Moment), any::<i32>(), any::<u64>(), 0..Remedy::ALL.len(), any_session())
            .prop_map(|(at, code, cost, remedy, session)| {
                let usage = Usage { reported_cost: Usd(cost), ..Usage::default() };
                let (remedy, plan) = (Remedy::ALL[remedy], plan(1, session.as_str()));
                let next = AfterAttempt::Attempt { at, remedy, plan };
                let evidence = Some(Box::new(Evidence::from_exit(Exit::Code(code))));
                let end = AttemptEnd::new(Some(Fault::Unknown), usage, next);
                Record::AttemptEnded(AttemptEnd { evidence, ..end })
            }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_truncated_journal_loads_a_prefix(
        steps in prop::collection::vec(prop::collection::vec(any_record(), 1..4), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let dir = dir();
        let path = dir.path().join("journal.jsonl");
        let lengths = write(&path, &steps);
        prop_assert_eq!(records(&Journal::load(&path).expect("history")), &steps[..]);
        let length = cut.index(*lengths.last().expect("a length") as usize + 1) as u64;
        File::options().write(true).open(&path).and_then(|file| file.set_len(length)).expect("cut");
        let retained = lengths.iter().filter(|end| **end <= length).count() - 1;
        prop_assert_eq!(records(&Journal::load(&path).expect("history")), &steps[..retained]);
    }

    #[test]
    fn any_bytes_parse_or_fail(text in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(<LoadedJournal>::parse(Path::new("journal"), &text));
    }
}

#[test]
fn preserves_ids() {
    // An id is text from outside; a newline in it must not end a line.
    let dir = dir();
    let path = dir.path().join("journal.jsonl");
    let step = vec![Record::SessionOpened { session: SessionId::from("a\nb\u{2028}") }];
    write(&path, std::slice::from_ref(&step));
    assert_eq!(records(&Journal::load(&path).expect("history")), [step]);
}

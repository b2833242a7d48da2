use super::*;
use crate::plan::tests::plan;
use crate::{AttemptDir, Day, Home, ModelUsage, NewRun, RunDir};
use expect_test::expect;
use longhaul_core::{
    AfterAttempt, AttemptEnd, AttemptPlan, Fault, Moment, Outcome, OutcomeKind, Record, Remedy, ReviewResult,
    SessionPlan, Span, SummaryResult, Tokens, Usage, Usd,
};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

mod faults;
mod locations;

const WAIT: Duration = Duration::from_secs(5);
/// 2026-01-01, midnight.
const START: u64 = 1_767_225_600_000;

fn day() -> Day {
    "2026-01-01".parse().expect("a date")
}

/// Returns the moment this many seconds after the start.
fn at(seconds: u64) -> Moment {
    Moment(START + seconds * 1_000)
}

fn seconds(span: Span) -> u64 {
    span.0 / 1_000
}

fn cents(cents: u64) -> Usd {
    Usd(cents * 10_000)
}

fn usage(cost: u64) -> Usage {
    Usage {
        tokens: Tokens { input: 10, output: 20, cache_read: 30, cache_write: 40 },
        messages: 2,
        reported_cost: cents(cost),
        ..Usage::default()
    }
}

fn spawn(attempt: u32) -> AttemptPlan {
    AttemptPlan::new(attempt, SessionPlan::New("one".into()), longhaul_core::PromptKind::Task)
}

fn started(attempt: u32, seconds: u64) -> Vec<(Moment, Record)> {
    let started = (at(seconds), Record::AttemptStarted { plan: spawn(attempt) });
    if attempt == 1 { vec![(at(0), Record::RunStarted), started] } else { vec![started] }
}

fn ended(seconds: u64, fault: Option<Fault>, cost: u64, next: AfterAttempt) -> Vec<(Moment, Record)> {
    let ended = Record::AttemptEnded(AttemptEnd::new(fault, usage(cost), next));
    vec![(at(seconds), ended), (at(seconds), Record::Swept { stopped_processes: 0 })]
}

/// An attempt that fails, after which the run waits for `wait` seconds.
fn overloaded(attempt: u32, seconds: u64, wait: u64) -> Vec<(Moment, Record)> {
    let next =
        AfterAttempt::Attempt { at: at(seconds + wait), remedy: Remedy::WaitOut, plan: spawn(attempt + 1) };
    ended(seconds, Some(Fault::Overloaded), 5, next)
}

fn done() -> Outcome {
    Outcome { kind: OutcomeKind::Done, fault: None, retry_at: None, limit: None, cancelled_by: None }
}

fn finished(seconds: u64, cost: u64) -> Vec<(Moment, Record)> {
    let mut records = ended(seconds, None, cost, AfterAttempt::Finish(done()));
    records.push((at(seconds), Record::RunFinished { outcome: done() }));
    records
}

/// The records of a run that was overloaded once and then finished.
fn complete_run() -> Vec<(Moment, Record)> {
    [started(1, 0), overloaded(1, 60, 30), started(2, 95), finished(1_000, 20)].concat()
}

fn run(home: &Home, roll: u64, records: &[(Moment, Record)]) -> NewRun {
    let mut run = home.create_run(&day(), roll, &plan()).expect("a run");
    append(&mut run, records);
    run
}

fn append(run: &mut NewRun, records: &[(Moment, Record)]) {
    for (at, record) in records {
        run.journal.append(*at, std::slice::from_ref(record)).expect("an entry");
    }
}

fn open(home: &Home) -> Ledger {
    Ledger::open(home, WAIT).expect("a ledger")
}

fn up_to_date_ledger(home: &Home) -> Ledger {
    let mut ledger = open(home);
    ledger.catch_up().expect("it is brought up to date");
    ledger
}

fn all(ledger: &mut Ledger) -> Vec<LedgerRun> {
    ledger.runs(&RunFilter::default()).expect("the runs")
}

fn differences(ledger: &Ledger) -> Vec<String> {
    let mut messages = Vec::new();
    ledger.verify(|difference| messages.push(difference)).expect("it is compared");
    messages
}

#[test]
fn derives_run_from_its_records() {
    let (_dir, home) = Home::temporary();
    let NewRun { dir, .. } = run(&home, 7, &complete_run());
    let attempt = dir.attempt(2).create().expect("an attempt");
    let model_usage = |model: &str, cost| {
        ModelUsage::new(
            model.to_owned(),
            &Usage {
                tokens: Tokens { input: 5, output: 10, cache_read: 15, cache_write: 20 },
                messages: 1,
                ..usage(cost)
            },
        )
    };
    attempt.write(&vec![model_usage("large", 15), model_usage("small", 5)]).expect("it is written");
    let entry = LedgerEntry::read(&dir);
    let run = &entry.run;
    assert_eq!((run.state, run.outcome, run.fault), (RunState::Finished, Some(OutcomeKind::Done), None));
    assert_eq!((run.cost.0, run.attempts, run.tokens), (cents(25), 2, 200));
    assert_eq!((seconds(run.waiting), run.active.map(seconds)), (35, Some(965)));
    let attempts: Vec<_> = entry
        .attempts
        .iter()
        .map(|attempt| (attempt.number, attempt.fault, seconds(attempt.waited), attempt.cost))
        .collect();
    assert_eq!(attempts, [(1, Some(Fault::Overloaded), 35, cents(5)), (2, None, 0, cents(20))]);
    let spend: Vec<_> = entry
        .spend
        .iter()
        .map(|((quarter, model), spend)| (*quarter - START / 900_000, model.as_str(), spend.cost))
        .collect();
    // The first attempt has no list of models, so its usage counts for the requested model.
    let requested = plan().spec.model.unwrap_or_default();
    assert_eq!(spend, [(0, requested.as_str(), cents(5)), (1, "large", cents(15)), (1, "small", cents(5))]);

    let mut ledger = up_to_date_ledger(&home);
    let stored = ledger.entry(dir.id()).expect("it can be queried").expect("it has an entry");
    assert_eq!((&stored.run, &stored.attempts, &stored.spend), (&entry.run, &entry.attempts, &entry.spend));
    assert_eq!(all(&mut ledger), [entry.run]);
    assert_eq!(differences(&ledger), [""; 0]);
}

#[test]
fn counts_usage_of_running_attempt() {
    let (_dir, home) = Home::temporary();
    let records = complete_run();
    let is_end = |(_, record): &(Moment, Record)| matches!(record, Record::AttemptEnded(_));
    let end = records.iter().position(is_end).expect("the first attempt ends");
    let mut run = run(&home, 7, &records[..end]);
    let dir = run.dir.clone();
    let cost = |ledger: &mut Ledger| {
        ledger.catch_up().expect("it is brought up to date");
        let entry = ledger.entry(dir.id()).expect("it can be queried").expect("it has an entry");
        let spend = entry.spend.values().map(|spend| spend.cost).fold(Usd::ZERO, |sum, cost| sum + cost);
        assert_eq!(spend, entry.run.cost.0, "the list agrees with the sums");
        entry.run.cost.0
    };
    let mut ledger = up_to_date_ledger(&home);
    assert_eq!(cost(&mut ledger), Usd::ZERO);
    let attempt = dir.attempt(1).create().expect("an attempt");
    let publish = |cost| {
        let model_usage = ModelUsage::new(
            "large".to_owned(),
            &Usage { reported_cost: cents(cost), messages: 1, ..Usage::default() },
        );
        attempt.write(&vec![model_usage]).expect("it is written");
        // Two writes within one tick of the clock have the same time.
        let file =
            OpenOptions::new().write(true).open(attempt.path_of::<Vec<ModelUsage>>()).expect("it is there");
        file.set_modified(SystemTime::now() + Duration::from_secs(cost)).expect("it has a time");
    };
    publish(3);
    assert_eq!(cost(&mut ledger), cents(3));
    publish(4);
    assert_eq!(cost(&mut ledger), cents(4));
    // A supervisor after a takeover starts from the journal.
    let mut supervised = LedgerEntry::from_journal(&dir);
    append(&mut run, &records[end..=end]);
    supervised.apply(records[end].0, &records[end].1, &dir);
    let spend = supervised.spend.values().map(|spend| spend.cost).fold(Usd::ZERO, |sum, cost| sum + cost);
    assert_eq!((cost(&mut ledger), spend), (cents(5), cents(5)));
}

#[test]
fn entry_is_updated_after_the_clock_was_set_back() {
    let (_dir, home) = Home::temporary();
    let records = complete_run();
    let mut run = run(&home, 7, &records[..3]);
    let ahead = SystemTime::now() + Duration::from_secs(7_200);
    let file = OpenOptions::new().write(true).open(run.dir.journal_path()).expect("it is there");
    file.set_modified(ahead).expect("it has a time");
    let mut ledger = up_to_date_ledger(&home);
    append(&mut run, &records[3..]);
    ledger.catch_up().expect("it is brought up to date");
    let entry = ledger.entry(run.dir.id()).expect("it can be queried").expect("it has an entry");
    assert_eq!(entry.run.state, RunState::Finished);
}

#[test]
fn ignores_model_list_with_wrong_sum() {
    let (_dir, home) = Home::temporary();
    let NewRun { dir, .. } = run(&home, 7, &complete_run());
    fs::create_dir_all(dir.attempt(2).create().expect("an attempt").path()).expect("it is there");
    fs::write(dir.attempt(2).path().join("usage.json"), "[{").expect("it is written");
    let spend = LedgerEntry::read(&dir).spend;
    assert_eq!(spend.values().map(|spend| spend.cost).fold(Usd::ZERO, |sum, cost| sum + cost), cents(25));
}

/// Returns the spending by model of a run with these records.
fn spend_by_model(dir: &RunDir) -> Vec<(String, LedgerSpend)> {
    LedgerEntry::read(dir).spend.into_iter().map(|((_, model), spend)| (model, spend)).collect()
}

#[test]
fn usage_of_summaries_and_reviews_counts_for_their_models() {
    let (_dir, home) = Home::temporary();
    let mut records = started(1, 0);
    let unpriced = Usage { unpriced: true, ..usage(0) };
    let ended = (at(1), Record::SummaryEnded { result: SummaryResult::Written, usage: unpriced });
    let review = (at(3), Record::ReviewStarted { after_commands: false });
    let passed =
        (at(4), Record::ReviewEnded { result: ReviewResult::Passed, usage: unpriced, retry_at: None });
    records.extend([(at(0), Record::SummaryStarted), ended]);
    records.extend([(at(2), Record::CheckStarted), review, passed]);
    let NewRun { dir, .. } = run(&home, 7, &records);
    // Without files, the models are unknown, but the usage counts.
    let spend = |count: u64| LedgerSpend {
        unpriced: true,
        tokens: Tokens {
            input: 10 * count,
            output: 20 * count,
            cache_read: 30 * count,
            cache_write: 40 * count,
        },
        messages: 2 * count,
        ..LedgerSpend::default()
    };
    assert_eq!(spend_by_model(&dir), [(String::new(), spend(2))]);
    let write = |files: AttemptDir, model: &str| {
        let files = files.create().expect("a directory");
        files.write(&vec![ModelUsage::new(model.to_owned(), &unpriced)]).expect("it is written");
    };
    write(dir.attempt(1).summary(), "small");
    assert_eq!(spend_by_model(&dir), [(String::new(), spend(1)), ("small".to_owned(), spend(1))]);
    write(dir.review(1), "large");
    assert_eq!(spend_by_model(&dir), [("large".to_owned(), spend(1)), ("small".to_owned(), spend(1))]);
}

#[test]
fn list_of_models_that_lacks_something_counts_for_the_requested_model() {
    let (_dir, home) = Home::temporary();
    let mut records = [started(1, 0), finished(60, 5)].concat();
    for (_, record) in &mut records {
        if let Record::AttemptEnded(AttemptEnd { usage, .. }) = record {
            usage.unpriced = true;
        }
    }
    let NewRun { dir, .. } = run(&home, 7, &records);
    let attempt = dir.attempt(1).create().expect("an attempt");
    let requested = plan().spec.model.unwrap_or_default();
    let check = |listed: Usage, model: &str| {
        attempt.write(&vec![ModelUsage::new("large".to_owned(), &listed)]).expect("it is written");
        let spend = spend_by_model(&dir);
        assert_eq!(spend.len(), 1, "{spend:?}");
        assert_eq!((spend[0].0.as_str(), spend[0].1.unpriced), (model, true), "{listed:?}");
        assert_eq!((spend[0].1.cost, spend[0].1.tokens.total()), (cents(5), 100), "{listed:?}");
    };
    check(Usage { unpriced: true, ..usage(5) }, "large");
    // The disk was full, or messages are missing.
    check(usage(5), &requested);
    check(Usage { unpriced: true, tokens: Tokens::default(), ..usage(5) }, &requested);
}

#[test]
fn supervisor_and_reader_derive_the_same_entry() {
    let (_dir, home) = Home::temporary();
    let records = complete_run();
    for end in 0..=records.len() {
        let NewRun { dir, .. } = run(&home, end as u64, &records[..end]);
        let mut live = LedgerEntry::new(&dir, &plan());
        for (at, record) in &records[..end] {
            live.apply(*at, record, &dir);
        }
        live.update_rows();
        let from_files = LedgerEntry::read(&dir);
        let live = LedgerRun { journal: from_files.run.journal, ..live.run };
        assert_eq!(live, from_files.run, "after {end} records");
    }
}

#[test]
fn catches_up_with_run_directories() {
    let (_dir, home) = Home::temporary();
    let mut unfinished = run(&home, 1, &started(1, 0));
    let waiting = run(&home, 2, &[started(1, 0), overloaded(1, 60, 30)].concat());
    let mut ledger = up_to_date_ledger(&home);
    let states = |ledger: &mut Ledger| {
        let mut states: Vec<_> = all(ledger).iter().map(|run| (run.id.clone(), run.state)).collect();
        states.sort();
        states
    };
    let id = |run: &NewRun| run.dir.id().clone();
    let mut expected = vec![(id(&unfinished), RunState::Running), (id(&waiting), RunState::Waiting)];
    expected.sort();
    assert_eq!(states(&mut ledger), expected);

    // One run finishes, one is deleted, and a new one is unreadable.
    append(&mut unfinished, &finished(1_000, 20));
    fs::remove_dir_all(waiting.dir.path()).expect("it is removed");
    let broken = run(&home, 3, &started(1, 0));
    fs::write(broken.dir.journal_path(), "no journal\nat all\n").expect("it is written");
    assert_eq!(ledger.catch_up().expect("it is brought up to date"), CatchUpStats { derived: 2, removed: 1 });
    let mut expected = vec![(id(&unfinished), RunState::Finished), (id(&broken), RunState::Unreadable)];
    expected.sort();
    assert_eq!(states(&mut ledger), expected);
    assert_eq!(differences(&ledger), [""; 0]);
}

#[test]
fn absurd_usage_does_not_keep_other_runs_out() {
    let (_dir, home) = Home::temporary();
    let mut absurd = complete_run();
    for (_, record) in &mut absurd {
        if let Record::AttemptEnded(AttemptEnd { usage, .. }) = record {
            usage.tokens.input = u64::MAX;
        }
    }
    for (roll, records) in [(1, absurd.clone()), (2, absurd), (3, complete_run())] {
        run(&home, roll, &records);
    }
    let mut ledger = up_to_date_ledger(&home);
    assert_eq!(all(&mut ledger).len(), 3);
    let rows = ledger.costs_by_quarter(None).expect("the sums fit");
    assert!(!rows.is_empty());
    assert_eq!(differences(&ledger), [""; 0]);
}

#[test]
fn notices_resumed_run() {
    let (_dir, home) = Home::temporary();
    let mut one = run(&home, 1, &complete_run());
    let mut ledger = up_to_date_ledger(&home);
    let reopened = (
        at(2_000),
        Record::RunReopened { request: longhaul_core::ResumeRequest::Continue, changes: Vec::new() },
    );
    append(&mut one, &[reopened]);
    // The run is not marked as stale, but a listing compares its runs with their journals.
    let cost = |ledger: &Ledger| ledger.costs(CostBy::Agent, None).expect("the costs")[0].spend.cost;
    assert_eq!(ledger.catch_up().expect("it is brought up to date"), CatchUpStats::default());
    let reopened: Vec<_> = all(&mut ledger).iter().map(|run| run.reopen_count).collect();
    assert_eq!(reopened, [1]);
    // A process that resumes a run marks it as stale, so that sums include it.
    append(&mut one, &[started(3, 2_000), finished(3_000, 40)].concat());
    assert_eq!(cost(&ledger), cents(25));
    home.mark_stale(&one.dir).expect("it is marked");
    assert_eq!(ledger.catch_up().expect("it is brought up to date"), CatchUpStats { derived: 1, removed: 0 });
    // While the run is locked, more records may follow.
    assert_eq!(ledger.catch_up().expect("it is brought up to date"), CatchUpStats { derived: 1, removed: 0 });
    drop(one);
    assert_eq!(ledger.catch_up().expect("it is brought up to date"), CatchUpStats { derived: 1, removed: 0 });
    assert_eq!(cost(&ledger), cents(65));
    assert_eq!(ledger.catch_up().expect("it is brought up to date"), CatchUpStats::default());
}

#[test]
fn keeps_newer_entry() {
    let (_dir, home) = Home::temporary();
    let mut one = run(&home, 1, &started(1, 0));
    let old = LedgerEntry::read(&one.dir);
    append(&mut one, &finished(1_000, 20));
    let new = LedgerEntry::read(&one.dir);
    let mut ledger = open(&home);
    ledger.upsert(&new).expect("it is written");
    ledger.upsert(&old).expect("it is ignored");
    assert_eq!(all(&mut ledger), [new.run]);
}

#[test]
fn filters_runs() {
    let (_dir, home) = Home::temporary();
    let mut ids = Vec::new();
    for (roll, (name, task, cwd, records)) in [
        (Some("nightly"), "Prove the lemma", "/code/one", complete_run()),
        (None, "Fix the tests of Lemma 7", "/code/one/deep", started(1, 0)),
        (None, "Write 100% of it", "/code/one-more", [started(1, 0), overloaded(1, 60, 30)].concat()),
    ]
    .into_iter()
    .enumerate()
    {
        let mut plan = plan();
        plan.spec.name = name.map(str::to_owned);
        plan.spec.prompt = task.to_owned();
        plan.spec.cwd = cwd.into();
        plan.started_at = at(roll as u64).into();
        let mut run = home.create_run(&day(), roll as u64, &plan).expect("a run");
        append(&mut run, &records);
        ids.push(run.dir.id().clone());
    }
    let mut ledger = up_to_date_ledger(&home);
    let mut check = |filter: RunFilter, expected: &[usize]| {
        let found = ledger.runs(&filter).expect("the runs");
        let found: Vec<_> = found
            .iter()
            .map(|run| ids.iter().position(|id| *id == run.id).expect("a run of this test"))
            .collect();
        assert_eq!(found, expected, "{filter:?}");
    };
    let any = RunFilter::default;
    let text = |text: &str| Some(text.to_owned());
    check(any(), &[2, 1, 0]);
    check(RunFilter { limit: Some(2), ..any() }, &[2, 1]);
    check(RunFilter { states: vec![RunState::Running, RunState::Waiting], ..any() }, &[2, 1]);
    check(RunFilter { outcomes: vec![OutcomeKind::Done], ..any() }, &[0]);
    check(RunFilter { since: Some(at(1)), ..any() }, &[2, 1]);
    // The first run ended after a thousand seconds; the others have not ended.
    check(RunFilter { active_since: Some(at(1_000)), ..any() }, &[2, 1, 0]);
    check(RunFilter { active_since: Some(at(1_001)), ..any() }, &[2, 1]);
    check(RunFilter { project: text("/code/one"), ..any() }, &[1, 0]);
    check(RunFilter { project: text("/code"), ..any() }, &[2, 1, 0]);
    check(RunFilter { agent: text("claude"), ..any() }, &[2, 1, 0]);
    check(RunFilter { agent: text("codex"), ..any() }, &[]);
    check(RunFilter { session: text("on"), ..any() }, &[2, 1, 0]);
    check(RunFilter { session: text("two"), ..any() }, &[]);
    check(RunFilter { name: text("nightly"), ..any() }, &[0]);
    check(RunFilter { text: text("LEMMA"), ..any() }, &[1, 0]);
    check(RunFilter { text: text("night"), ..any() }, &[0]);
    check(RunFilter { text: text("100%"), ..any() }, &[2]);
    let first = ids[0].as_str();
    let matches = |prefix: &str| ledger.by_prefix(prefix, 9).expect("it can be queried").len();
    assert_eq!((matches(first), matches(""), matches("~")), (1, 3, 0));
}

/// Every command queries unfinished runs, and among a hundred thousand runs it must not scan all of them.
#[test]
fn finds_unfinished_runs_by_index() {
    let (_dir, home) = Home::temporary();
    let ledger = open(&home);
    let unfinished = RunFilter { states: vec![RunState::Running, RunState::Waiting], ..RunFilter::default() };
    let (conditions, values) = query::conditions(&unfinished);
    let query_text =
        format!("EXPLAIN QUERY PLAN SELECT id FROM runs {conditions} ORDER BY started_at DESC, id");
    let plan = ledger.query(|db| {
        let mut statement = db.prepare(&query_text)?;
        let rows = statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    });
    let plan = plan.expect("it can be explained").join("; ");
    assert!(plan.contains("runs_unfinished") && !plan.contains("TEMP B-TREE"), "{plan}");
}

#[test]
fn adds_up_usage() {
    let (_dir, home) = Home::temporary();
    for roll in 0..3 {
        run(&home, roll, &complete_run());
    }
    let ledger = up_to_date_ledger(&home);
    let total = |rows: Vec<CostRow<String>>| {
        rows.iter().map(|row| row.spend.cost).fold(Usd::ZERO, |sum, cost| sum + cost)
    };
    for (by, rows) in [(CostBy::Agent, 1), (CostBy::Model, 1), (CostBy::Project, 1), (CostBy::Run, 3)] {
        let costs = ledger.costs(by, None).expect("the costs");
        assert_eq!(costs.len(), rows, "{by:?}");
        assert_eq!(total(costs), cents(75), "{by:?}");
    }
    let later = ledger.costs(CostBy::Agent, Some(at(900))).expect("the costs");
    assert_eq!(total(later), cents(60));
    let quarters = ledger.costs_by_quarter(None).expect("the costs");
    let quarters: Vec<_> = quarters.iter().map(|row| (row.key, row.spend.cost, row.spend.messages)).collect();
    let first = START / 900_000;
    assert_eq!(quarters, [(first, cents(15), 6), (first + 1, cents(60), 6)]);
}

#[test]
fn reports_differences() {
    let (_dir, home) = Home::temporary();
    let one = run(&home, 1, &complete_run());
    let deleted = run(&home, 2, &complete_run());
    let ledger = up_to_date_ledger(&home);
    let rename = |text: String| {
        text.replace(one.dir.id().as_str(), "ONE").replace(deleted.dir.id().as_str(), "DELETED")
    };
    fs::remove_dir_all(deleted.dir.path()).expect("it is removed");
    let change = "UPDATE runs SET entry = json_set(entry, '$.reported_cost_usd', 0.5, '$.outcome', 'failed')";
    ledger.database.db.execute_batch(change).expect("it is changed");
    ledger.database.db.execute_batch("DELETE FROM attempts WHERE number = 2").expect("it is changed");
    let missing = run(&home, 3, &started(1, 0)).dir;
    let messages: Vec<_> = differences(&ledger).into_iter().map(rename).collect();
    let messages: Vec<_> = messages
        .iter()
        .map(|message| message.replace(missing.id().as_str(), "MISSING"))
        .map(|message| message[..70.min(message.len())].to_owned())
        .collect();
    let mut sorted = messages;
    sorted.sort();
    expect![[r#"
        [
            "DELETED: in the ledger, but there is no such run",
            "MISSING: not in the ledger",
            "ONE: list of attempts is [{\"cost\":50000,\"ended_at\":1767225660000,\"esti",
            "ONE: outcome is \"failed\" in the ledger, and \"done\" in its journal",
            "ONE: reported_cost_usd is 0.5 in the ledger, and 0.25 in its journal",
        ]
    "#]]
    .assert_debug_eq(&sorted);

    let mut ledger = ledger;
    ledger.rebuild().expect("it is rebuilt");
    assert_eq!(differences(&ledger), [""; 0]);
}

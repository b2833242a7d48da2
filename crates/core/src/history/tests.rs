use super::*;
use crate::{
    AfterAttempt, AttemptEnd, AttemptPlan, CancelSource, CheckResult, Fault, Limit, Outcome, OutcomeKind,
    PromptKind, RecoveryFinding, Remaining, Remedy, ReviewResult, SessionPlan, Span, StopCause, StopLevel,
    SummaryResult, Usd,
};

fn at(seconds: u64) -> Moment {
    Moment::from_unix_seconds(1_790_000_000 + seconds)
}

fn plan(attempt: u32) -> AttemptPlan {
    AttemptPlan::new(attempt, SessionPlan::New("one".into()), PromptKind::Task)
}

fn usage(cents: u64) -> Usage {
    Usage { messages: 1, reported_cost: Usd(cents * 10_000), ..Usage::default() }
}

/// Folds records, each with its time in seconds after the start.
fn history(records: &[(u64, Record)]) -> RunHistory {
    let start = [(0, Record::RunStarted), (0, Record::AttemptStarted { plan: plan(1) })];
    RunHistory::new(start.iter().chain(records).map(|(seconds, record)| (at(*seconds), record)))
}

fn fails(seconds: u64, wait: u64) -> (u64, Record) {
    let next = AfterAttempt::Attempt { at: at(seconds + wait), remedy: Remedy::WaitOut, plan: plan(2) };
    let ended = Record::AttemptEnded(AttemptEnd::new(Some(Fault::Overloaded), usage(5), next));
    (seconds, ended)
}

fn swept(seconds: u64) -> (u64, Record) {
    (seconds, Record::Swept { stopped_processes: 1 })
}

fn starts(seconds: u64) -> (u64, Record) {
    (seconds, Record::AttemptStarted { plan: plan(2) })
}

#[test]
fn first_stop_is_the_reason() {
    let stop = |cause, level| Record::StopOrdered { cause, level, stall: None };
    let history = history(&[
        (9, stop(StopCause::Stalled, StopLevel::Term)),
        (19, stop(StopCause::Cancelled, StopLevel::Kill)),
    ]);
    let [attempt] = history.attempts() else { panic!("one attempt") };
    assert_eq!((attempt.stop_cause(), attempt.stops.len()), (Some(StopCause::Stalled), 2));
    assert!(attempt.is_killed());
}

/// A wrap-up is only the reason if the attempt ended with it, and a stop of an attempt that was done already is none.
#[test]
fn last_effective_stop_is_the_reason() {
    let stop = |cause| (9, Record::StopOrdered { cause, level: StopLevel::Interrupt, stall: None });
    let (wrap_up, cancel) = (stop(StopCause::WrapUp), stop(StopCause::Cancelled));
    let late = stop(StopCause::DidNotExit);
    let sent = (
        10,
        Record::PromptSent {
            prompt: PromptKind::WrapUp(Limit::Budget),
            remaining: Remaining::default(),
            results: 1,
        },
    );
    let check = |records: &[(u64, Record)], end: Option<(Option<Fault>, OutcomeKind)>, expected| {
        let mut records = records.to_vec();
        records.extend(end.map(|(fault, kind)| {
            let next = AfterAttempt::Finish(Outcome { kind, ..Outcome::DONE });
            (20, Record::AttemptEnded(AttemptEnd::new(fault, usage(5), next)))
        }));
        let history = history(&records);
        assert_eq!(history.attempts()[0].stop_cause(), expected, "{records:?}");
    };
    let interrupted = Some((Some(Fault::Interrupted), OutcomeKind::Cancelled));
    let (done, limited) = (Some((None, OutcomeKind::Done)), Some((None, OutcomeKind::OutOfTime)));
    check(std::slice::from_ref(&wrap_up), None, Some(StopCause::WrapUp));
    check(&[wrap_up.clone(), sent.clone()], None, None);
    check(&[wrap_up.clone(), cancel.clone()], interrupted, Some(StopCause::Cancelled));
    check(&[wrap_up.clone(), sent.clone(), cancel.clone()], interrupted, Some(StopCause::Cancelled));
    check(&[wrap_up.clone(), sent.clone()], limited, Some(StopCause::WrapUp));
    check(&[wrap_up.clone(), sent, late.clone()], limited, Some(StopCause::DidNotExit));
    check(std::slice::from_ref(&wrap_up), limited, None);
    check(&[wrap_up], done, None);
    check(&[cancel], done, None);
    check(&[late], done, Some(StopCause::DidNotExit));
}

#[test]
fn wrap_up_belongs_to_its_attempt() {
    let prompt = |seconds, prompt, results| {
        (seconds, Record::PromptSent { prompt, remaining: Remaining::default(), results })
    };
    let wrap_up = PromptKind::WrapUp(Limit::Budget);
    let sent = [
        prompt(10, PromptKind::ConfirmDone, 1),
        prompt(20, wrap_up, 2),
        prompt(30, wrap_up, 3),
        fails(60, 0),
        swept(60),
        starts(60),
    ];
    let results = |history: &RunHistory| -> Vec<Option<u32>> {
        history.attempts().iter().map(|attempt| attempt.wrap_up_after_results).collect()
    };
    assert_eq!(results(&history(&sent)), [Some(2), None]);
    let last = history(&[&sent[3..], &[prompt(70, wrap_up, 1)]].concat());
    assert_eq!(results(&last), [None, Some(1)]);
    let plan = AttemptPlan { prompt: wrap_up, ..plan(2) };
    let starts_with = (60, Record::AttemptStarted { plan });
    assert_eq!(results(&history(&[fails(60, 0), swept(60), starts_with])), [None, Some(0)]);
}

#[test]
fn sweep_is_no_wait() {
    let history = history(&[fails(60, 30), swept(65), starts(95)]);
    let [attempt, _] = history.attempts() else { panic!("two attempts") };
    let waited = Span::from_secs(30);
    assert_eq!(attempt.waits.len(), 1);
    assert_eq!((attempt.completed_wait(), history.state().clocks.waiting), (Some(waited), waited));
    assert_eq!((attempt.planned_wait(), attempt.leftover_processes), (Some(waited), 1));
}

#[test]
fn suspension_splits_a_wait() {
    let source = CancelSource::Sigterm;
    let suspended = (70, Record::Suspended { source });
    let recovered = Record::Recovered {
        finding: RecoveryFinding::Suspended,
        last_record_at: Some(at(70)),
        changes: Vec::new(),
    };
    let before = history(&[fails(60, 30), swept(65), suspended.clone()]);
    let clocks = before.state().clocks_at(at(100));
    assert_eq!((clocks.waiting, clocks.downtime), (Span::from_secs(5), Span::from_secs(30)));
    let after = history(&[fails(60, 30), swept(65), suspended, (170, recovered), starts(171)]);
    assert_eq!(after.attempts()[0].completed_wait(), Some(Span::from_secs(6)));
    assert_eq!(after.waits().count(), 2);
    let clocks = after.state().clocks;
    assert_eq!((clocks.waiting, clocks.downtime), (Span::from_secs(6), Span::from_secs(100)));
    let until = |event: &HistoryEvent| match event.kind {
        HistoryEventKind::Suspended { until, .. } => until,
        _ => None,
    };
    assert_eq!(after.events().iter().find_map(until), Some(at(170)));
}

#[test]
fn summary_counts_once_and_apart_from_its_attempt() {
    let ended = Record::SummaryEnded { result: SummaryResult::Written, usage: usage(2) };
    let history = history(&[(1, Record::SummaryStarted), (4, ended), fails(60, 30)]);
    let [attempt] = history.attempts() else { panic!("one attempt") };
    let summary = attempt.summary.expect("a summary");
    assert_eq!((summary.usage, summary.duration), (usage(2), Span::from_secs(3)));
    assert_eq!(attempt.usage(), usage(5));
    assert_eq!(
        (attempt.total_usage(), history.state().usage),
        (usage(2).plus(usage(5)), attempt.total_usage())
    );
}

#[test]
fn takeover_claims_the_downtime_before_it() {
    let idle = |seconds, length| (seconds, Record::Downtime { duration: Span::from_secs(length) });
    let recovered = Record::Recovered {
        finding: RecoveryFinding::AgentRunning,
        last_record_at: Some(at(90)),
        changes: Vec::new(),
    };
    let history = history(&[idle(40, 10), idle(300, 200), (300, recovered)]);
    let unsupervised = |event: &HistoryEvent| match event.kind {
        HistoryEventKind::Downtime { unsupervised, .. } => Some(unsupervised),
        _ => None,
    };
    let downtimes: Vec<bool> = history.events().iter().filter_map(unsupervised).collect();
    assert_eq!(downtimes, [false, true]);
    let last = history.events().last().map(|event| event.kind.clone());
    let expected = HistoryEventKind::Recovered {
        finding: RecoveryFinding::AgentRunning,
        unsupervised: Some(Span::from_secs(210)),
        idle: Span::from_secs(200),
        changes: Vec::new(),
    };
    assert_eq!(last, Some(expected));
}

#[test]
fn outage_lasts_until_progress() {
    let progress = (120, Record::ProgressMade { resets_retries: true });
    let history = history(&[fails(60, 30), swept(65), starts(95), progress]);
    assert_eq!(history.outages(), [OutageHistory { from: at(60), until: Some(at(120)) }]);
}

#[test]
fn finish_keeps_the_totals_of_its_time() {
    let finished = Record::RunFinished { outcome: Outcome::DONE };
    let reopened = Record::RunReopened { request: ResumeRequest::Continue, changes: Vec::new() };
    let history =
        history(&[(80, finished.clone()), (500, reopened), starts(500), fails(520, 0), (520, finished)]);
    let totals = |event: &HistoryEvent| match event.kind {
        HistoryEventKind::Finished { clocks, usage, .. } => Some((clocks.wall(event.at), usage)),
        _ => None,
    };
    let totals: Vec<_> = history.events().iter().filter_map(totals).collect();
    assert_eq!(totals, [(Span::from_secs(80), Usage::default()), (Span::from_secs(100), usage(5))]);
    assert_eq!(history.usage_since_reopen(), usage(5));
}

#[test]
fn durations_leave_out_downtime() {
    let hours = |hours| (hours * 3_600, Record::Downtime { duration: Span::from_hours(hours) });
    let usage = Usage::default();
    let summary = [
        (1, Record::SummaryStarted),
        hours(8),
        (28_803, Record::SummaryEnded { result: SummaryResult::Written, usage }),
    ];
    let summary = history(&summary).attempts()[0].summary.expect("a summary");
    assert_eq!(summary.duration, Span::from_secs(2));
    let check = [
        (1, Record::CheckStarted),
        hours(8),
        (28_804, Record::ReviewStarted { after_commands: true }),
        (28_805, Record::Suspended { source: CancelSource::Sigterm }),
        (
            30_000,
            Record::Recovered {
                finding: RecoveryFinding::Suspended,
                last_record_at: Some(at(28_805)),
                changes: Vec::new(),
            },
        ),
        (30_002, Record::ReviewEnded { result: ReviewResult::Passed, usage, retry_at: None }),
        (30_002, Record::CheckEnded { result: CheckResult::Passed }),
    ];
    let history = history(&check);
    assert_eq!(history.checks()[0].duration(), Some(Span::from_secs(6)));
    let duration = |event: &HistoryEvent| match event.kind {
        HistoryEventKind::ReviewEnded { duration, .. } | HistoryEventKind::CheckEnded { duration, .. } => {
            Some(duration)
        }
        _ => None,
    };
    let durations: Vec<_> = history.events().iter().filter_map(duration).collect();
    assert_eq!(durations, [Span::from_secs(3), Span::from_secs(6)]);
}

//! Timelines of runs, one line for each case.

use super::*;
use crate::commands::report::run_timeline::LostTimeCause;
use longhaul_core::{
    CancelSource, CheckResult, Dollars, RecoveryFinding, ResumeRequest, StallReport, StopCause, StopLevel,
    SummaryResult,
};

/// Describes the slices in seconds after the start, then the lost time: waiting and wasted.
fn describe(records: &RunRecords, now: u64) -> String {
    let timeline = RunTimeline::new(&records.history(), at(now));
    let seconds = |at: Moment| at.since(Moment(START)).millis() / 1_000;
    let slice = |slice: &super::super::run_timeline::TimelineSlice| {
        let fault = slice.fault.map(|fault| format!(" {}", fault.as_str())).unwrap_or_default();
        format!("{}-{} {:?}{fault}", seconds(slice.from.0), seconds(slice.to.0), slice.kind)
    };
    let lost = |(cause, lost): (&LostTimeCause, &super::super::run_timeline::LostTime)| {
        format!("{} {}+{}", cause.as_str(), lost.waiting.millis() / 1_000, lost.wasted.millis() / 1_000)
    };
    let slices: Vec<String> = timeline.timeline.iter().map(slice).collect();
    let lost: Vec<String> = timeline.lost_time.iter().map(lost).collect();
    let (wall, active) = (timeline.wall.millis() / 1_000, timeline.active.millis() / 1_000);
    format!("{}; lost {}; {active} of {wall}", slices.join(", "), lost.join(", "))
}

fn idle(records: RunRecords, until: u64, seconds: u64) -> RunRecords {
    records.and(until, Record::Downtime { duration: Span::from_secs(seconds) })
}

#[test]
fn timeline_shows_attempts_waits_and_losses() {
    let check = |records: RunRecords, expected: &str| assert_eq!(describe(&records, 1_000), expected);
    check(RunRecords::default(), "; lost ; 0 of 0");
    check(RunRecords::started(), "0-1000 Working; lost ; 1000 of 1000");
    check(RunRecords::started().finished(60, None, Outcome::DONE), "0-60 Working; lost ; 60 of 60");
    // An attempt without progress is lost entirely; otherwise only its final silence is lost.
    check(
        RunRecords::started().fails(60, Fault::Network, 30).attempt(90).progress(100).finished(
            200,
            None,
            Outcome::DONE,
        ),
        "0-60 Failed network, 60-90 Waiting network, 90-200 Working; lost network 30+60; 170 of 200",
    );
    check(
        RunRecords::started().progress(10).fails(60, Fault::Network, 30).attempt(90).finished(
            200,
            None,
            Outcome::DONE,
        ),
        "0-60 Failed network, 60-90 Waiting network, 90-200 Working; lost network 30+0; 170 of 200",
    );
    let stall = StallReport {
        silent_for: Span::from_secs(40),
        no_progress_for: Span::from_secs(45),
        open_tools: 0,
        processes: None,
    };
    let stop = |cause| Record::StopOrdered { cause, level: StopLevel::Term, stall: Some(stall) };
    for (cause, seconds) in [(StopCause::Stalled, 40), (StopCause::NoProgress, 45)] {
        check(
            RunRecords::started()
                .progress(10)
                .and(60, stop(cause))
                .fails(61, Fault::Stalled, 2)
                .attempt(63)
                .finished(70, None, Outcome::DONE),
            &format!(
                "0-61 Failed stalled, 61-63 Waiting stalled, 63-70 Working; lost stalled 2+{seconds}; 68 of 70"
            ),
        );
    }
    // The current wait counts so far.
    check(
        RunRecords::started().progress(1).fails(100, Fault::UsageLimit, 9_000),
        "0-100 Failed usage_limit, 100-1000 Waiting usage_limit; lost usage_limit 900+0; 100 of 1000",
    );
}

#[test]
fn timeline_shows_sleep_checks_and_finish() {
    let check = |records: RunRecords, expected: &str| assert_eq!(describe(&records, 1_000), expected);
    // Sleep is recorded when it ends.
    check(
        idle(RunRecords::started(), 300, 200).finished(400, None, Outcome::DONE),
        "0-100 Working, 100-300 Downtime, 300-400 Working; lost downtime 200+0; 200 of 400",
    );
    check(
        idle(RunRecords::started(), 300, 200).fails(400, Fault::Crashed, 10).attempt(410).finished(
            420,
            None,
            Outcome::DONE,
        ),
        "0-100 Failed crashed, 100-300 Downtime, 300-400 Failed crashed, 400-410 Waiting crashed, 410-420 Working; \
         lost crashed 10+200, downtime 200+0; 210 of 420",
    );
    // A new supervisor first records how long nothing ran. Downtime recorded earlier is sleep.
    let recovered = |last| Record::Recovered {
        finding: RecoveryFinding::AgentRunning,
        last_record_at: Some(at(last)),
        changes: Vec::new(),
    };
    check(
        idle(idle(RunRecords::started(), 40, 10), 300, 200).and(300, recovered(90)).finished(
            400,
            None,
            Outcome::DONE,
        ),
        "0-30 Working, 30-40 Downtime, 40-100 Working, 100-300 Downtime, 300-400 Working; \
         lost unsupervised 200+0, downtime 10+0; 190 of 400",
    );
    check(
        idle(RunRecords::started(), 300, 200).and(300, recovered(300)).finished(400, None, Outcome::DONE),
        "0-100 Working, 100-300 Downtime, 300-400 Working; lost downtime 200+0; 200 of 400",
    );
    // Sleep during a wait counts as waiting.
    check(
        idle(RunRecords::started().progress(1).fails(10, Fault::Network, 90), 90, 50).attempt(100).finished(
            110,
            None,
            Outcome::DONE,
        ),
        "0-10 Failed network, 10-100 Waiting network, 100-110 Working; lost network 90+0; 20 of 110",
    );
    // A suspension is downtime, and splits a wait.
    let suspended = RunRecords::started()
        .progress(1)
        .fails(10, Fault::Network, 90)
        .and(50, Record::Suspended { source: CancelSource::Sigterm })
        .and(80, recovered(50))
        .attempt(100)
        .finished(110, None, Outcome::DONE);
    check(
        suspended,
        "0-10 Failed network, 10-50 Waiting network, 50-80 Downtime, 80-100 Waiting network, 100-110 Working; \
         lost network 60+0, downtime 30+0; 20 of 110",
    );
    let records = RunRecords::started()
        .attempt_ended(50, None, usage(1, 0), AfterAttempt::Check)
        .and(50, Record::CheckStarted)
        .and(80, Record::CheckEnded { result: CheckResult::Passed })
        .and(80, Record::RunFinished { outcome: Outcome::DONE })
        .and(500, Record::RunReopened { request: ResumeRequest::Continue, changes: Vec::new() })
        .attempt(500)
        .finished(600, None, Outcome::DONE);
    check(records, "0-50 Working, 50-80 Checking, 80-500 Finished, 500-600 Working; lost ; 180 of 180");
}

#[test]
fn wait_of_attempt_matches_clocks() {
    let records =
        RunRecords::started().fails(60, Fault::Network, 30).attempt(95).fails(100, Fault::Overloaded, 900);
    let waits = |now| {
        let timeline = RunTimeline::new(&records.history(), at(now));
        timeline.attempts.iter().map(|attempt| attempt.waited.millis() / 1_000).collect::<Vec<_>>()
    };
    assert_eq!((waits(100), waits(400)), (vec![35, 0], vec![35, 300]));
}

#[test]
fn attempt_has_its_first_stop_and_a_separate_summary() {
    let stop = |cause, level| Record::StopOrdered { cause, level, stall: None };
    let summary = Record::SummaryEnded { result: SummaryResult::Written, usage: usage(3, 4) };
    let records = RunRecords::started()
        .and(5, summary)
        .and(50, stop(StopCause::Stalled, StopLevel::Term))
        .and(55, stop(StopCause::Cancelled, StopLevel::Kill))
        .finished(60, Some(Fault::Stalled), Outcome::from_fault(OutcomeKind::Failed, Fault::Stalled));
    let timeline = RunTimeline::new(&records.history(), at(60));
    let [attempt] = timeline.attempts.as_slice() else { panic!("one attempt") };
    assert_eq!(attempt.stop_cause, Some(StopCause::Stalled));
    assert_eq!(
        (attempt.cost, attempt.estimated_cost, attempt.summary_cost),
        (cents(120).into(), Dollars::default(), cents(7).into())
    );
}

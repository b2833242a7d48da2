//! Stories: what a run did with its time, one line a part.

use super::*;
use crate::commands::report::run_timeline::LostTimeCause;
use longhaul_core::{CheckResult, RecoveryFinding, ResumeRequest, StallReport, StopCause, StopLevel};

/// The parts of the timeline in seconds after the beginning, then what was lost, waiting and in vain.
fn told(tale: &Tale, now: u64) -> String {
    let story = RunTimeline::new(&tale.history(), at(now));
    let seconds = |at: Moment| at.since(Moment(BEGAN)).millis() / 1_000;
    let slice = |slice: &super::super::run_timeline::TimelineSlice| {
        let fault = slice.fault.map(|fault| format!(" {}", fault.word())).unwrap_or_default();
        format!("{}-{} {:?}{fault}", seconds(slice.from), seconds(slice.to), slice.kind)
    };
    let lost = |(cause, lost): (&LostTimeCause, &super::super::run_timeline::LostTime)| {
        format!("{} {}+{}", cause.as_str(), lost.waiting.millis() / 1_000, lost.wasted.millis() / 1_000)
    };
    let timeline: Vec<String> = story.timeline.iter().map(slice).collect();
    let lost: Vec<String> = story.lost_time.iter().map(lost).collect();
    let (wall, active) = (story.wall.millis() / 1_000, story.active.millis() / 1_000);
    format!("{}; lost {}; {active} of {wall}", timeline.join(", "), lost.join(", "))
}

fn idle(tale: Tale, until: u64, seconds: u64) -> Tale {
    tale.and(until, Record::Downtime { duration: Span::from_secs(seconds) })
}

#[test]
fn what_a_run_did_with_its_time() {
    let check = |tale: Tale, expected: &str| assert_eq!(told(&tale, 1_000), expected);
    check(Tale::default(), "; lost ; 0 of 0");
    check(Tale::begun(), "0-1000 Working; lost ; 1000 of 1000");
    check(Tale::begun().over(60, None, Outcome::DONE), "0-60 Working; lost ; 60 of 60");
    // An attempt that came to nothing is lost; of one that did something, only what it was silent for.
    check(
        Tale::begun().fails(60, Fault::Network, 30).attempt(90).progress(100).over(200, None, Outcome::DONE),
        "0-60 Failed network, 60-90 Waiting network, 90-200 Working; lost network 30+60; 170 of 200",
    );
    check(
        Tale::begun().progress(10).fails(60, Fault::Network, 30).attempt(90).over(200, None, Outcome::DONE),
        "0-60 Failed network, 60-90 Waiting network, 90-200 Working; lost network 30+0; 170 of 200",
    );
    let stall = StallReport {
        silent_for: Span::from_secs(40),
        no_progress_for: Span::from_secs(45),
        open_tools: 0,
        processes: None,
    };
    let stop =
        |why| Record::StopOrdered { at: at(60), cause: why, level: StopLevel::Term, stall: Some(stall) };
    for (why, seconds) in [(StopCause::Stalled, 40), (StopCause::NoProgress, 45)] {
        check(
            Tale::begun().progress(10).and(60, stop(why)).fails(61, Fault::Stalled, 2).attempt(63).over(
                70,
                None,
                Outcome::DONE,
            ),
            &format!(
                "0-61 Failed stalled, 61-63 Waiting stalled, 63-70 Working; lost stalled 2+{seconds}; 68 of 70"
            ),
        );
    }
    // A wait that is under way has cost its time.
    check(
        Tale::begun().progress(1).fails(100, Fault::UsageLimit, 9_000),
        "0-100 Failed usage_limit, 100-1000 Waiting usage_limit; lost usage_limit 900+0; 100 of 1000",
    );
}

#[test]
fn sleep_checks_and_ends_are_parts_of_it() {
    let check = |tale: Tale, expected: &str| assert_eq!(told(&tale, 1_000), expected);
    // It is known when it is over.
    check(
        idle(Tale::begun(), 300, 200).over(400, None, Outcome::DONE),
        "0-100 Working, 100-300 Asleep, 300-400 Working; lost asleep 200+0; 200 of 400",
    );
    check(
        idle(Tale::begun(), 300, 200).fails(400, Fault::Crashed, 10).attempt(410).over(
            420,
            None,
            Outcome::DONE,
        ),
        "0-100 Failed crashed, 100-300 Asleep, 300-400 Failed crashed, 400-410 Waiting crashed, 410-420 Working; \
         lost crashed 10+200, asleep 200+0; 210 of 420",
    );
    // The first that a new supervisor says of a run is for how long nothing ran; what was slept before is sleep.
    let recovered = |until, last| Record::Recovered {
        at: at(until),
        finding: RecoveryFinding::AgentRunning,
        last_record_at: Some(at(last)),
        changes: Vec::new(),
    };
    check(
        idle(idle(Tale::begun(), 40, 10), 300, 200).and(300, recovered(300, 90)).over(
            400,
            None,
            Outcome::DONE,
        ),
        "0-30 Working, 30-40 Asleep, 40-100 Working, 100-300 Asleep, 300-400 Working; \
         lost unsupervised 200+0, asleep 10+0; 190 of 400",
    );
    check(
        idle(Tale::begun(), 300, 200).and(300, recovered(300, 300)).over(400, None, Outcome::DONE),
        "0-100 Working, 100-300 Asleep, 300-400 Working; lost asleep 200+0; 200 of 400",
    );
    // Sleep during a wait is part of the wait.
    check(
        idle(Tale::begun().progress(1).fails(10, Fault::Network, 90), 90, 50).attempt(100).over(
            110,
            None,
            Outcome::DONE,
        ),
        "0-10 Failed network, 10-100 Waiting network, 100-110 Working; lost network 90+0; 20 of 110",
    );
    let tale = Tale::begun()
        .ended(50, None, tally(1, 0), AfterAttempt::Check)
        .and(50, Record::CheckStarted { at: at(50) })
        .and(80, Record::CheckEnded { at: at(80), result: CheckResult::Passed })
        .and(80, Record::RunFinished { at: at(80), outcome: Outcome::DONE })
        .and(500, Record::RunReopened { at: at(500), request: ResumeRequest::Continue, changes: Vec::new() })
        .attempt(500)
        .over(600, None, Outcome::DONE);
    check(tale, "0-50 Working, 50-80 Checking, 80-500 Over, 500-600 Working; lost ; 180 of 180");
}

#[test]
fn the_wait_of_an_attempt_is_that_of_the_clocks() {
    let tale = Tale::begun().fails(60, Fault::Network, 30).attempt(95).fails(100, Fault::Overloaded, 900);
    let waits = |now| {
        let story = RunTimeline::new(&tale.history(), at(now));
        story.attempts.iter().map(|attempt| attempt.waited.millis() / 1_000).collect::<Vec<_>>()
    };
    assert_eq!((waits(100), waits(400)), (vec![35, 0], vec![35, 300]));
}

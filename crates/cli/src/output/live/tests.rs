use super::*;
use expect_test::{Expect, expect};
use longhaul_core::{
    AfterWait, AttemptPlan, CancelSource, CheckStage, Clocks, Fault, Limit, LimitState, Outcome, PromptKind,
    SessionId, SessionPlan, StopCause, StopLevel, Tokens, Usage, Usd,
};

const STARTED: Moment = Moment(1_000_000_000_000);

/// Returns a run that has worked for 42 minutes and is in its third attempt.
fn view(phase: Phase) -> LiveView {
    let tokens = Tokens { input: 200_000, output: 34_567, cache_read: 1_000_000, cache_write: 0 };
    LiveView {
        label: "nightly (kmzxqp)".to_owned(),
        state: State {
            phase,
            clocks: Clocks { started: STARTED, ..Clocks::default() },
            plan: Some(plan(3)),
            usage: Usage { tokens, turns: 18, estimated_cost: Usd(3_451_200), ..Usage::default() },
            ..State::default()
        },
        limits: Limits::default().with(|limits| {
            (limits.budget, limits.time) = (Some(Usd(10_000_000)), Some(Span::from_hours(1)));
        }),
        ..LiveView::default()
    }
}

fn plan(attempt: u32) -> AttemptPlan {
    AttemptPlan::new(attempt, SessionPlan::Resume(SessionId::from("s")), PromptKind::Task)
}

fn now() -> Moment {
    STARTED + Span(2_530_400)
}

fn check(view: &LiveView, width: usize, expected: Expect) {
    let lines = lines(view, now(), width);
    assert!(lines.len() <= 5);
    let is_fitting = |line: &String| fit(line, width) == *line;
    assert!(lines.iter().all(is_fitting), "{lines:?}");
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn running_tool_is_shown_with_its_duration() {
    let mut view = view(Phase::Running);
    view.activity.tool = Some("Bash: cargo test --workspace --all-targets --no-fail-fast".to_owned());
    view.activity.message = "I run the tests.".to_owned();
    view.activity.since = STARTED + Span(2_338_000);
    check(
        &view,
        80,
        expect![[r#"
        nightly (kmzxqp): working, attempt 3, 42m 10s
          Bash: cargo test --workspace --all-targets --no-fail-fast (3m 12s)
          18 turns, 1.2M tokens, $3.45
          budget 34% of $10.00, time 70% of 1h
    "#]],
    );
    check(
        &view,
        50,
        expect![[r#"
        nightly (kmzxqp): working, attempt 3, 42m 10s
          Bash: cargo test --workspace --all-tar… (3m 12s)
          18 turns, 1.2M tokens, $3.45
          budget 34% of $10.00, time 70% of 1h
    "#]],
    );
    check(
        &view,
        20,
        expect![[r#"
        nightly (kmzxqp): w…
          Bash: ca… (3m 12s)
          18 turns, 1.2M to…
          budget 34% of $10…
    "#]],
    );
}

#[test]
fn last_message_is_shown_between_tool_calls() {
    let mut view = view(Phase::Running);
    view.activity = Activity {
        since: now(),
        message: "日本語 \x1b[31mred\u{202e}\nnext".to_owned(),
        ..Activity::default()
    };
    check(
        &view,
        80,
        expect![[r#"
        nightly (kmzxqp): working, attempt 3, 42m 10s
          "日本語 [31mred next"
          18 turns, 1.2M tokens, $3.45
          budget 34% of $10.00, time 70% of 1h
    "#]],
    );
    view.activity.other = "repeating a request (529), 2 of 4".to_owned();
    check(
        &view,
        60,
        expect![[r#"
        nightly (kmzxqp): working, attempt 3, 42m 10s
          repeating a request (529), 2 of 4: "日本語 [31mred next"
          18 turns, 1.2M tokens, $3.45
          budget 34% of $10.00, time 70% of 1h
    "#]],
    );
    view.activity.message.clear();
    view.limits = Limits::default();
    view.state.usage = Usage::default();
    check(
        &view,
        60,
        expect![[r#"
        nightly (kmzxqp): working, attempt 3, 42m 10s
          repeating a request (529), 2 of 4
    "#]],
    );
}

#[test]
fn wait_is_shown_with_its_end_and_its_reason() {
    let until = now() + Span::from_mins(12);
    let mut view = view(Phase::Waiting { since: now(), until, next: AfterWait::Attempt(plan(4)) });
    view.retries = " (2 of 5)".to_owned();
    for (fault, words) in [
        (Fault::RateLimited, "rate limited (2 of 5)"),
        (Fault::UsageLimit, "the account's usage limit is reached (2 of 5)"),
        (Fault::Overloaded, "the API is overloaded (2 of 5)"),
    ] {
        view.state.fault = Some(fault);
        let lines = lines(&view, now(), 100);
        assert!(lines[0].contains(": waiting, attempt 3, 42m 10s"), "{lines:?}");
        // The time of day depends on the local time zone.
        assert!(
            lines[1].starts_with("  until ") && lines[1].ends_with(&format!(" (in 12m): {words}")),
            "{lines:?}"
        );
    }
    view.state.phase = Phase::Waiting { since: now(), until: STARTED, next: AfterWait::Attempt(plan(4)) };
    assert!(!lines(&view, now(), 100)[1].contains("(in"));
}

#[test]
fn headline_names_the_state() {
    let stopping = |cause| Phase::Stopping { since: now(), cause, level: StopLevel::Interrupt };
    let finished = |kind| Outcome { kind, fault: None, limit: None, retry_at: None, cancelled_by: None };
    for (phase, words) in [
        (Phase::Starting, "starting the agent"),
        (Phase::Summarizing { since: now(), stop_cause: None }, "summarizing older work"),
        (Phase::Running, "working"),
        (Phase::Closing { since: now() }, "finishing"),
        (stopping(StopCause::Cancelled), "stopping the agent"),
        (
            Phase::Checking { since: now(), stage: CheckStage::Commands, stop_cause: None },
            "checking the work",
        ),
        (Phase::Checking { since: now(), stage: CheckStage::Review, stop_cause: None }, "reviewing the work"),
        (
            Phase::Suspended { since: now(), source: CancelSource::Sigterm, then: Box::new(Phase::Running) },
            "suspended",
        ),
        (Phase::Finished { outcome: finished(OutcomeKind::Done) }, "done"),
        (Phase::Finished { outcome: finished(OutcomeKind::Cancelled) }, "finished"),
    ] {
        let shown = lines(&view(phase), now(), 100);
        assert_eq!(shown[0], format!("nightly (kmzxqp): {words}, attempt 3, 42m 10s"));
    }
    let mut first = view(Phase::Running);
    first.state.plan = Some(plan(1));
    assert_eq!(lines(&first, now(), 100)[0], "nightly (kmzxqp): working, 42m 10s");
    first.state.limit_state = Some(LimitState { limit: Limit::Budget, stage: WrapUpStage::Requested });
    assert_eq!(lines(&first, now(), 100)[0], "nightly (kmzxqp): saving its work before the limit, 42m 10s");
}

#[test]
fn every_limit_has_its_share() {
    let mut view = view(Phase::Running);
    view.limits = Limits::default().with(|limits| {
        (limits.budget, limits.tokens, limits.turns) = (Some(Usd(3_000_000)), Some(2_000_000), Some(50));
        (limits.time, limits.wall) = (Some(Span::from_hours(2)), Some(Span::from_hours(24)));
    });
    view.state.usage.unpriced = true;
    check(
        &view,
        120,
        expect![[r#"
        nightly (kmzxqp): working, attempt 3, 42m 10s
          18 turns, 1.2M tokens, at least $3.45
          budget 115% of $3.00, tokens 61% of 2.0M, time 35% of 2h, wall 2% of 1d, turns 36% of 50
    "#]],
    );
}

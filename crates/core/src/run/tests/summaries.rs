//! Summaries of older work for a handoff prompt.

use super::trace::{check_rest_with, plain};
use crate::{HandoffSummary, Policy, Span};
use expect_test::{Expect, expect};

/// The context is full, so a new session starts with a handoff prompt.
const FULL: &str = "start; spawn; open; exchange; bill 9; ends full; idle; exit 1";

pub(super) fn with_summary() -> Policy {
    let summary = HandoffSummary { model: "haiku".to_owned(), timeout: Span::from_secs(60) };
    Policy { handoff_summary: Some(summary), ..plain() }
}

fn check(then: &str, expected: Expect) {
    check_rest_with(&with_summary(), &format!("{FULL}; swept"), then, expected);
}

#[test]
fn summarizes_if_configured() {
    check_rest_with(
        &with_summary(),
        FULL,
        "swept",
        expect![[r#"
            swept            swept 0; attempt 2 new s2, task after loss (context_full); strategy handoff (context_full); summary started; > summarize for 2
        "#]],
    );
    check_rest_with(
        &plain(),
        FULL,
        "swept",
        expect![[r#"
            swept            swept 0; attempt 2 new s2, task after loss (context_full); strategy handoff (context_full); > spawn 2
        "#]],
    );
    // The session contains no messages, so there is nothing to summarize.
    check_rest_with(
        &with_summary(),
        "start; spawn; open; signal 9; swept; tick",
        "found missing",
        expect![[r#"
            found missing    session_lost -> replace_lost_session in 0s: 3 new s2, task; > sweep; attempt 3 new s2, task; strategy fresh (never opened); > spawn 3
        "#]],
    );
}

#[test]
fn uses_written_summary() {
    check(
        "summary ok; spawn",
        expect![[r#"
        summary ok       summary written for 5 of 14; > spawn 2, with summary
        spawn            spawned 7
    "#]],
    );
}

#[test]
fn short_history_needs_no_summary() {
    check(
        "summary none; spawn",
        expect![[r#"
        summary none     no summary needed for 0 of 9; > spawn 2
        spawn            spawned 7
    "#]],
    );
}

#[test]
fn sends_handoff_without_failed_summary() {
    check(
        "summary 400; spawn",
        expect![[r#"
        summary 400      no summary (bad_request) for 5 of 14; > spawn 2
        spawn            spawned 7
    "#]],
    );
    check(
        "summary empty",
        expect![[r#"
        summary empty    no summary (unfinished) for 5 of 14; > spawn 2
    "#]],
    );
    check(
        "summary missing",
        expect![[r#"
        summary missing  no summary (agent_missing) for 0 of 9; > spawn 2
    "#]],
    );
}

#[test]
fn stops_hanging_summary_at_timeout() {
    check(
        "activity; tick; summary killed; spawn",
        expect![[r#"
            activity         -
            tick             stop summary (timed_out); > stop summary
            summary killed   no summary (attempt_timeout) for 5 of 14; > spawn 2
            spawn            spawned 7
        "#]],
    );
    // A partial summary is used, and time in which the machine slept does not count.
    check(
        "+30s; sleep 1h; +29s; tick; summary ok",
        expect![[r#"
            sleep 1h         downtime 1h
            tick             stop summary (timed_out); > stop summary
            summary ok       summary written for 5 of 14; > spawn 2, with summary
        "#]],
    );
    let mut policy = with_summary();
    policy.handoff_summary.as_mut().expect("the policy has a summary").timeout = Span::ZERO;
    check_rest_with(
        &policy,
        &format!("{FULL}; swept"),
        "tick; summary killed",
        expect![[r#"
            tick             stop summary (timed_out); > stop summary
            summary killed   no summary (attempt_timeout) for 5 of 14; > spawn 2
        "#]],
    );
}

#[test]
fn summarizes_once_without_progress() {
    check(
        "summary 400; spawn; open; exchange; ends full; idle; exit 1; spawn; open; exchange; works; ends full; idle; exit 1",
        expect![[r#"
            summary 400      no summary (bad_request) for 5 of 14; > spawn 2
            spawn            spawned 7
            open             opened s2
            exchange         -
            ends full        -
            idle             input closed; > close input
            exit 1           context_full -> replace_full_session in 0s: 3 new s3, task after loss (context_full); > sweep; attempt 3 new s3, task after loss (context_full); strategy fresh (context_full); > spawn 3
            spawn            spawned 7
            open             opened s3
            exchange         -
            ends full        -
            idle             input closed; > close input
            exit 1           context_full -> replace_full_session in 0s: 4 new s4, task after loss (context_full); > sweep; attempt 4 new s4, task after loss (context_full); strategy handoff (context_full); summary started; > summarize for 4
        "#]],
    );
}

#[test]
fn cancel_stops_summary() {
    check(
        "cancel person; cancel now; summary killed",
        expect![[r#"
            cancel person    cancel by person; stop summary (cancelled); > stop summary
            cancel now       cancel by person_now
            summary killed   no summary (interrupted) for 5 of 14; interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
    // The next prompt still states why the session is new.
    check(
        "cancel person; summary killed; +1h; reopen",
        expect![[r#"
        cancel person    cancel by person; stop summary (cancelled); > stop summary
        summary killed   no summary (interrupted) for 5 of 14; interrupted -> cancelled; > sweep; cancelled; > finish 130
        reopen           reopened; attempt 3 new s3, task after loss (context_full); strategy handoff (context_full); summary started; > summarize for 3
    "#]],
    );
    // A cancel after the timeout works, too.
    check(
        "tick; cancel term; summary ok; swept",
        expect![[r#"
            tick             stop summary (timed_out); > stop summary
            cancel term      suspend by sigterm
            summary ok       summary written for 5 of 14; suspended; > finish 143
            swept            -
        "#]],
    );
}

#[test]
fn recovery_does_not_repeat_summary() {
    check(
        "recover summary killed; spawn",
        expect![[r#"
            recover summary killed recovered (summarizing); no summary (crashed) for 5 of 14; > spawn 2
            spawn            spawned 7
        "#]],
    );
    check(
        "recover summary ok; spawn",
        expect![[r#"
            recover summary ok recovered (summarizing); summary written for 5 of 14; > spawn 2, with summary
            spawn            spawned 7
        "#]],
    );
    check(
        "recover never; spawn",
        expect![[r#"
            recover never    recovered (summarizing); no summary (crashed) for 0 of 9; > spawn 2
            spawn            spawned 7
        "#]],
    );
    check(
        "cancel term; recover summary killed; swept",
        expect![[r#"
            cancel term      suspend by sigterm; stop summary (suspended); > stop summary
            recover summary killed recovered (summarizing); no summary (interrupted) for 5 of 14; > spawn 2
            swept            -
        "#]],
    );
    // The usage is recorded only once.
    check(
        "summary ok; recover never; summary ok; spawn",
        expect![[r#"
            summary ok       summary written for 5 of 14; > spawn 2, with summary
            recover never    recovered (not_started); > spawn 2, with summary
            summary ok       -
            spawn            spawned 7
        "#]],
    );
    // If the summary process is still running, it is stopped.
    check(
        "recover live; summary killed",
        expect![[r#"
            recover live     recovered (agent_running); > stop summary
            summary killed   no summary (interrupted) for 5 of 14; > spawn 2
        "#]],
    );
}

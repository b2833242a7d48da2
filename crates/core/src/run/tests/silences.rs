//! Silent agents and agents without progress: what a probe observes, what it excuses, and for how long.

use super::trace::{check_rest_with, plain};
use crate::{Policy, Span};
use expect_test::{Expect, expect};

const WORKING: &str = "start; spawn; open; turn";

fn check(rest: &str, expected: Expect) {
    check_rest_with(&plain(), WORKING, rest, expected);
}

#[test]
fn probes_silent_agent_before_stop() {
    check(
        "tick; sees idle 0 of 2; exit 143",
        expect![[r#"
            tick             > examine
            sees idle 0 of 2 stop stalled term (idle, 0 of 2 busy); > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
    // An agent in an endless loop is not working.
    check(
        "tick; sees busy 0 of 0",
        expect![[r#"
            tick             > examine
            sees busy 0 of 0 stop stalled term (busy, 0 of 0 busy); > term
        "#]],
    );
    check(
        "tick; sees nothing",
        expect![[r#"
            tick             > examine
            sees nothing     stop stalled term; > term
        "#]],
    );
}

#[test]
fn probe_times_out_after_30_s() {
    check(
        "tick; looking; +29s; sees idle 0 of 0",
        expect![[r#"
            tick             > examine
            sees idle 0 of 0 stop stalled term (idle, 0 of 0 busy); > term
        "#]],
    );
    check(
        "tick; looking; tick; sees idle 1 of 1; +1h",
        expect![[r#"
            tick             > examine
            tick             stop stalled term; > term
            sees idle 1 of 1 -
        "#]],
    );
}

#[test]
fn activity_during_probe_ends_silence() {
    check(
        "tick; looking; stir; sees idle 0 of 0; tick; sees idle 0 of 0",
        expect![[r#"
            tick             > examine
            stir             -
            sees idle 0 of 0 -
            tick             > examine
            sees idle 0 of 0 stop stalled term (idle, 0 of 0 busy); > term
        "#]],
    );
    check(
        "tick; looking; cancel term; sees idle 0 of 0; exit 143",
        expect![[r#"
            tick             > examine
            cancel term      suspend by sigterm; stop suspended interrupt; > interrupt
            sees idle 0 of 0 -
            exit 143         interrupted -> resume in 0s: 2 resume s1, continue (interrupted); > sweep
        "#]],
    );
    check(
        "sees idle 0 of 0",
        expect![[r#"
            sees idle 0 of 0 -
        "#]],
    );
}

#[test]
fn busy_child_excuses_silence_for_an_hour() {
    check(
        "tick; sees idle 1 of 3; tick; sees idle 1 of 3; tick; sees idle 1 of 3; tick; sees idle 1 of 3; \
         tick; sees idle 1 of 3; tick; sees idle 1 of 3; tick; sees idle 1 of 3; tick; sees idle 1 of 3; \
         tick; sees idle 1 of 3",
        expect![[r#"
            tick             > examine
            sees idle 1 of 3 silent for 7m (idle, 1 of 3 busy): excused for 7m
            tick             > examine
            sees idle 1 of 3 silent for 14m (idle, 1 of 3 busy): excused for 7m
            tick             > examine
            sees idle 1 of 3 silent for 21m (idle, 1 of 3 busy): excused for 7m
            tick             > examine
            sees idle 1 of 3 silent for 28m (idle, 1 of 3 busy): excused for 7m
            tick             > examine
            sees idle 1 of 3 silent for 35m (idle, 1 of 3 busy): excused for 7m
            tick             > examine
            sees idle 1 of 3 silent for 42m (idle, 1 of 3 busy): excused for 7m
            tick             > examine
            sees idle 1 of 3 silent for 49m (idle, 1 of 3 busy): excused for 7m
            tick             > examine
            sees idle 1 of 3 silent for 56m (idle, 1 of 3 busy): excused for 7m
            tick             > examine
            sees idle 1 of 3 stop stalled term (idle, 1 of 3 busy); > term
        "#]],
    );
}

#[test]
fn excuse_ends_with_busy_child() {
    check(
        "tick; sees idle 1 of 1; tick; sees idle 0 of 1",
        expect![[r#"
            tick             > examine
            sees idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            tick             > examine
            sees idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
    // After activity, the full timeout starts again.
    check(
        "tick; sees idle 1 of 1; stir; +13m; tick; sees idle 0 of 1",
        expect![[r#"
            tick             > examine
            sees idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            stir             -
            tick             > examine
            sees idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
}

#[test]
fn frozen_agent_is_never_excused() {
    check(
        "tick; sees halted 1 of 1",
        expect![[r#"
            tick             > examine
            sees halted 1 of 1 stop stalled kill (frozen, 1 of 1 busy); > kill
        "#]],
    );
    check(
        "tool; halts; tick; sees idle 1 of 1",
        expect![[r#"
            tool             -
            halts            -
            tick             > examine
            sees idle 1 of 1 stop stalled kill (idle, 1 of 1 busy); > kill
        "#]],
    );
}

/// The time of the tool before is neither silence nor lack of progress.
#[test]
fn frozen_agent_under_long_tool_is_silent() {
    check(
        "tool; +5h; halts; tick; sees halted 0 of 1",
        expect![[r#"
            tool             -
            halts            -
            tick             > examine
            sees halted 0 of 1 stop stalled kill (frozen, 0 of 1 busy); > kill
        "#]],
    );
}

#[test]
fn sleep_extends_probe_and_excuse() {
    check(
        "tick; looking; sleep 8h; sees idle 1 of 1; sleep 8h; tick; sees idle 0 of 1",
        expect![[r#"
            tick             > examine
            sleep 8h         slept 8h
            sees idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            sleep 8h         slept 8h
            tick             > examine
            sees idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
}

#[test]
fn excuse_applies_to_one_attempt() {
    check(
        "tick; sees idle 1 of 1; signal 9; swept; tick; spawn; tick; sees idle 0 of 1",
        expect![[r#"
            tick             > examine
            sees idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (crashed); > spawn 2
            spawn            spawned 7
            tick             > examine
            sees idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
}

#[test]
fn agent_without_progress_stalls() {
    let policy = Policy { progress_timeout: Some(Span::from_mins(20)), ..plain() };
    let check = |rest: &str, expected| check_rest_with(&policy, WORKING, rest, expected);
    check(
        "+6m; stir; +6m; retrying 1 529; +6m; stir; tick; exit 143",
        expect![[r#"
            stir             -
            retrying 1 529   -
            stir             -
            tick             stop no_progress term; > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
    check(
        "+6m; stir; +6m; message; +6m; stir; +6m; stir; +6m; stir; tick",
        expect![[r#"
            stir             -
            message          -
            stir             -
            stir             -
            stir             -
            tick             stop no_progress term; > term
        "#]],
    );
    // A tool may take any time, and its waiting agent may report activity.
    check(
        "tool; +3h; stir; tool-ends; +6m; stir; +6m; stir; +6m; stir; tick",
        expect![[r#"
            tool             -
            stir             -
            tool-ends        progress
            stir             -
            stir             -
            stir             -
            tick             stop no_progress term; > term
        "#]],
    );
    check(
        "+6m; stir; +6m; stir; sleep 9h; +6m; stir; tick",
        expect![[r#"
            stir             -
            stir             -
            sleep 9h         slept 9h
            stir             -
            tick             stop no_progress term; > term
        "#]],
    );
}

#[test]
fn progress_timeout_works_without_stall_timeout() {
    let policy = Policy { stall_timeout: None, progress_timeout: Some(Span::from_mins(20)), ..plain() };
    check_rest_with(
        &policy,
        WORKING,
        "tick",
        expect![[r#"
            tick             stop no_progress term; > term
        "#]],
    );
}

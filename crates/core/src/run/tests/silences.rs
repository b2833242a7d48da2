//! Silent agents and agents without progress: probes, excuses and their durations.

use super::trace::{check_run, check_run_with, plain};
use crate::{Policy, Span};
use expect_test::{Expect, expect};

fn check(rest: &str, expected: Expect) {
    check_run(&format!("working; {rest}"), expected);
}

#[test]
fn probes_silent_agent_before_stop() {
    check(
        "silent; probe idle 0 of 2; exit 143",
        expect![[r#"
            probe idle 0 of 2 stop stalled term (idle, 0 of 2 busy); > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
    // An agent in an endless loop is not working.
    check(
        "silent; probe busy 0 of 0",
        expect![[r#"
            probe busy 0 of 0 stop stalled term (busy, 0 of 0 busy); > term
        "#]],
    );
    check(
        "silent; probe nothing",
        expect![[r#"
            probe nothing    stop stalled term; > term
        "#]],
    );
}

#[test]
fn probe_times_out_after_30_s() {
    check(
        "tick; probing; +29s; probe idle 0 of 0",
        expect![[r#"
            tick             > probe
            probe idle 0 of 0 stop stalled term (idle, 0 of 0 busy); > term
        "#]],
    );
    check(
        "tick; probing; tick; probe idle 1 of 1; +1h",
        expect![[r#"
            tick             > probe
            tick             stop stalled term; > term
            probe idle 1 of 1 -
        "#]],
    );
}

#[test]
fn activity_during_probe_ends_silence() {
    check(
        "tick; probing; activity; probe idle 0 of 0; silent; probe idle 0 of 0",
        expect![[r#"
            tick             > probe
            activity         -
            probe idle 0 of 0 -
            probe idle 0 of 0 stop stalled term (idle, 0 of 0 busy); > term
        "#]],
    );
    check(
        "tick; probing; cancel term; probe idle 0 of 0; exit 143",
        expect![[r#"
            tick             > probe
            cancel term      suspend by sigterm; stop suspended interrupt; > interrupt
            probe idle 0 of 0 -
            exit 143         interrupted -> resume in 0s: 2 resume s1, continue (interrupted); > sweep; suspended; > finish 143
        "#]],
    );
    check(
        "probe idle 0 of 0",
        expect![[r#"
            probe idle 0 of 0 -
        "#]],
    );
}

#[test]
fn busy_child_excuses_silence_for_an_hour() {
    check(
        "silent; probe idle 1 of 3; silent; probe idle 1 of 3; silent; probe idle 1 of 3; silent; probe idle 1 of 3; silent; probe idle 1 of 3; silent; probe idle 1 of 3; silent; probe idle 1 of 3; silent; probe idle 1 of 3; silent; probe idle 1 of 3",
        expect![[r#"
            probe idle 1 of 3 silent for 7m (idle, 1 of 3 busy): excused for 7m
            probe idle 1 of 3 silent for 14m (idle, 1 of 3 busy): excused for 7m
            probe idle 1 of 3 silent for 21m (idle, 1 of 3 busy): excused for 7m
            probe idle 1 of 3 silent for 28m (idle, 1 of 3 busy): excused for 7m
            probe idle 1 of 3 silent for 35m (idle, 1 of 3 busy): excused for 7m
            probe idle 1 of 3 silent for 42m (idle, 1 of 3 busy): excused for 7m
            probe idle 1 of 3 silent for 49m (idle, 1 of 3 busy): excused for 7m
            probe idle 1 of 3 silent for 56m (idle, 1 of 3 busy): excused for 7m
            probe idle 1 of 3 stop stalled term (idle, 1 of 3 busy); > term
        "#]],
    );
}

#[test]
fn excuse_ends_with_busy_child() {
    check(
        "silent; probe idle 1 of 1; silent; probe idle 0 of 1",
        expect![[r#"
            probe idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            probe idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
    // After activity, the full timeout starts again.
    check(
        "silent; probe idle 1 of 1; activity; +13m; silent; probe idle 0 of 1",
        expect![[r#"
            probe idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            activity         -
            probe idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
}

#[test]
fn frozen_agent_is_never_excused() {
    check(
        "silent; probe frozen 1 of 1",
        expect![[r#"
            probe frozen 1 of 1 stop stalled kill (frozen, 1 of 1 busy); > kill
        "#]],
    );
    check(
        "tool; freezes; silent; probe frozen 1 of 1",
        expect![[r#"
            tool             -
            freezes          -
            probe frozen 1 of 1 stop stalled kill (frozen, 1 of 1 busy); > kill
        "#]],
    );
}

/// A user may stop and continue the agent, and so does `cpulimit`.
#[test]
fn agent_that_was_continued_is_not_frozen() {
    check(
        "tool; freezes; silent; probe idle 1 of 1; +9h; tool ends",
        expect![[r#"
            tool             -
            freezes          -
            probe idle 1 of 1 -
            tool ends        -
        "#]],
    );
    check(
        "freezes; silent; probe idle 1 of 1",
        expect![[r#"
        freezes          -
        probe idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
    "#]],
    );
}

/// The time before the freeze, in which the tool ran, is neither silence nor lack of progress.
#[test]
fn agent_frozen_during_long_tool_stalls() {
    check(
        "tool; +5h; freezes; silent; probe frozen 0 of 1",
        expect![[r#"
            tool             -
            freezes          -
            probe frozen 0 of 1 stop stalled kill (frozen, 0 of 1 busy); > kill
        "#]],
    );
}

#[test]
fn downtime_extends_probe_and_excuse() {
    check(
        "tick; probing; sleep 8h; probe idle 1 of 1; sleep 8h; silent; probe idle 0 of 1",
        expect![[r#"
            tick             > probe
            sleep 8h         downtime 8h
            probe idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            sleep 8h         downtime 8h
            probe idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
}

/// The machine slept before the probe, and the supervisor noticed it only during the probe.
#[test]
fn downtime_noticed_during_probe_is_not_silence() {
    check(
        "+8h; tick; probing; slept 8h; probe idle 0 of 0; silent; probe idle 0 of 0",
        expect![[r#"
            tick             > probe
            slept 8h         downtime 8h
            probe idle 0 of 0 -
            probe idle 0 of 0 stop stalled term (idle, 0 of 0 busy); > term
        "#]],
    );
}

#[test]
fn excuse_applies_to_one_attempt() {
    check(
        "silent; probe idle 1 of 1; signal 9; retry; silent; probe idle 0 of 1",
        expect![[r#"
            probe idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            probe idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
}

#[test]
fn agent_without_progress_stalls() {
    let policy = Policy { progress_timeout: Some(Span::from_mins(20)), ..plain() };
    let check = |rest: &str, expected| check_run_with(&policy, &format!("working; {rest}"), expected);
    check(
        "active 6m; +6m; retrying 1 529; active 6m; tick; exit 143",
        expect![[r#"
            retrying 1 529   -
            tick             stop no_progress term; > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
    check(
        "active 6m; +6m; message; active 6m; active 6m; active 6m; tick",
        expect![[r#"
            message          -
            tick             stop no_progress term; > term
        "#]],
    );
    // A tool may take any time, and its waiting agent may report activity.
    check(
        "tool; +3h; activity; tool-ends; active 6m; active 6m; active 6m; tick",
        expect![[r#"
            tool             -
            activity         -
            tool-ends        progress
            tick             stop no_progress term; > term
        "#]],
    );
    check(
        "active 6m; active 6m; sleep 9h; active 6m; tick",
        expect![[r#"
            sleep 9h         downtime 9h
            tick             stop no_progress term; > term
        "#]],
    );
}

#[test]
fn progress_timeout_works_without_stall_timeout() {
    let policy = Policy { stall_timeout: None, progress_timeout: Some(Span::from_mins(20)), ..plain() };
    check_run_with(
        &policy,
        "working; tick",
        expect![[r#"
            tick             stop no_progress term; > term
        "#]],
    );
}

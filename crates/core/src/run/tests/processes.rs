//! The life of one process: several results, background shells, silence, slow exits, downtime.

use super::trace::{check_run, check_run_with, plain};
use crate::{Policy, Span};
use expect_test::expect;

#[test]
fn last_result_decides() {
    check_run(
        "working; ends ok; exchange; completes",
        expect![[r#"
            ends ok          progress
            exchange         -
            completes        ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check_run(
        "working; ends ok; exchange; fails 529",
        expect![[r#"
            ends ok          progress
            exchange         -
            fails 529        overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
        "#]],
    );
    check_run(
        "working; ends 529; exchange; completes",
        expect![[r#"
            ends 529         -
            exchange         -
            completes        ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn crash_after_earlier_result_counts_as_crash() {
    check_run(
        "working; ends ok; exchange; signal 9",
        expect![[r#"
            ends ok          progress
            exchange         -
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
        "#]],
    );
}

#[test]
fn waits_for_background_shell() {
    check_run(
        "working; shells 1; ends ok; idle; +9m; shells 0; exchange; completes",
        expect![[r#"
            shells 1         -
            ends ok          progress
            idle             -
            shells 0         -
            exchange         -
            completes        ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check_run(
        "working; shells 1; ends ok; idle; +9m; shells 0; tick; exit 0",
        expect![[r#"
            shells 1         -
            ends ok          progress
            idle             -
            shells 0         -
            tick             input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn stopping_background_shell_keeps_result() {
    check_run(
        "working; shells 1; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            shells 1         -
            ends ok          progress
            idle             -
            tick             stop background_stopped term; > term
            exit 143         ok -> done; > sweep
            swept 1          swept 1; done; > finish 0
        "#]],
    );
}

#[test]
fn closes_input_without_idle_notice() {
    check_run(
        "working; ends ok; tick; exit 0",
        expect![[r#"
            ends ok          progress
            tick             input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn stopping_idle_agent_keeps_result() {
    check_run(
        "working; ends ok; idle; tick; tick; signal 9",
        expect![[r#"
            ends ok          progress
            idle             input closed; > close input
            tick             stop did_not_exit term; > term
            tick             stop did_not_exit kill; > kill
            signal 9         ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check_run(
        "working; ends 529; idle; tick; exit 143",
        expect![[r#"
            ends 529         -
            idle             input closed; > close input
            tick             stop did_not_exit term; > term
            exit 143         overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
        "#]],
    );
}

#[test]
fn exchange_started_at_input_close_completes() {
    check_run(
        "working; ends ok; idle; exchange; +3m; ends ok; idle; exit 0",
        expect![[r#"
            ends ok          progress
            idle             input closed; > close input
            exchange         -
            ends ok          -
            idle             -
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check_run(
        "working; ends ok; idle; exchange; tick; exit 143",
        expect![[r#"
            ends ok          progress
            idle             input closed; > close input
            exchange         -
            tick             stop stalled term; > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
}

#[test]
fn tolerates_silent_tool() {
    check_run_with(
        &Policy { attempt_timeout: Some(Span::from_hours(5)), ..plain() },
        "working; tool; +4h; tool-ends; tick",
        expect![[r#"
            tool             -
            tool-ends        progress
            tick             stop stalled term; > term
        "#]],
    );
    check_run_with(
        &Policy { attempt_timeout: Some(Span::from_hours(5)), ..plain() },
        "working; tool; tick",
        expect![[r#"
            tool             -
            tick             stop timed_out term; > term
        "#]],
    );
}

#[test]
fn announced_wait_is_not_silence() {
    check_run(
        "working; +6m; retrying 1 529; +6m; activity; tick",
        expect![[r#"
            retrying 1 529   -
            activity         -
            tick             stop stalled term; > term
        "#]],
    );
}

#[test]
fn downtime_is_not_silence() {
    check_run(
        "working; +1m; sleep 8h; +5m; activity; tick",
        expect![[r#"
            sleep 8h         downtime 8h
            activity         -
            tick             stop stalled term; > term
        "#]],
    );
}

#[test]
fn downtime_during_wait_counts_as_waiting() {
    check_run(
        "working; limit until +2h; fails 429; sleep 3h; tick",
        expect![[r#"
            limit until +2h  -
            fails 429        usage_limit -> park in 2h: 2 resume s1, continue (usage_limit); > sweep
            sleep 3h         downtime 3h
            tick             attempt 2 resume s1, continue (usage_limit); > spawn 2
        "#]],
    );
}

#[test]
fn ignores_downtime_before_start_and_after_finish() {
    check_run(
        "sleep 1h; start; spawn-fails missing; sleep 1h",
        expect![[r#"
            sleep 1h         -
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails missing agent_missing -> not_started by agent_missing; > sweep; not_started by agent_missing; > finish 25
            sleep 1h         -
        "#]],
    );
}

#[test]
fn result_during_stop_finishes_run() {
    check_run(
        "working; tick; ends ok; exit 143",
        expect![[r#"
            tick             stop stalled term; > term
            ends ok          -
            exit 143         progress; ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn ignores_stale_events() {
    check_run(
        "spawn; swept; exit 0; start; start; swept; spawn; spawn; open; open; activity",
        expect![[r#"
            spawn            -
            swept            -
            exit 0           -
            start            run started; attempt 1 new s1, task; > spawn 1
            start            -
            swept            -
            spawn            spawned 7
            spawn            -
            open             opened s1
            open             -
            activity         -
        "#]],
    );
}

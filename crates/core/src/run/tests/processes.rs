//! The life of one process: several results, background shells, silence, slow exits, downtime.

use super::trace::{check_run, check_run_with, plain};
use crate::{Policy, Span};
use expect_test::expect;

#[test]
fn last_result_decides() {
    check_run(
        "start; spawn; open; exchange; ends ok; exchange; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends ok          progress
            exchange         -
            ends ok          -
            idle             input closed; > close input
            exit 0           ok -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; open; exchange; ends ok; exchange; ends 529; idle; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends ok          progress
            exchange         -
            ends 529         -
            idle             input closed; > close input
            exit 1           overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
        "#]],
    );
    check_run(
        "start; spawn; open; exchange; ends 529; exchange; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends 529         -
            exchange         -
            ends ok          progress
            idle             input closed; > close input
            exit 0           ok -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn crash_after_earlier_result_counts_as_crash() {
    check_run(
        "start; spawn; open; exchange; ends ok; exchange; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends ok          progress
            exchange         -
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn waits_for_background_shell() {
    check_run(
        "start; spawn; open; exchange; shells 1; ends ok; idle; +9m; shells 0; exchange; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            shells 1         -
            ends ok          progress
            idle             -
            shells 0         -
            exchange         -
            ends ok          -
            idle             input closed; > close input
            exit 0           ok -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; open; exchange; shells 1; ends ok; idle; +9m; shells 0; tick; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            shells 1         -
            ends ok          progress
            idle             -
            shells 0         -
            tick             input closed; > close input
            exit 0           ok -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn stopping_background_shell_keeps_result() {
    check_run(
        "start; spawn; open; exchange; shells 1; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
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
        "start; spawn; open; exchange; ends ok; tick; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends ok          progress
            tick             input closed; > close input
            exit 0           ok -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn stopping_idle_agent_keeps_result() {
    check_run(
        "start; spawn; open; exchange; ends ok; idle; tick; tick; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends ok          progress
            idle             input closed; > close input
            tick             stop did_not_exit term; > term
            tick             stop did_not_exit kill; > kill
            signal 9         ok -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; open; exchange; ends 529; idle; tick; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends 529         -
            idle             input closed; > close input
            tick             stop did_not_exit term; > term
            exit 143         overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn exchange_started_at_input_close_completes() {
    check_run(
        "start; spawn; open; exchange; ends ok; idle; exchange; +3m; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends ok          progress
            idle             input closed; > close input
            exchange         -
            ends ok          -
            idle             -
            exit 0           ok -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; open; exchange; ends ok; idle; exchange; tick; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            ends ok          progress
            idle             input closed; > close input
            exchange         -
            tick             stop stalled term; > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn tolerates_silent_tool() {
    check_run_with(
        &Policy { attempt_timeout: Some(Span::from_hours(5)), ..plain() },
        "start; spawn; open; exchange; tool; +4h; tool-ends; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            tool             -
            tool-ends        progress
            tick             stop stalled term; > term
        "#]],
    );
    check_run_with(
        &Policy { attempt_timeout: Some(Span::from_hours(5)), ..plain() },
        "start; spawn; open; exchange; tool; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            tool             -
            tick             stop timed_out term; > term
        "#]],
    );
}

#[test]
fn announced_wait_is_not_silence() {
    check_run(
        "start; spawn; open; exchange; +6m; retrying 1 529; +6m; activity; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            retrying 1 529   -
            activity         -
            tick             stop stalled term; > term
        "#]],
    );
}

#[test]
fn downtime_is_not_silence() {
    check_run(
        "start; spawn; open; exchange; +1m; sleep 8h; +5m; activity; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            sleep 8h         downtime 8h
            activity         -
            tick             stop stalled term; > term
        "#]],
    );
}

#[test]
fn downtime_during_wait_counts_as_waiting() {
    check_run(
        "start; spawn; open; exchange; limit until +2h; ends 429; exit 1; swept; sleep 3h; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            limit until +2h  -
            ends 429         -
            exit 1           usage_limit -> park in 2h: 2 resume s1, continue (usage_limit); > sweep
            swept            swept 0
            sleep 3h         downtime 3h
            tick             attempt 2 resume s1, continue (usage_limit); > spawn 2
        "#]],
    );
}

#[test]
fn ignores_downtime_before_start_and_after_finish() {
    check_run(
        "sleep 1h; start; spawn-fails missing; swept; sleep 1h",
        expect![[r#"
            sleep 1h         -
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails missing agent_missing -> not_started by agent_missing; > sweep
            swept            swept 0; not_started by agent_missing; > finish 25
            sleep 1h         -
        "#]],
    );
}

#[test]
fn result_during_stop_finishes_run() {
    check_run(
        "start; spawn; open; exchange; tick; ends ok; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            exchange         -
            tick             stop stalled term; > term
            ends ok          -
            exit 143         progress; ok -> done; > sweep
            swept            swept 0; done; > finish 0
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

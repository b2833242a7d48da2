//! Life of one process: several results, background shells, silence, slow exits, sleep.

use super::trace::{check_run, check_run_with, plain};
use crate::{Policy, Span};
use expect_test::expect;

#[test]
fn last_result_decides() {
    check_run(
        "start; spawn; open; turn; ends ok; turn; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            turn             -
            ends ok          -
            idle             input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends ok; turn; ends 529; idle; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            turn             -
            ends 529         -
            idle             input ended; > end input
            exit 1           overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends 529; turn; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 529         -
            turn             -
            ends ok          progress
            idle             input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn crash_after_earlier_result_is_crash() {
    check_run(
        "start; spawn; open; turn; ends ok; turn; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            turn             -
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn waits_for_background_shell() {
    check_run(
        "start; spawn; open; turn; shells 1; ends ok; idle; +9m; shells 0; turn; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            shells 1         -
            ends ok          progress
            idle             -
            shells 0         -
            turn             -
            ends ok          -
            idle             input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; open; turn; shells 1; ends ok; idle; +9m; shells 0; tick; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            shells 1         -
            ends ok          progress
            idle             -
            shells 0         -
            tick             input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn stopping_background_shell_keeps_result() {
    check_run(
        "start; spawn; open; turn; shells 1; ends ok; idle; tick; exit 143; swept 1",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            shells 1         -
            ends ok          progress
            idle             -
            tick             stop background_stopped term; > term
            exit 143         well -> done; > sweep
            swept 1          swept 1; done; > finish 0
        "#]],
    );
}

#[test]
fn closes_input_without_idle_notice() {
    check_run(
        "start; spawn; open; turn; ends ok; tick; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            tick             input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn stopping_idle_agent_keeps_result() {
    check_run(
        "start; spawn; open; turn; ends ok; idle; tick; tick; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            idle             input ended; > end input
            tick             stop did_not_exit term; > term
            tick             stop did_not_exit kill; > kill
            signal 9         well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends 529; idle; tick; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 529         -
            idle             input ended; > end input
            tick             stop did_not_exit term; > term
            exit 143         overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn exchange_started_at_input_close_may_finish() {
    check_run(
        "start; spawn; open; turn; ends ok; idle; turn; +3m; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            idle             input ended; > end input
            turn             -
            ends ok          -
            idle             -
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends ok; idle; turn; tick; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            idle             input ended; > end input
            turn             -
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
        "start; spawn; open; turn; tool; +4h; tool-ends; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            tool             -
            tool-ends        progress
            tick             stop stalled term; > term
        "#]],
    );
    check_run_with(
        &Policy { attempt_timeout: Some(Span::from_hours(5)), ..plain() },
        "start; spawn; open; turn; tool; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            tool             -
            tick             stop timed_out term; > term
        "#]],
    );
}

#[test]
fn announced_wait_is_not_silence() {
    check_run(
        "start; spawn; open; turn; +6m; retrying 1 529; +6m; stir; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            retrying 1 529   -
            stir             -
            tick             stop stalled term; > term
        "#]],
    );
}

#[test]
fn sleep_is_not_silence() {
    check_run(
        "start; spawn; open; turn; +1m; sleep 8h; +5m; stir; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            sleep 8h         slept 8h
            stir             -
            tick             stop stalled term; > term
        "#]],
    );
}

#[test]
fn sleep_counts_as_waiting() {
    check_run(
        "start; spawn; open; turn; limit until +2h; ends 429; exit 1; swept; sleep 3h; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            limit until +2h  -
            ends 429         -
            exit 1           usage_limit -> park in 2h: 2 resume s1, continue (usage_limit); > sweep
            swept            swept 0
            sleep 3h         slept 3h
            tick             attempt 2 resume s1, continue (usage_limit); > spawn 2
        "#]],
    );
}

#[test]
fn ignores_sleep_before_start_and_after_finish() {
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
fn result_at_stop_finishes_run() {
    check_run(
        "start; spawn; open; turn; tick; ends ok; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            tick             stop stalled term; > term
            ends ok          -
            exit 143         progress; well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn ignores_stale_events() {
    check_run(
        "spawn; swept; exit 0; start; start; swept; spawn; spawn; open; open; stir",
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
            stir             -
        "#]],
    );
}

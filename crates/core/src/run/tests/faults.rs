//! Every row of the table of faults: what is decided, what follows, what it ends as.

use super::trace::{check_run, check_run_with, plain};
use crate::{Policy, ServerBound, SessionLoss, Span};
use expect_test::expect;

#[test]
fn work_that_is_done_is_done() {
    check_run(
        "start; spawn; open; turn; tool; tool-ends; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            tool             -
            tool-ends        progress
            ends ok          -
            idle             input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn an_overloaded_api_is_waited_out() {
    check_run(
        "start; spawn; open; turn; ends 529; idle; exit 1; swept; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 529         -
            idle             input ended; > end input
            exit 1           overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (overloaded); > spawn 2
        "#]],
    );
}

#[test]
fn young_walls_of_overload_have_a_low_cap() {
    check_run(
        "start; spawn; open; turn; ends 529; exit 1; swept; tick; spawn; ends 529; exit 1; swept; tick; spawn; ends 529; exit 1; swept; tick; spawn; ends 529; exit 1; swept; tick; spawn; ends 529; exit 1; swept; +3m; spawn; tick; spawn; ends 529; exit 1",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 529         -
            exit 1           overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (overloaded); > spawn 2
            spawn            spawned 7
            ends 529         -
            exit 1           overloaded -> wait_out in 4s: 3 resume s1, continue (overloaded); > sweep
            swept            swept 0
            tick             attempt 3 resume s1, continue (overloaded); > spawn 3
            spawn            spawned 7
            ends 529         -
            exit 1           overloaded -> wait_out in 8s: 4 resume s1, continue (overloaded); > sweep
            swept            swept 0
            tick             attempt 4 resume s1, continue (overloaded); > spawn 4
            spawn            spawned 7
            ends 529         -
            exit 1           overloaded -> wait_out in 15s: 5 resume s1, continue (overloaded); > sweep
            swept            swept 0
            tick             attempt 5 resume s1, continue (overloaded); > spawn 5
            spawn            spawned 7
            ends 529         -
            exit 1           overloaded -> wait_out in 15s: 6 resume s1, continue (overloaded); > sweep
            swept            swept 0
            spawn            -
            tick             attempt 6 resume s1, continue (overloaded); > spawn 6
            spawn            spawned 7
            ends 529         -
            exit 1           overloaded -> wait_out in 1m 4s: 7 resume s1, continue (overloaded); > sweep
        "#]],
    );
}

#[test]
fn a_rate_limit_is_waited_out_and_its_hint_is_a_floor() {
    check_run(
        "start; spawn; open; turn; ends 429; idle; exit 1; swept; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 429         -
            idle             input ended; > end input
            exit 1           rate_limited -> wait_out in 2s: 2 resume s1, continue (rate_limited); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (rate_limited); > spawn 2
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends 429; hint 45s; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 429         -
            exit 1           rate_limited -> wait_out in 46s: 2 resume s1, continue (rate_limited); > sweep
            swept            swept 0
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends 429; hint 1s; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 429         -
            exit 1           rate_limited -> wait_out in 2s: 2 resume s1, continue (rate_limited); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn a_server_error_is_waited_out() {
    check_run(
        "start; spawn; open; turn; ends 500; idle; exit 1; swept; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 500         -
            idle             input ended; > end input
            exit 1           server_error -> wait_out in 2s: 2 resume s1, continue (server_error); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (server_error); > spawn 2
        "#]],
    );
}

#[test]
fn a_network_fault_is_waited_out() {
    check_run(
        "start; spawn; open; turn; ends network; idle; exit 1; swept; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends network     -
            idle             input ended; > end input
            exit 1           network -> wait_out in 2s: 2 resume s1, continue (network); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (network); > spawn 2
        "#]],
    );
}

#[test]
fn a_captive_portal_is_waited_out_once() {
    check_run(
        "start; spawn; open; turn; ends portal; exit 1; swept; tick; spawn; ends portal; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends portal      -
            exit 1           network -> wait_out in 2s: 2 resume s1, continue (network); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (network); > spawn 2
            spawn            spawned 7
            ends portal      -
            exit 1           network -> needs_person by network; > sweep
            swept            swept 0; needs_person by network; > finish 23
        "#]],
    );
}

#[test]
fn a_usage_limit_is_parked_until_its_reset() {
    check_run(
        "start; spawn; open; turn; limit until +2h; ends 429; idle; exit 1; swept; tick; spawn",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            limit until +2h  -
            ends 429         -
            idle             input ended; > end input
            exit 1           usage_limit -> park in 2h: 2 resume s1, continue (usage_limit); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (usage_limit); > spawn 2
            spawn            spawned 7
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends usage; exit 1; swept; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends usage       -
            exit 1           usage_limit -> park in 37s: 2 resume s1, continue (usage_limit); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (usage_limit); > spawn 2
        "#]],
    );
}

#[test]
fn a_usage_limit_longer_than_the_patience_ends() {
    check_run_with(
        &Policy { max_wait: Some(Span::from_hours(1)), ..plain() },
        "start; spawn; open; turn; limit until +2h; ends 429; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            limit until +2h  -
            ends 429         -
            exit 1           usage_limit -> retry_later by usage_limit in 2h; > sweep
            swept            swept 0; retry_later by usage_limit in 2h; > finish 75
        "#]],
    );
}

#[test]
fn a_wall_ends_at_its_limit() {
    check_run_with(
        &Policy { server_bound: ServerBound::Time(Some(Span::from_mins(10))), ..plain() },
        "start; spawn; open; turn; ends 500; exit 1; swept; tick; spawn; +9m; ends 500; exit 1; swept; tick; spawn; +58s; ends 500; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 500         -
            exit 1           server_error -> wait_out in 2s: 2 resume s1, continue (server_error); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (server_error); > spawn 2
            spawn            spawned 7
            ends 500         -
            exit 1           server_error -> wait_out in 4s: 3 resume s1, continue (server_error); > sweep
            swept            swept 0
            tick             attempt 3 resume s1, continue (server_error); > spawn 3
            spawn            spawned 7
            ends 500         -
            exit 1           server_error -> retry_later by server_error in 8s; > sweep
            swept            swept 0; retry_later by server_error in 8s; > finish 75
        "#]],
    );
}

#[test]
fn progress_ends_a_wall() {
    check_run_with(
        &Policy { server_bound: ServerBound::Time(Some(Span::from_mins(10))), ..plain() },
        "start; spawn; open; turn; ends 500; exit 1; swept; tick; spawn; +9m; tool; tool-ends; +9m; ends 500; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 500         -
            exit 1           server_error -> wait_out in 2s: 2 resume s1, continue (server_error); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (server_error); > spawn 2
            spawn            spawned 7
            tool             -
            tool-ends        progress
            ends 500         -
            exit 1           server_error -> wait_out in 2s: 3 resume s1, continue (server_error); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn a_crash_is_resumed_five_times_without_progress() {
    check_run(
        "start; spawn; open; turn; signal 9; swept 2; tick; spawn; signal 9; swept; tick; spawn; signal 9; swept; tick; spawn; signal 9; swept; tick; spawn; signal 9; swept; tick; spawn; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept 2          swept 2
            tick             attempt 2 resume s1, continue (crashed); > spawn 2
            spawn            spawned 7
            signal 9         crashed -> resume in 4s: 3 resume s1, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 3 resume s1, continue (crashed); > spawn 3
            spawn            spawned 7
            signal 9         crashed -> resume in 8s: 4 resume s1, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 4 resume s1, continue (crashed); > spawn 4
            spawn            spawned 7
            signal 9         crashed -> resume in 16s: 5 resume s1, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 5 resume s1, continue (crashed); > spawn 5
            spawn            spawned 7
            signal 9         crashed -> resume in 32s: 6 resume s1, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 6 resume s1, continue (crashed); > spawn 6
            spawn            spawned 7
            signal 9         crashed -> failed by crashed; > sweep
            swept            swept 0; failed by crashed; > finish 20
        "#]],
    );
}

#[test]
fn progress_forgives_crashes() {
    check_run(
        "start; spawn; open; turn; signal 9; swept; tick; spawn; signal 9; swept; tick; spawn; open; tool; tool-ends; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (crashed); > spawn 2
            spawn            spawned 7
            signal 9         crashed -> resume in 4s: 3 resume s1, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 3 resume s1, continue (crashed); > spawn 3
            spawn            spawned 7
            open             -
            tool             -
            tool-ends        progress
            signal 9         crashed -> resume in 2s: 4 resume s1, continue (crashed); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn a_spawn_is_no_progress() {
    check_run(
        "start; spawn; signal 9; swept; tick; spawn; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            signal 9         crashed -> resume in 2s: 2 new s2, task; > sweep
            swept            swept 0
            tick             attempt 2 new s2, task; > spawn 2
            spawn            spawned 7
            signal 9         crashed -> resume in 4s: 3 new s3, task; > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn an_interrupted_agent_is_resumed() {
    check_run(
        "start; spawn; open; turn; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            exit 143         interrupted -> resume in 2s: 2 resume s1, continue (interrupted); > sweep
            swept            swept 0
        "#]],
    );
    check_run(
        "start; spawn; open; turn; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            exit 0           interrupted -> resume in 2s: 2 resume s1, continue (interrupted); > sweep
            swept            swept 0
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends aborted; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends aborted     -
            idle             input ended; > end input
            exit 0           interrupted -> resume in 2s: 2 resume s1, continue (interrupted); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn a_memory_kill_is_resumed_once() {
    check_run(
        "start; spawn; open; turn; oom; signal 9; swept; tick; spawn; open; tool; tool-ends; oom; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            signal 9         out_of_memory -> resume_once in 32s: 2 resume s1, continue (out_of_memory); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (out_of_memory); > spawn 2
            spawn            spawned 7
            open             -
            tool             -
            tool-ends        progress
            signal 9         out_of_memory -> failed by out_of_memory; > sweep
            swept            swept 0; failed by out_of_memory; > finish 20
        "#]],
    );
}

#[test]
fn a_hang_is_stopped_and_resumed() {
    check_run(
        "start; spawn; open; turn; tick; exit 143; swept; tick; spawn",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            tick             stop stalled term; > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (stalled); > spawn 2
            spawn            spawned 7
        "#]],
    );
}

#[test]
fn a_hang_that_heeds_nothing_is_killed() {
    check_run(
        "start; spawn; open; turn; tick; tick; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            tick             stop stalled term; > term
            tick             stop stalled kill; > kill
            signal 9         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn what_cannot_be_killed_is_our_bug() {
    check_run(
        "start; spawn; open; turn; tick; tick; tick; tick; tick",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            tick             stop stalled term; > term
            tick             stop stalled kill; > kill
            tick             stop stalled kill; > kill
            tick             stop stalled kill; > kill
            tick             bug; > finish 70
        "#]],
    );
}

#[test]
fn a_timeout_is_resumed_while_attempts_progress() {
    check_run_with(
        &Policy { attempt_timeout: Some(Span::from_mins(5)), ..plain() },
        "start; spawn; open; turn; tool; tool-ends; tick; exit 143; swept; spawn; tick; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            tool             -
            tool-ends        progress
            tick             stop attempt_timeout term; > term
            exit 143         attempt_timeout -> resume_while_progressing in 0s: 2 resume s1, continue (attempt_timeout); > sweep
            swept            swept 0; attempt 2 resume s1, continue (attempt_timeout); > spawn 2
            spawn            spawned 7
            tick             stop attempt_timeout term; > term
            exit 143         attempt_timeout -> out_of_time by attempt_timeout; > sweep
            swept            swept 0; out_of_time by attempt_timeout; > finish 22
        "#]],
    );
}

#[test]
fn a_named_session_that_is_nowhere_is_refused() {
    check_run(
        "start resume mine; spawn; refuses lost; exit 1; swept",
        expect![[r#"
            start resume mine run started; attempt 1 resume mine, task; > spawn 1
            spawn            spawned 7
            exit 1           session_lost -> refused by session_lost; > sweep
            swept            swept 0; refused by session_lost; > finish 25
        "#]],
    );
}

#[test]
fn a_session_lost_in_the_run_is_begun_anew_once() {
    check_run(
        "start; spawn; open; turn; signal 9; swept; tick; spawn; refuses lost; exit 1; swept; spawn; open; signal 9; swept; tick; spawn; refuses lost; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (crashed); > spawn 2
            spawn            spawned 7
            exit 1           session_lost -> next_rung in 0s: 3 new s2, task again (session_lost); > sweep
            swept            swept 0; attempt 3 new s2, task again (session_lost); > spawn 3
            spawn            spawned 7
            open             opened s2
            signal 9         crashed -> resume in 4s: 4 resume s2, continue (crashed); > sweep
            swept            swept 0
            tick             attempt 4 resume s2, continue (crashed); > spawn 4
            spawn            spawned 7
            exit 1           session_lost -> failed by session_lost; > sweep
            swept            swept 0; failed by session_lost; > finish 20
        "#]],
    );
}

#[test]
fn a_lost_session_may_be_replaced_silently() {
    check_run_with(
        &Policy { session_loss: SessionLoss::Fresh, ..plain() },
        "start resume mine; spawn; refuses lost; exit 1; swept; spawn; open",
        expect![[r#"
            start resume mine run started; attempt 1 resume mine, task; > spawn 1
            spawn            spawned 7
            exit 1           session_lost -> next_rung in 0s: 2 new s2, task; > sweep
            swept            swept 0; attempt 2 new s2, task; > spawn 2
            spawn            spawned 7
            open             opened s2
        "#]],
    );
}

#[test]
fn a_session_that_exists_is_resumed() {
    check_run(
        "start; spawn; refuses in-use; exit 1; swept; spawn; open; refuses in-use; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            exit 1           session_exists -> resume_existing in 0s: 2 resume s1, task; > sweep
            swept            swept 0; attempt 2 resume s1, task; > spawn 2
            spawn            spawned 7
            open             opened s1
            exit 1           session_exists -> failed by session_exists; > sweep
            swept            swept 0; failed by session_exists; > finish 20
        "#]],
    );
}

#[test]
fn a_session_that_is_held_is_refused() {
    check_run(
        "start resume mine; spawn; refuses held; exit 1; swept",
        expect![[r#"
            start resume mine run started; attempt 1 resume mine, task; > spawn 1
            spawn            spawned 7
            exit 1           session_busy -> refused by session_busy; > sweep
            swept            swept 0; refused by session_busy; > finish 25
        "#]],
    );
}

#[test]
fn a_full_context_begins_a_new_session_once() {
    check_run(
        "start; spawn; open; turn; ends full; exit 1; swept; spawn; open; ends full; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends full        -
            exit 1           context_full -> fresh_session in 0s: 2 new s2, task again (context_full); > sweep
            swept            swept 0; attempt 2 new s2, task again (context_full); > spawn 2
            spawn            spawned 7
            open             opened s2
            ends full        -
            exit 1           context_full -> failed by context_full; > sweep
            swept            swept 0; failed by context_full; > finish 20
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends full; exit 1; swept; spawn; open; tool; tool-ends; ends full; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends full        -
            exit 1           context_full -> fresh_session in 0s: 2 new s2, task again (context_full); > sweep
            swept            swept 0; attempt 2 new s2, task again (context_full); > spawn 2
            spawn            spawned 7
            open             opened s2
            tool             -
            tool-ends        progress
            ends full        -
            exit 1           context_full -> fresh_session in 0s: 3 new s3, task again (context_full); > sweep
            swept            swept 0; attempt 3 new s3, task again (context_full); > spawn 3
        "#]],
    );
}

#[test]
fn a_cut_answer_is_asked_for_in_smaller_steps_twice() {
    check_run(
        "start; spawn; open; turn; ends cut; exit 1; swept; spawn; ends cut; exit 1; swept; spawn; ends cut; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends cut         -
            exit 1           output_limit -> nudge smaller_steps in 0s: 2 resume s1, nudge to smaller_steps; > sweep
            swept            swept 0; attempt 2 resume s1, nudge to smaller_steps; > spawn 2
            spawn            spawned 7
            ends cut         -
            exit 1           output_limit -> nudge smaller_steps in 0s: 3 resume s1, nudge to smaller_steps; > sweep
            swept            swept 0; attempt 3 resume s1, nudge to smaller_steps; > spawn 3
            spawn            spawned 7
            ends cut         -
            exit 1           output_limit -> failed by output_limit; > sweep
            swept            swept 0; failed by output_limit; > finish 20
        "#]],
    );
}

#[test]
fn a_missing_answer_is_asked_for_twice() {
    check_run(
        "start; spawn; open; turn; ends empty; idle; exit 0; swept; spawn; ends empty; exit 0; swept; spawn; ends empty; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends empty       -
            idle             input ended; > end input
            exit 0           unfinished -> nudge finish in 0s: 2 resume s1, nudge to finish; > sweep
            swept            swept 0; attempt 2 resume s1, nudge to finish; > spawn 2
            spawn            spawned 7
            ends empty       -
            exit 0           unfinished -> nudge finish in 0s: 3 resume s1, nudge to finish; > sweep
            swept            swept 0; attempt 3 resume s1, nudge to finish; > spawn 3
            spawn            spawned 7
            ends empty       -
            exit 0           unfinished -> failed by unfinished; > sweep
            swept            swept 0; failed by unfinished; > finish 20
        "#]],
    );
}

#[test]
fn a_lapsed_guard_needs_a_person() {
    check_run(
        "start; spawn; open; turn; lapse; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends ok          progress
            idle             input ended; > end input
            exit 0           guard_lapsed -> needs_person by guard_lapsed; > sweep
            swept            swept 0; needs_person by guard_lapsed; > finish 23
        "#]],
    );
}

#[test]
fn denied_tools_need_a_person_unless_accepted() {
    check_run(
        "start; spawn; open; turn; ends denied; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends denied      progress
            idle             input ended; > end input
            exit 0           permission -> needs_person by permission; > sweep
            swept            swept 0; needs_person by permission; > finish 23
        "#]],
    );
    check_run_with(
        &Policy { allow_denials: true, ..plain() },
        "start; spawn; open; turn; ends denied; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends denied      progress
            idle             input ended; > end input
            exit 0           permission -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn rejected_credentials_end_at_once() {
    check_run(
        "start; spawn; open; turn; ends 401; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 401         -
            exit 1           auth -> needs_person by auth; > sweep
            swept            swept 0; needs_person by auth; > finish 23
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends 403; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 403         -
            exit 1           auth -> needs_person by auth; > sweep
            swept            swept 0; needs_person by auth; > finish 23
        "#]],
    );
}

#[test]
fn the_second_rejection_in_a_retry_ends_at_once() {
    check_run(
        "start; spawn; open; turn; retrying 1 401; retrying 1 401; retrying 2 401; exit 143; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            retrying 1 401   -
            retrying 1 401   -
            retrying 2 401   stop auth_rejected term; > term
            exit 143         auth -> needs_person by auth; > sweep
            swept            swept 0; needs_person by auth; > finish 23
        "#]],
    );
    check_run(
        "start; spawn; open; turn; retrying 1 529; retrying 2 401; retrying 3 529; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            retrying 1 529   -
            retrying 2 401   -
            retrying 3 529   -
            ends ok          progress
            idle             input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

#[test]
fn an_account_that_cannot_pay_ends_at_once() {
    check_run(
        "start; spawn; open; turn; ends credit; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends credit      -
            exit 1           billing -> needs_person by billing; > sweep
            swept            swept 0; needs_person by billing; > finish 23
        "#]],
    );
}

#[test]
fn an_unknown_model_ends_at_once() {
    check_run(
        "start; spawn; open; turn; ends model; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends model       -
            exit 1           model_unknown -> failed by model_unknown; > sweep
            swept            swept 0; failed by model_unknown; > finish 20
        "#]],
    );
}

#[test]
fn a_refusal_ends_at_once() {
    check_run(
        "start; spawn; open; turn; ends refusal; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends refusal     -
            exit 1           refused -> failed by refused; > sweep
            swept            swept 0; failed by refused; > finish 20
        "#]],
    );
}

#[test]
fn a_bad_request_is_tried_once_on_a_fork() {
    check_run(
        "start; spawn; open; turn; ends 400; exit 1; swept; spawn; open; ends 400; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 400         -
            exit 1           bad_request -> other_session in 0s: 2 fork s1 to s2, continue (bad_request); > sweep
            swept            swept 0; attempt 2 fork s1 to s2, continue (bad_request); > spawn 2
            spawn            spawned 7
            open             opened s2
            ends 400         -
            exit 1           bad_request -> failed by bad_request; > sweep
            swept            swept 0; failed by bad_request; > finish 20
        "#]],
    );
    check_run(
        "start; spawn; ends 400; exit 1; swept; spawn",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            ends 400         -
            exit 1           bad_request -> other_session in 0s: 2 new s2, task; > sweep
            swept            swept 0; attempt 2 new s2, task; > spawn 2
            spawn            spawned 7
        "#]],
    );
}

#[test]
fn a_fork_that_died_early_is_forked_again() {
    check_run(
        "start; spawn; open; turn; ends 400; exit 1; swept; spawn; signal 9; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends 400         -
            exit 1           bad_request -> other_session in 0s: 2 fork s1 to s2, continue (bad_request); > sweep
            swept            swept 0; attempt 2 fork s1 to s2, continue (bad_request); > spawn 2
            spawn            spawned 7
            signal 9         crashed -> resume in 4s: 3 fork s1 to s3, continue (bad_request); > sweep
            swept            swept 0
        "#]],
    );
}

#[test]
fn a_missing_or_unusable_agent_is_refused() {
    check_run(
        "start; spawn-fails missing; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails missing agent_missing -> refused by agent_missing; > sweep
            swept            swept 0; refused by agent_missing; > finish 25
        "#]],
    );
    check_run(
        "start; spawn-fails unusable; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails unusable agent_unusable -> refused by agent_unusable; > sweep
            swept            swept 0; refused by agent_unusable; > finish 25
        "#]],
    );
    check_run(
        "start; spawn; refuses unusable; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            exit 1           agent_unusable -> refused by agent_unusable; > sweep
            swept            swept 0; refused by agent_unusable; > finish 25
        "#]],
    );
}

#[test]
fn a_spawn_without_resources_is_tried_again() {
    check_run(
        "start; spawn-fails no-room; swept; tick; spawn",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails no-room crashed -> resume in 2s: 2 new s2, task; > sweep
            swept            swept 0
            tick             attempt 2 new s2, task; > spawn 2
            spawn            spawned 7
        "#]],
    );
}

#[test]
fn the_agents_own_limits_end_the_run() {
    check_run(
        "start; spawn; open; turn; ends turns; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends turns       -
            exit 1           turn_limit -> out_of_time by turn_limit; > sweep
            swept            swept 0; out_of_time by turn_limit; > finish 22
        "#]],
    );
    check_run(
        "start; spawn; open; turn; ends budget; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends budget      -
            exit 1           agent_budget -> over_budget by agent_budget; > sweep
            swept            swept 0; over_budget by agent_budget; > finish 21
        "#]],
    );
}

#[test]
fn an_unknown_fault_is_retried_once_with_care_and_keeps_its_evidence() {
    check_run(
        "start; spawn; open; turn; ends unclear; exit 1; swept; tick; spawn; ends unclear; exit 1; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            ends unclear     -
            exit 1           unknown, evidence kept -> retry_once in 32s: 2 resume s1, continue (unknown); > sweep
            swept            swept 0
            tick             attempt 2 resume s1, continue (unknown); > spawn 2
            spawn            spawned 7
            ends unclear     -
            exit 1           unknown, evidence kept -> needs_person by unknown; > sweep
            swept            swept 0; needs_person by unknown; > finish 23
        "#]],
    );
}

#[test]
fn errors_in_mid_run_that_the_agent_survives_are_nothing() {
    check_run(
        "start; spawn; open; turn; retrying 1 529; retrying 2 529; limit until +1h; tool; tool-ends; ends ok; idle; exit 0; swept",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            open             opened s1
            turn             -
            retrying 1 529   -
            retrying 2 529   -
            limit until +1h  -
            tool             -
            tool-ends        progress
            ends ok          -
            idle             input ended; > end input
            exit 0           well -> done; > sweep
            swept            swept 0; done; > finish 0
        "#]],
    );
}

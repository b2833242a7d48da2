//! Faults of processes: crashes, interrupts, memory, stalls, timeouts, failed spawns.

use super::trace::{check_rest, check_run, check_run_with, plain};
use crate::{Policy, Span};
use expect_test::expect;

#[test]
fn resumes_five_times_after_crash_without_progress() {
    check_rest(
        &format!("working{}", "; signal 9; retry".repeat(5)),
        "signal 9",
        expect![[r#"
            signal 9         crashed -> failed by crashed; > sweep; failed by crashed; > finish 20
        "#]],
    );
}

#[test]
fn progress_resets_crash_count() {
    check_rest(
        "working; signal 9; retry",
        "signal 9; retry; open; works; signal 9",
        expect![[r#"
            signal 9         crashed -> resume in 4s: 3 resume s1, continue (crashed); > sweep
            open             -
            signal 9         crashed -> resume in 2s: 4 resume s1, continue (crashed); > sweep
        "#]],
    );
}

#[test]
fn spawn_is_not_progress() {
    check_run(
        "start; spawn; signal 9; tick; spawn; signal 9",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            signal 9         crashed -> resume in 2s: 2 new s2, task; > sweep
            tick             attempt 2 new s2, task; strategy fresh (never opened); > spawn 2
            spawn            spawned 7
            signal 9         crashed -> resume in 4s: 3 new s3, task; > sweep
        "#]],
    );
}

#[test]
fn resumes_interrupted_agent() {
    check_run(
        "working; exit 143",
        expect![[r#"
            exit 143         interrupted -> resume in 2s: 2 resume s1, continue (interrupted); > sweep
        "#]],
    );
    check_run(
        "working; exit 0",
        expect![[r#"
            exit 0           interrupted -> resume in 2s: 2 resume s1, continue (interrupted); > sweep
        "#]],
    );
    check_run(
        "working; ends aborted; idle; exit 0",
        expect![[r#"
            ends aborted     -
            idle             input closed; > close input
            exit 0           interrupted -> resume in 2s: 2 resume s1, continue (interrupted); > sweep
        "#]],
    );
}

#[test]
fn resumes_once_after_memory_kill() {
    check_run(
        "working; oom; signal 9; retry; open; works; oom; signal 9",
        expect![[r#"
            signal 9         out_of_memory -> resume_once in 32s: 2 resume s1, continue (out_of_memory); > sweep
            open             -
            signal 9         out_of_memory -> failed by out_of_memory; > sweep; failed by out_of_memory; > finish 20
        "#]],
    );
}

#[test]
fn resumes_once_after_invalid_results() {
    check_run(
        "working; ends invalid; idle; exit 1; retry; open; works; ends invalid; idle; exit 1; reopen",
        expect![[r#"
            ends invalid     -
            idle             input closed; > close input
            exit 1           invalid_result -> resume_once in 32s: 2 resume s1, continue (invalid_result); > sweep
            open             -
            ends invalid     -
            idle             input closed; > close input
            exit 1           invalid_result -> check_failed by invalid_result; > sweep; check_failed by invalid_result; > finish 24
            reopen           reopened; attempt 3 resume s1, continue (invalid_result); > spawn 3
        "#]],
    );
}

#[test]
fn stops_and_resumes_stalled_agent() {
    check_run(
        "working; tick; exit 143; retry",
        expect![[r#"
            tick             stop stalled term; > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
}

#[test]
fn kills_frozen_agent_despite_running_tool() {
    check_run(
        "working; tool; freezes; tick; signal 9",
        expect![[r#"
        tool             -
        freezes          -
        tick             stop stalled kill; > kill
        signal 9         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
    "#]],
    );
    // The process was continued (SIGCONT).
    check_run(
        "working; tool; freezes; +1h; activity; tool-ends; tick",
        expect![[r#"
        tool             -
        freezes          -
        activity         -
        tool-ends        progress
        tick             stop stalled term; > term
    "#]],
    );
}

#[test]
fn kills_unresponsive_agent() {
    check_run(
        "working; tick; tick; signal 9",
        expect![[r#"
            tick             stop stalled term; > term
            tick             stop stalled kill; > kill
            signal 9         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
}

#[test]
fn unkillable_process_is_bug() {
    check_run(
        "working; tick; tick; tick; tick; tick; tick; tick; tick; recover gone",
        expect![[r#"
            tick             stop stalled term; > term
            tick             stop stalled kill; > kill
            tick             stop stalled kill; > kill
            tick             stop stalled kill; > kill
            tick             stop stalled kill; > kill
            tick             stop stalled kill; > kill
            tick             stop stalled kill; > kill
            tick             bug; > sweep; > finish 70
            recover gone     recovered (finished); > sweep; > finish 70
        "#]],
    );
}

#[test]
fn resumes_after_timeout_while_progressing() {
    check_run_with(
        &Policy { attempt_timeout: Some(Span::from_mins(5)), ..plain() },
        "working; works; tick; exit 143; spawn; tick; exit 143",
        expect![[r#"
            tick             stop timed_out term; > term
            exit 143         attempt_timeout -> resume_while_progressing in 0s: 2 resume s1, continue (attempt_timeout); > sweep; attempt 2 resume s1, continue (attempt_timeout); > spawn 2
            spawn            spawned 7
            tick             stop timed_out term; > term
            exit 143         attempt_timeout -> out_of_time by attempt_timeout; > sweep; out_of_time by attempt_timeout; > finish 22
        "#]],
    );
}

#[test]
fn retries_spawn_without_resources() {
    check_run(
        "start; spawn-fails no-resources; tick; spawn",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails no-resources crashed -> resume in 2s: 2 new s2, task; > sweep
            tick             attempt 2 new s2, task; strategy fresh (never opened); > spawn 2
            spawn            spawned 7
        "#]],
    );
}

#[test]
fn retries_unknown_fault_once_and_keeps_evidence() {
    check_run(
        "working; fails unclear; retry; fails unclear",
        expect![[r#"
            fails unclear    unknown, evidence kept -> retry_once in 32s: 2 resume s1, continue (unknown); > sweep
            fails unclear    unknown, evidence kept -> needs_person by unknown; > sweep; needs_person by unknown; > finish 23
        "#]],
    );
}

//! Cancellation: from every source, in every phase.

use super::trace::{check_built_run, check_rest, check_rest_with, check_run, check_run_with, plain};
use crate::{Checks, OnTerminate, Policy};
use expect_test::expect;

#[test]
fn person_cancel_interrupts_and_keeps_result() {
    check_run(
        "working; tool; cancel person; ends aborted; exit 0",
        expect![[r#"
            tool             -
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            ends aborted     input closed; > close input
            exit 0           interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn ignored_interrupt_escalates() {
    check_run(
        "working; cancel person; tick; exit 143",
        expect![[r#"
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            tick             stop cancelled term; > term
            exit 143         interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
    check_rest(
        "working; cancel person; tick",
        "tick; signal 9",
        expect![[r#"
            tick             stop cancelled kill; > kill
            signal 9         crashed -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn second_cancel_stops_at_once() {
    check_run(
        "working; cancel person; +1s; cancel now; exit 143",
        expect![[r#"
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            cancel now       cancel by person_now; stop cancelled term; > term
            exit 143         interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn sigterm_and_sighup_suspend() {
    for (signal, name, exit_code) in [("term", "sigterm", 143), ("hup", "sighup", 129)] {
        let next = "resume in 0s: 2 resume s1, continue (interrupted)";
        check_built_run(
            &format!("working; cancel {signal}; exit 143"),
            &[
                format!("cancel {signal:<9} suspend by {name}; stop suspended interrupt; > interrupt"),
                format!("exit 143         interrupted -> {next}; > sweep; suspended; > finish {exit_code}"),
            ],
        );
    }
}

#[test]
fn agent_that_is_stopped_before_its_first_message_is_an_agent() {
    check_rest(
        "start; spawn",
        "refuses no-agent; cancel term; exit 0",
        expect![[r#"
            cancel term      suspend by sigterm; stop suspended interrupt; > interrupt
            exit 0           interrupted -> resume in 0s: 2 new s2, task; > sweep; suspended; > finish 143
        "#]],
    );
    check_rest(
        "start; spawn",
        "refuses no-agent; exit 0",
        expect![[r#"
            exit 0           agent_unusable, evidence kept -> not_started by agent_unusable; > sweep; not_started by agent_unusable; > finish 25
        "#]],
    );
}

#[test]
fn sigterm_cancels_if_configured() {
    let policy = Policy { on_terminate: OnTerminate::Cancel, ..plain() };
    check_run_with(
        &policy,
        "working; cancel term; exit 143",
        expect![[r#"
            cancel term      cancel by sigterm; stop cancelled term; > term
            exit 143         interrupted -> cancelled; > sweep; cancelled; > finish 143
        "#]],
    );
}

const SUSPENDED_WAIT: &str = "working; fails 529; swept; cancel term; +8h";
const SUSPENDED_CHECK: &str = "working; completes; swept; cancel term; check stopped; +8h";

fn with_checks() -> Policy {
    let checks = Checks { failures_max: 3, timeout: None, ..Checks::new(vec!["true".to_owned()]) };
    Policy { checks: Some(checks), ..plain() }
}

#[test]
fn suspended_run_returns_to_its_phase() {
    // The wait continues unchanged. The time of the suspension is neither active nor waiting.
    check_run(
        &format!("{SUSPENDED_WAIT}; recover; retry"),
        expect![[r#"
            fails 529        overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
            cancel term      suspend by sigterm; suspended; > finish 143
            recover          recovered (suspended)
        "#]],
    );
    check_run_with(
        &with_checks(),
        &format!("{SUSPENDED_CHECK}; recover; check passes"),
        expect![[r#"
            completes        ok -> check; > sweep
            swept            swept 0; check started; > check 1
            cancel term      suspend by sigterm; stop check (suspended); > stop check
            check stopped    suspended; > finish 143
            recover          recovered (suspended); > check 1
            check passes     check passed; done; > finish 0
        "#]],
    );
}

#[test]
fn run_is_stopped_when_taken_over() {
    // No agent starts, in any phase.
    check_rest(
        "start",
        "recover never after person",
        expect![[r#"
            recover never after person recovered (not_started); cancel by person; interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
    check_rest(
        "start",
        "recover never after term",
        expect![[r#"
            recover never after term recovered (not_started); suspend by sigterm; suspended; > finish 143
        "#]],
    );
    check_run(
        "working; recover gone after person; swept",
        expect![[r#"
            recover gone after person recovered (agent_gone); cancel by person; stop cancelled interrupt; interrupted -> cancelled; > sweep
            swept            swept 0; cancelled; > finish 130
        "#]],
    );
    check_rest(
        "working; fails 529; swept",
        "recover gone after now",
        expect![[r#"
            recover gone after now recovered (waiting); cancel by person_now; cancelled; > finish 130
        "#]],
    );
    check_rest(
        SUSPENDED_WAIT,
        "recover after person",
        expect![[r#"
            recover after person recovered (suspended); cancel by person; cancelled; > finish 130
        "#]],
    );
    check_rest(
        SUSPENDED_WAIT,
        "recover after term",
        expect![[r#"
            recover after term recovered (suspended); suspend by sigterm; suspended; > finish 143
        "#]],
    );
    check_rest_with(
        &with_checks(),
        SUSPENDED_CHECK,
        "recover after person",
        expect![[r#"
            recover after person recovered (suspended); cancel by person; stop check (cancelled); check stopped; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn suspension_counts_no_retry_and_escalates_fast() {
    check_run(
        "working; cancel term; +2s; tick; +2s; tick; signal 9; swept; cancel hup; recover; retry; open; exchange; fails 529",
        expect![[r#"
            cancel term      suspend by sigterm; stop suspended interrupt; > interrupt
            tick             stop suspended term; > term
            tick             stop suspended kill; > kill
            signal 9         interrupted -> resume in 0s: 2 resume s1, continue (interrupted); > sweep
            swept            swept 0; suspended; > finish 143
            cancel hup       -
            recover          recovered (suspended)
            open             -
            exchange         -
            fails 529        overloaded -> wait_out in 2s: 3 resume s1, continue (overloaded); > sweep
        "#]],
    );
}

#[test]
fn ctrl_c_cancels_suspending_run() {
    check_run(
        "working; cancel term; cancel person; exit 143",
        expect![[r#"
            cancel term      suspend by sigterm; stop suspended interrupt; > interrupt
            cancel person    cancel by person
            exit 143         interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn ignores_cancel_before_start_and_after_finish() {
    check_run(
        "cancel person; start; spawn-fails missing; swept; cancel term",
        expect![[r#"
            cancel person    -
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails missing agent_missing -> not_started by agent_missing; > sweep
            swept            swept 0; not_started by agent_missing; > finish 25
            cancel term      -
        "#]],
    );
}

#[test]
fn cancel_while_starting_stops_process_after_spawn() {
    let check = |rest, expected| check_rest("start", rest, expected);
    check(
        "cancel person; spawn; exit 0",
        expect![[r#"
            cancel person    cancel by person
            spawn            spawned 7; stop cancelled interrupt; > interrupt
            exit 0           interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
    check(
        "cancel term; spawn; exit 143",
        expect![[r#"
            cancel term      suspend by sigterm
            spawn            spawned 7; stop suspended interrupt; > interrupt
            exit 143         interrupted -> resume in 0s: 2 new s2, task; > sweep; suspended; > finish 143
        "#]],
    );
    check(
        "cancel now; spawn-fails no-resources",
        expect![[r#"
            cancel now       cancel by person_now
            spawn-fails no-resources interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn cancels_while_closing() {
    check_run(
        "working; ends ok; idle; cancel person; exit 0",
        expect![[r#"
            ends ok          progress
            idle             input closed; > close input
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check_run(
        "working; ends 529; idle; cancel term; exit 143",
        expect![[r#"
            ends 529         -
            idle             input closed; > close input
            cancel term      suspend by sigterm; stop suspended term; > term
            exit 143         overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep; suspended; > finish 143
        "#]],
    );
}

#[test]
fn cancels_while_stopping() {
    check_run(
        "working; tick; cancel person; exit 143",
        expect![[r#"
            tick             stop stalled term; > term
            cancel person    cancel by person
            exit 143         stalled -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
    check_run(
        "working; tick; cancel now; cancel now; exit 143",
        expect![[r#"
            tick             stop stalled term; > term
            cancel now       cancel by person_now
            cancel now       -
            exit 143         stalled -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
}

#[test]
fn cancels_while_sweeping() {
    check_run(
        "working; signal 9; cancel hup; swept",
        expect![[r#"
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            cancel hup       suspend by sighup
            swept            swept 0; suspended; > finish 129
        "#]],
    );
    check_run(
        "working; ends ok; exit 0; cancel person; swept",
        expect![[r#"
            ends ok          progress
            exit 0           ok -> done; > sweep
            cancel person    cancel by person
            swept            swept 0; done; > finish 0
        "#]],
    );
    check_run(
        "working; fails 401; cancel person; swept",
        expect![[r#"
            fails 401        auth -> needs_person by auth; > sweep
            cancel person    cancel by person
            swept            swept 0; needs_person by auth; > finish 23
        "#]],
    );
}

#[test]
fn cancels_while_waiting() {
    check_run(
        "working; fails 529; +1s; cancel person",
        expect![[r#"
            fails 529        overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            cancel person    cancel by person; cancelled; > finish 130
        "#]],
    );
    check_run(
        "working; fails 529; swept; cancel term",
        expect![[r#"
            fails 529        overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            swept            swept 0
            cancel term      suspend by sigterm; suspended; > finish 143
        "#]],
    );
}

#[test]
fn cancel_keeps_finished_work() {
    check_run(
        "working; cancel person; ends ok; exit 0",
        expect![[r#"
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            ends ok          input closed; > close input
            exit 0           progress; ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

//! Silent agents, and those that go on saying things: what is seen of their processes, what that excuses, and
//! for how long.

use super::trace::{check_rest_with, plain};
use crate::{Policy, Span};
use expect_test::{Expect, expect};

const WORKING: &str = "start; spawn; open; turn";

fn check(rest: &str, expected: Expect) {
    check_rest_with(&plain(), WORKING, rest, expected);
}

#[test]
fn a_silent_agent_is_looked_at_before_it_is_stopped() {
    check(
        "tick; sees idle 0 of 2; exit 143",
        expect![[r#"
            tick             > examine
            sees idle 0 of 2 stop stalled term (idle, 0 of 2 busy); > term
            exit 143         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
    // The agent's own turning in circles is no work.
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
fn who_looks_has_half_a_minute() {
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
fn what_was_heard_during_a_look_ends_the_silence() {
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
fn a_busy_child_excuses_a_silence_for_an_hour() {
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
fn an_excuse_ends_with_the_work() {
    check(
        "tick; sees idle 1 of 1; tick; sees idle 0 of 1",
        expect![[r#"
            tick             > examine
            sees idle 1 of 1 silent for 7m (idle, 1 of 1 busy): excused for 7m
            tick             > examine
            sees idle 0 of 1 stop stalled term (idle, 0 of 1 busy); > term
        "#]],
    );
    // Heard again, the agent has its whole patience anew.
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
fn nobody_excuses_an_agent_that_stands_still() {
    check(
        "tick; sees halted 1 of 1",
        expect![[r#"
            tick             > examine
            sees halted 1 of 1 stop stalled kill (halted, 1 of 1 busy); > kill
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

/// However long the tool ran before: that was no silence of the agent, and nothing that it left unfinished.
#[test]
fn standing_still_under_a_long_tool_is_a_silence() {
    check(
        "tool; +5h; halts; tick; sees halted 0 of 1",
        expect![[r#"
            tool             -
            halts            -
            tick             > examine
            sees halted 0 of 1 stop stalled kill (halted, 0 of 1 busy); > kill
        "#]],
    );
}

#[test]
fn sleep_moves_a_look_and_an_excuse() {
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
fn an_excuse_is_of_one_attempt() {
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
fn an_agent_that_finishes_nothing_is_stalled() {
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
    // A tool may take its time, and whoever waits for it may say so.
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
fn a_limit_of_progress_can_be_without_one_of_silence() {
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

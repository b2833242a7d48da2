//! Resuming a finished run: the same run, in its session, with its clocks and its usage.

use super::trace::{check_run, plain, records_of};
use crate::{Run, Span};
use expect_test::expect;

#[test]
fn resumes_cancelled_run_in_its_session() {
    check_run(
        "opened; bill 9; cancel person; ends aborted; exit 0; +1h; reopen; spawn; open; exchange; completes",
        expect![[r#"
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            ends aborted     input closed; > close input
            exit 0           interrupted -> cancelled; > sweep; cancelled; > finish 130
            reopen           reopened; attempt 2 resume s1, continue (interrupted); > spawn 2
            spawn            spawned 7
            open             -
            exchange         -
            completes        ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn resumes_done_run_with_prompt_or_task() {
    check_run(
        "opened; bill 9; completes; reopen now the docs",
        expect![[r#"
            completes        ok -> done; > sweep; done; > finish 0
            reopen now the docs reopened; attempt 2 resume s1, follow-up; > spawn 2
        "#]],
    );
    check_run(
        "opened; bill 9; completes; reopen again",
        expect![[r#"
            completes        ok -> done; > sweep; done; > finish 0
            reopen again     reopened; attempt 2 resume s1, task; > spawn 2
        "#]],
    );
}

/// The agent may be missing for a moment, while it is updated.
#[test]
fn request_that_reached_no_session_is_sent_again() {
    check_run(
        "opened; bill 9; completes; reopen now the docs; spawn-fails missing; reopen",
        expect![[r#"
            completes        ok -> done; > sweep; done; > finish 0
            reopen now the docs reopened; attempt 2 resume s1, follow-up; > spawn 2
            spawn-fails missing agent_missing -> failed by agent_missing; > sweep; failed by agent_missing; > finish 20
            reopen           reopened; attempt 3 resume s1, follow-up; > spawn 3
        "#]],
    );
    check_run(
        "opened; bill 9; completes; reopen now the docs; spawn-fails resources; tick",
        expect![[r#"
            completes        ok -> done; > sweep; done; > finish 0
            reopen now the docs reopened; attempt 2 resume s1, follow-up; > spawn 2
            spawn-fails resources crashed -> resume in 2s: 3 resume s1, follow-up; > sweep
            tick             attempt 3 resume s1, follow-up; > spawn 3
        "#]],
    );
    check_run(
        "opened; bill 9; completes; reopen again; cancel person; spawn-fails resources; reopen",
        expect![[r#"
            completes        ok -> done; > sweep; done; > finish 0
            reopen again     reopened; attempt 2 resume s1, task; > inspect s1
            cancel person    cancel by person
            spawn-fails resources interrupted -> cancelled; > sweep; cancelled; > finish 130
            reopen           reopened; attempt 3 resume s1, task; > spawn 3
        "#]],
    );
    // The agent received it.
    check_run(
        "opened; bill 9; completes; reopen now the docs; spawn; open; exchange; cancel person; ends aborted; exit 0; reopen",
        expect![[r#"
            completes        ok -> done; > sweep; done; > finish 0
            reopen now the docs reopened; attempt 2 resume s1, follow-up; > spawn 2
            spawn            spawned 7
            open             -
            exchange         -
            cancel person    cancel by person; stop cancelled interrupt; > interrupt
            ends aborted     input closed; > close input
            exit 0           interrupted -> cancelled; > sweep; cancelled; > finish 130
            reopen           reopened; attempt 3 resume s1, continue (interrupted); > spawn 3
        "#]],
    );
}

#[test]
fn resuming_repeats_a_plan_whose_session_never_opened() {
    check_run(
        "start resume s7; found ready; refuses held; exit 1; reopen",
        expect![[r#"
            start resume s7  run started; attempt 1 resume s7, task; > inspect s7
            found ready      strategy as_is (ready); > spawn 1
            exit 1           session_busy -> not_started by session_busy; > sweep; not_started by session_busy; > finish 25
            reopen           reopened; attempt 2 resume s7, task; > spawn 2
        "#]],
    );
    // A session that is lost stays lost.
    check_run(
        "start resume s7; found ready; refuses lost; exit 1; reopen",
        expect![[r#"
            start resume s7  run started; attempt 1 resume s7, task; > inspect s7
            found ready      strategy as_is (ready); > spawn 1
            exit 1           session_lost -> not_started by session_lost; > sweep; not_started by session_lost; > finish 25
            reopen           reopened; attempt 2 new s2, task; strategy fresh (never opened); > spawn 2
        "#]],
    );
}

#[test]
fn resuming_without_session_starts_one() {
    check_run(
        "start; spawn-fails missing; reopen",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails missing agent_missing -> not_started by agent_missing; > sweep; not_started by agent_missing; > finish 25
            reopen           reopened; attempt 2 new s2, task; strategy fresh (never opened); > spawn 2
        "#]],
    );
    check_run(
        "opened; bill 9; fails full; spawn; fails full; reopen",
        expect![[r#"
            fails full       context_full -> replace_full_session in 0s: 2 new s2, task after loss (context_full); > sweep; attempt 2 new s2, task after loss (context_full); strategy handoff (context_full); > spawn 2
            spawn            spawned 7
            fails full       context_full -> replace_full_session in 0s: 3 new s3, task after loss (context_full); > sweep; attempt 3 new s3, task after loss (context_full); strategy fresh (context_full); > spawn 3
            reopen           -
        "#]],
    );
}

#[test]
fn ignores_resume_of_unfinished_run() {
    check_run(
        "reopen; start; reopen; spawn; reopen",
        expect![[r#"
        reopen           -
        start            run started; attempt 1 new s1, task; > spawn 1
        reopen           -
        spawn            spawned 7
        reopen           -
    "#]],
    );
}

#[test]
fn resuming_resets_retries_and_keeps_clocks_and_usage() {
    let crash = "signal 9; swept; tick; spawn; open;";
    let trace = format!("start; spawn; open; bill 9; {}signal 9; swept; +1h; reopen", crash.repeat(5));
    let run = Run::replay(&records_of(&plain(), &trace));
    let state = run.state();
    assert_eq!((state.failures_since_progress, state.attempts(), state.outcome()), (0, 7, None));
    assert_eq!(state.usage.messages, 1);
    assert_eq!(state.clocks.finished, Span::from_hours(1));
    let at = state.attempt_started_at;
    assert_eq!(
        state.clocks.wall(at),
        state.clocks.waiting,
        "the run worked for no time, and was finished for an hour"
    );
}

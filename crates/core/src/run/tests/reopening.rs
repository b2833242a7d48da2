//! Resuming a finished run: the same run, in its session, with its clocks and its usage.

use super::trace::{check_built_rest, check_rest, check_run, plain, records_of, replay};
use crate::Span;
use expect_test::expect;

#[test]
fn resumes_cancelled_run_in_its_session() {
    check_rest(
        "opened; bill 9; cancels",
        "+1h; reopen; spawn; open; exchange; completes",
        expect![[r#"
            reopen           reopened; attempt 2 resume s1, continue (interrupted); > spawn 2
            spawn            spawned 7
            open             -
            exchange         -
            completes        ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

const DONE: &str = "opened; bill 9; completes";

#[test]
fn resumes_done_run_with_prompt_or_task() {
    check_rest(
        DONE,
        "reopen now the docs",
        expect![[r#"
            reopen now the docs reopened; attempt 2 resume s1, follow-up; > spawn 2
        "#]],
    );
    check_rest(
        DONE,
        "reopen again",
        expect![[r#"
            reopen again     reopened; attempt 2 resume s1, task; > spawn 2
        "#]],
    );
}

/// The agent may be missing for a moment, while it is updated.
#[test]
fn request_that_reached_no_session_is_sent_again() {
    let with_prompt = format!("{DONE}; reopen now the docs");
    check_rest(
        &with_prompt,
        "spawn-fails missing; reopen",
        expect![[r#"
            spawn-fails missing agent_missing -> failed by agent_missing; > sweep; failed by agent_missing; > finish 20
            reopen           reopened; attempt 3 resume s1, follow-up; > spawn 3
        "#]],
    );
    check_rest(
        &with_prompt,
        "spawn-fails resources; retry",
        expect![[r#"
            spawn-fails resources crashed -> resume in 2s: 3 resume s1, follow-up; > sweep
        "#]],
    );
    check_rest(
        DONE,
        "reopen again; cancel person; spawn-fails resources; reopen",
        expect![[r#"
            reopen again     reopened; attempt 2 resume s1, task; > inspect s1
            cancel person    cancel by person
            spawn-fails resources interrupted -> cancelled; > sweep; cancelled; > finish 130
            reopen           reopened; attempt 3 resume s1, task; > spawn 3
        "#]],
    );
    // The agent received it.
    check_rest(
        &with_prompt,
        "spawn; open; exchange; cancels; reopen",
        expect![[r#"
            spawn            spawned 7
            open             -
            exchange         -
            cancels          interrupted -> cancelled; > sweep; cancelled; > finish 130
            reopen           reopened; attempt 3 resume s1, continue (interrupted); > spawn 3
        "#]],
    );
}

#[test]
fn resuming_repeats_a_plan_whose_session_never_opened() {
    // A session that is lost stays lost.
    let rows = [
        ("held", "session_busy", "attempt 2 resume s7, task"),
        ("lost", "session_lost", "attempt 2 new s2, task; strategy fresh (never opened)"),
    ];
    for (refusal, fault, next) in rows {
        let outcome = format!("not_started by {fault}");
        check_built_rest(
            "start resume s7; found ready",
            &format!("refuses {refusal}; exit 1; reopen"),
            &[
                format!("exit 1           {fault} -> {outcome}; > sweep; {outcome}; > finish 25"),
                format!("reopen           reopened; {next}; > spawn 2"),
            ],
        );
    }
}

#[test]
fn resuming_without_session_starts_one() {
    check_rest(
        "start; spawn-fails missing",
        "reopen",
        expect![[r#"
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
    let run = replay(&records_of(&plain(), &trace));
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

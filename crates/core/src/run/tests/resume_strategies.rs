//! Resume strategies: each for its reason, and none twice for the same reason.

use super::trace::{check_built_rest, check_rest, check_run};
use expect_test::{Expect, expect};

/// After a crash whose attempt left a history, the next attempt is due.
const CRASHED: &str = "opened; bill 9; signal 9; tick";

fn check_after_crash(rest: &str, expected: Expect) {
    check_rest(CRASHED, rest, expected);
}

#[test]
fn inspects_session_before_resume() {
    check_run(
        "opened; bill 9; signal 9; inspect; found ready; spawn",
        expect![[r#"
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            found ready      strategy as_is (ready); > spawn 2
            spawn            spawned 7
        "#]],
    );
}

#[test]
fn relocates_session_once() {
    check_after_crash(
        "found elsewhere; crashes; inspect; found elsewhere",
        expect![[r#"
            found elsewhere  strategy relocate (elsewhere); > spawn 2
            crashes          crashed -> resume in 4s: 3 resume s1, continue (crashed); > sweep
            found elsewhere  session_lost -> replace_lost_session in 0s: 4 new s2, task after loss (session_lost); > sweep; attempt 4 new s2, task after loss (session_lost); strategy handoff (session_lost); > spawn 4
        "#]],
    );
}

#[test]
fn repairs_damaged_or_stale_session_once() {
    for state in ["damaged", "stale"] {
        check_built_rest(
            CRASHED,
            &format!("found {state}; crashes; inspect; found {state}"),
            &[
                format!("found {state:<10} strategy repair ({state}); > spawn 2"),
                "crashes          crashed -> resume in 4s: 3 resume s1, continue (crashed); > sweep"
                    .to_owned(),
                format!("found {state:<10} strategy as_is ({state}); > spawn 3"),
            ],
        );
    }
}

#[test]
fn repairs_session_again_after_progress() {
    check_after_crash(
        "found damaged; spawn; works; signal 9; inspect; found damaged",
        expect![[r#"
            found damaged    strategy repair (damaged); > spawn 2
            spawn            spawned 7
            signal 9         crashed -> resume in 2s: 3 resume s1, continue (crashed); > sweep
            found damaged    strategy repair (damaged); > spawn 3
        "#]],
    );
}

#[test]
fn replaces_missing_session_without_spawn() {
    check_after_crash(
        "found missing; opens; signal 9; inspect; found missing",
        expect![[r#"
            found missing    session_lost -> replace_lost_session in 0s: 3 new s2, task after loss (session_lost); > sweep; attempt 3 new s2, task after loss (session_lost); strategy handoff (session_lost); > spawn 3
            signal 9         crashed -> resume in 4s: 4 resume s2, continue (crashed); > sweep
            found missing    session_lost -> replace_lost_session in 0s: 5 new s3, task after loss (session_lost); > sweep; attempt 5 new s3, task after loss (session_lost); strategy fresh (session_lost); > spawn 5
        "#]],
    );
}

#[test]
fn repeats_task_after_unused_session() {
    check_run(
        "opened; signal 9; inspect; found empty; spawn",
        expect![[r#"
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            found empty      session_lost -> replace_lost_session in 0s: 3 new s2, task; > sweep; attempt 3 new s2, task; strategy fresh (never opened); > spawn 3
            spawn            spawned 7
        "#]],
    );
    // A session that the user named had a history, so it is lost, not unused.
    check_rest(
        "start resume s9; found ready; spawn; open; signal 9; tick",
        "found missing",
        expect![[r#"
            found missing    session_lost -> replace_lost_session in 0s: 3 new s2, task after loss (session_lost); > sweep; attempt 3 new s2, task after loss (session_lost); strategy fresh (session_lost); > spawn 3
        "#]],
    );
}

#[test]
fn rejects_missing_named_session() {
    check_rest(
        "start resume s9",
        "found missing",
        expect![[r#"
            found missing    session_lost -> not_started by session_lost; > sweep; not_started by session_lost; > finish 25
        "#]],
    );
}

#[test]
fn stops_agent_in_wrong_session() {
    check_run(
        "start resume 0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0; spawn; open 11111111-0ac1-426d-a6e3-2ba958d9e0e0; bill 9; exit 143",
        expect![[r#"
            start resume 0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0 run started; attempt 1 resume s2, task; > spawn 1
            spawn            spawned 7
            open 11111111-0ac1-426d-a6e3-2ba958d9e0e0 stop wrong_session term; > term
            exit 143         session_lost -> replace_lost_session in 0s: 2 new s3, task after loss (session_lost); > sweep; attempt 2 new s3, task after loss (session_lost); strategy handoff (session_lost); > spawn 2
        "#]],
    );
    // A title is not an id: only the agent knows which session it names.
    check_run(
        "start resume my-title; spawn; open 11111111-0ac1-426d-a6e3-2ba958d9e0e0; signal 9; tick",
        expect![[r#"
            start resume my-title run started; attempt 1 resume my-title, task; > spawn 1
            spawn            spawned 7
            open 11111111-0ac1-426d-a6e3-2ba958d9e0e0 opened s2
            signal 9         crashed -> resume in 2s: 2 resume s2, continue (crashed); > sweep
            tick             attempt 2 resume s2, continue (crashed); > spawn 2
        "#]],
    );
}

#[test]
fn work_without_history_is_not_successful() {
    const RESUMED: &str = "opened; bill 9; signal 9; retry; open; exchange; bill 9; ends ok";
    check_rest(
        RESUMED,
        "history unrelated; idle; exit 0",
        expect![[r#"
            idle             input closed; > close input
            exit 0           session_lost -> replace_lost_session in 0s: 3 new s2, task after loss (session_lost); > sweep; attempt 3 new s2, task after loss (session_lost); strategy handoff (session_lost); > spawn 3
        "#]],
    );
    check_rest(
        RESUMED,
        "history branched; idle; exit 0",
        expect![[r#"
            idle             input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn resends_lost_prompt() {
    check_run(
        "start resume s9; spawn; open; history unchanged; signal 9; retry; history unchanged; signal 9; tick",
        expect![[r#"
            start resume s9  run started; attempt 1 resume s9, task; > spawn 1
            spawn            spawned 7
            open             opened s9
            signal 9         crashed -> resume in 2s: 2 resume s9, task; > sweep
            signal 9         crashed -> resume in 4s: 3 resume s9, task; > sweep
            tick             attempt 3 resume s9, task; > spawn 3
        "#]],
    );
}

#[test]
fn recovery_repeats_session_inspection() {
    check_after_crash(
        "found damaged; recover never; recover never; spawn",
        expect![[r#"
            found damaged    strategy repair (damaged); > spawn 2
            recover never    recovered (not_started); > spawn 2
            recover never    recovered (not_started); > spawn 2
            spawn            spawned 7
        "#]],
    );
    check_run(
        "start resume s9; recover never; found elsewhere; recover never; cancel term; recover never; swept",
        expect![[r#"
            start resume s9  run started; attempt 1 resume s9, task; > inspect s9
            recover never    recovered (not_started); > inspect s9
            found elsewhere  strategy relocate (elsewhere); > spawn 1
            recover never    recovered (not_started); > spawn 1
            cancel term      suspend by sigterm
            recover never    recovered (not_started); > spawn 1
            swept            -
        "#]],
    );
    check_run(
        "start resume s9; cancel person; found ready",
        expect![[r#"
            start resume s9  run started; attempt 1 resume s9, task; > inspect s9
            cancel person    cancel by person
            found ready      interrupted -> cancelled; > sweep; cancelled; > finish 130
        "#]],
    );
}

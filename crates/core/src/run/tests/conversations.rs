//! Sessions that are lost, exist already, are in use or full, and answers that are truncated, missing or
//! rejected.

use super::trace::{check_built_run, check_rest, check_rest_with_both, check_run, plain};
use crate::{Policy, SessionLoss};
use expect_test::expect;

#[test]
fn rejects_named_session_that_is_missing_or_in_use() {
    for (refusal, fault) in [("lost", "session_lost"), ("held", "session_busy")] {
        let outcome = format!("not_started by {fault}");
        check_built_run(
            &format!("start resume mine; spawn; refuses {refusal}; exit 1"),
            &[
                "start resume mine run started; attempt 1 resume mine, task; > spawn 1".to_owned(),
                "spawn            spawned 7".to_owned(),
                format!("exit 1           {fault} -> {outcome}; > sweep; {outcome}; > finish 25"),
            ],
        );
    }
}

/// A session was lost after a crash, and its replacement is open.
const REPLACED: &str = "working; signal 9; retry; refuses lost; exit 1; opens";

#[test]
fn replaces_lost_session_once() {
    check_run(
        &format!("{REPLACED}; signal 9; retry; refuses lost; exit 1"),
        expect![[r#"
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            exit 1           session_lost -> replace_lost_session in 0s: 3 new s2, task; > sweep; attempt 3 new s2, task; strategy fresh (never opened); > spawn 3
            signal 9         crashed -> resume in 4s: 4 resume s2, continue (crashed); > sweep
            exit 1           session_lost -> failed by session_lost; > sweep; failed by session_lost; > finish 20
        "#]],
    );
}

#[test]
fn replaces_each_session_that_an_outage_loses() {
    check_rest(
        REPLACED,
        "fails 529; retry; refuses lost; exit 1",
        expect![[r#"
            fails 529        overloaded -> wait_out in 2s: 4 resume s2, continue (overloaded); > sweep
            exit 1           session_lost -> replace_lost_session in 0s: 5 new s3, task; > sweep; attempt 5 new s3, task; strategy fresh (never opened); > spawn 5
        "#]],
    );
}

#[test]
fn replaces_lost_session_of_the_user() {
    let policies = [SessionLoss::Fresh, SessionLoss::FreshWithWarning]
        .map(|session_loss| Policy { session_loss, ..plain() });
    check_rest_with_both(
        &policies,
        "",
        "start resume mine; spawn; refuses lost; exit 1; opens",
        expect![[r#"
            start resume mine run started; attempt 1 resume mine, task; > spawn 1
            spawn            spawned 7
            exit 1           session_lost -> replace_lost_session in 0s: 2 new s2, task; > sweep; attempt 2 new s2, task; strategy fresh (never opened); > spawn 2
        "#]],
    );
}

#[test]
fn resumes_existing_session() {
    check_run(
        "start; spawn; refuses in-use; exit 1; spawn; open; refuses in-use; exit 1",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            exit 1           session_exists -> resume_existing in 0s: 2 resume s1, task; > sweep; attempt 2 resume s1, task; > spawn 2
            spawn            spawned 7
            open             opened s1
            exit 1           session_exists -> failed by session_exists; > sweep; failed by session_exists; > finish 20
        "#]],
    );
}

#[test]
fn replaces_full_session_once() {
    check_run(
        "working; fails full; opens; fails full",
        expect![[r#"
            fails full       context_full -> replace_full_session in 0s: 2 new s2, task after loss (context_full); > sweep; attempt 2 new s2, task after loss (context_full); strategy fresh (context_full); > spawn 2
            fails full       context_full -> failed by context_full; > sweep; failed by context_full; > finish 20
        "#]],
    );
    check_run(
        "working; fails full; opens; works; fails full",
        expect![[r#"
            fails full       context_full -> replace_full_session in 0s: 2 new s2, task after loss (context_full); > sweep; attempt 2 new s2, task after loss (context_full); strategy fresh (context_full); > spawn 2
            fails full       context_full -> replace_full_session in 0s: 3 new s3, task after loss (context_full); > sweep; attempt 3 new s3, task after loss (context_full); strategy fresh (context_full); > spawn 3
        "#]],
    );
}

#[test]
fn nudges_twice_for_truncated_answer() {
    check_run(
        "working; fails truncated; spawn; fails truncated; spawn; fails truncated",
        expect![[r#"
            fails truncated  output_limit -> nudge smaller_steps in 0s: 2 resume s1, nudge to smaller_steps; > sweep; attempt 2 resume s1, nudge to smaller_steps; > spawn 2
            spawn            spawned 7
            fails truncated  output_limit -> nudge smaller_steps in 0s: 3 resume s1, nudge to smaller_steps; > sweep; attempt 3 resume s1, nudge to smaller_steps; > spawn 3
            spawn            spawned 7
            fails truncated  output_limit -> failed by output_limit; > sweep; failed by output_limit; > finish 20
        "#]],
    );
}

#[test]
fn nudges_again_after_progress() {
    let truncated = "fails truncated; spawn; ";
    check_run(
        &format!("working; {truncated}{truncated}tool; tool-ends; {truncated}fails truncated"),
        expect![[r#"
            fails truncated  output_limit -> nudge smaller_steps in 0s: 2 resume s1, nudge to smaller_steps; > sweep; attempt 2 resume s1, nudge to smaller_steps; > spawn 2
            spawn            spawned 7
            fails truncated  output_limit -> nudge smaller_steps in 0s: 3 resume s1, nudge to smaller_steps; > sweep; attempt 3 resume s1, nudge to smaller_steps; > spawn 3
            spawn            spawned 7
            tool             -
            tool-ends        progress
            fails truncated  output_limit -> nudge smaller_steps in 0s: 4 resume s1, nudge to smaller_steps; > sweep; attempt 4 resume s1, nudge to smaller_steps; > spawn 4
            spawn            spawned 7
            fails truncated  output_limit -> nudge smaller_steps in 0s: 5 resume s1, nudge to smaller_steps; > sweep; attempt 5 resume s1, nudge to smaller_steps; > spawn 5
        "#]],
    );
}

#[test]
fn nudges_twice_for_missing_answer() {
    check_run(
        "working; ends empty; idle; exit 0; spawn; ends empty; exit 0; spawn; ends empty; exit 0",
        expect![[r#"
            ends empty       -
            idle             input closed; > close input
            exit 0           unfinished -> nudge answer in 0s: 2 resume s1, nudge to answer; > sweep; attempt 2 resume s1, nudge to answer; > spawn 2
            spawn            spawned 7
            ends empty       -
            exit 0           unfinished -> nudge answer in 0s: 3 resume s1, nudge to answer; > sweep; attempt 3 resume s1, nudge to answer; > spawn 3
            spawn            spawned 7
            ends empty       -
            exit 0           unfinished -> failed by unfinished; > sweep; failed by unfinished; > finish 20
        "#]],
    );
}

#[test]
fn forks_once_after_bad_request_without_progress() {
    check_run(
        "working; fails 400; opens; fails 400",
        expect![[r#"
            fails 400        bad_request -> try_fork in 0s: 2 fork s1 to s2, continue (bad_request); > sweep; attempt 2 fork s1 to s2, continue (bad_request); > spawn 2
            fails 400        bad_request -> failed by bad_request; > sweep; failed by bad_request; > finish 20
        "#]],
    );
    check_run(
        "working; fails 400; opens; works; fails 400; opens; fails 400",
        expect![[r#"
            fails 400        bad_request -> try_fork in 0s: 2 fork s1 to s2, continue (bad_request); > sweep; attempt 2 fork s1 to s2, continue (bad_request); > spawn 2
            fails 400        bad_request -> try_fork in 0s: 3 fork s2 to s3, continue (bad_request); > sweep; attempt 3 fork s2 to s3, continue (bad_request); > spawn 3
            fails 400        bad_request -> failed by bad_request; > sweep; failed by bad_request; > finish 20
        "#]],
    );
    check_run(
        "start; spawn; fails 400; spawn",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            fails 400        bad_request -> try_fork in 0s: 2 new s2, task; > sweep; attempt 2 new s2, task; strategy fresh (never opened); > spawn 2
            spawn            spawned 7
        "#]],
    );
}

#[test]
fn repeats_fork_after_early_crash() {
    check_run(
        "working; fails 400; crashes",
        expect![[r#"
            fails 400        bad_request -> try_fork in 0s: 2 fork s1 to s2, continue (bad_request); > sweep; attempt 2 fork s1 to s2, continue (bad_request); > spawn 2
            crashes          crashed -> resume in 4s: 3 fork s1 to s3, continue (bad_request); > sweep
        "#]],
    );
}

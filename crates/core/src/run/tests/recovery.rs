//! Takeover by a new supervisor in every phase, with the process running, gone or never started.

use super::trace::{check_rest, check_run};
use expect_test::expect;

#[test]
fn recovers_while_starting() {
    let check = |rest, expected| check_rest("start", rest, expected);
    check(
        "recover never; spawn",
        expect![[r#"
            recover never    recovered (not_started); > spawn 1
            spawn            spawned 7
        "#]],
    );
    check(
        "recover live; open",
        expect![[r#"
            recover live     recovered (agent_running); spawned 7
            open             opened s1
        "#]],
    );
    check(
        "unsupervised open; recover gone; tick",
        expect![[r#"
            recover gone     recovered (agent_gone); opened s1; crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            tick             attempt 2 resume s1, continue (crashed); > spawn 2
        "#]],
    );
    check(
        "cancel term; recover never; swept",
        expect![[r#"
            cancel term      suspend by sigterm
            recover never    recovered (not_started); > spawn 1
            swept            -
        "#]],
    );
    check(
        "cancel term; recover live; exit 143",
        expect![[r#"
            cancel term      suspend by sigterm
            recover live     recovered (agent_running); spawned 7
            exit 143         interrupted -> resume in 2s: 2 new s2, task; > sweep
        "#]],
    );
}

#[test]
fn recovers_while_running() {
    check_run(
        "working; recover live; open; exchange; works; ends ok; idle; exit 0",
        expect![[r#"
            recover live     recovered (agent_running)
            open             -
            exchange         -
            ends ok          -
            idle             input closed; > close input
            exit 0           ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check_run(
        "working; recover gone; swept 3; tick",
        expect![[r#"
            recover gone     recovered (agent_gone); crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            swept 3          swept 3
            tick             attempt 2 resume s1, continue (crashed); > spawn 2
        "#]],
    );
    check_run(
        "start; spawn; recover never",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            recover never    recovered (agent_gone); crashed -> resume in 2s: 2 new s2, task; > sweep
        "#]],
    );
}

#[test]
fn unsupervised_work_counts() {
    check_run(
        "working; signal 9; retry; unsupervised tool-ends; unsupervised ends ok; recover gone",
        expect![[r#"
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            recover gone     recovered (agent_finished); progress; ok -> done; > sweep; done; > finish 0
        "#]],
    );
    check_run(
        "start; spawn; unsupervised open; unsupervised tool-ends; recover gone",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn            spawned 7
            recover gone     recovered (agent_gone); opened s1; progress; crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
        "#]],
    );
}

#[test]
fn silence_before_recovery_does_not_count() {
    check_run(
        "working; +1h; recover live; activity; tick",
        expect![[r#"
            recover live     recovered (agent_running)
            activity         -
            tick             stop stalled term; > term
        "#]],
    );
}

#[test]
fn recovers_while_closing() {
    check_run(
        "working; ends ok; idle; recover live; exchange; ends ok; idle; tick",
        expect![[r#"
            ends ok          progress
            idle             input closed; > close input
            recover live     recovered (agent_running); > close input
            exchange         -
            ends ok          -
            idle             -
            tick             stop did_not_exit term; > term
        "#]],
    );
    check_run(
        "working; ends ok; idle; recover gone",
        expect![[r#"
            ends ok          progress
            idle             input closed; > close input
            recover gone     recovered (agent_finished); ok -> done; > sweep; done; > finish 0
        "#]],
    );
}

#[test]
fn recovers_while_stopping() {
    check_run(
        "working; tick; recover live; tick; signal 9",
        expect![[r#"
            tick             stop stalled term; > term
            recover live     recovered (agent_running); > term
            tick             stop stalled kill; > kill
            signal 9         stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
    check_run(
        "working; tick; recover gone",
        expect![[r#"
            tick             stop stalled term; > term
            recover gone     recovered (agent_gone); stalled -> resume in 2s: 2 resume s1, continue (stalled); > sweep
        "#]],
    );
}

#[test]
fn recovers_while_sweeping() {
    check_run(
        "working; signal 9; recover gone",
        expect![[r#"
            signal 9         crashed -> resume in 2s: 2 resume s1, continue (crashed); > sweep
            recover gone     recovered (sweeping); > sweep
        "#]],
    );
}

#[test]
fn recovers_while_waiting() {
    check_run(
        "working; limit until +2h; fails 429; +1h; recover gone; tick",
        expect![[r#"
            limit until +2h  -
            fails 429        usage_limit -> park in 2h: 2 resume s1, continue (usage_limit); > sweep
            recover gone     recovered (waiting)
            tick             attempt 2 resume s1, continue (usage_limit); > spawn 2
        "#]],
    );
    check_run(
        "working; fails 529; +1h; recover never; tick",
        expect![[r#"
            fails 529        overloaded -> wait_out in 2s: 2 resume s1, continue (overloaded); > sweep
            recover never    recovered (waiting)
            tick             attempt 2 resume s1, continue (overloaded); > spawn 2
        "#]],
    );
}

#[test]
fn recovers_finished_run() {
    check_run(
        "start; spawn-fails missing; swept; recover gone; recover never",
        expect![[r#"
            start            run started; attempt 1 new s1, task; > spawn 1
            spawn-fails missing agent_missing -> not_started by agent_missing; > sweep
            swept            swept 0; not_started by agent_missing; > finish 25
            recover gone     recovered (finished); > finish 25
            recover never    recovered (finished); > finish 25
        "#]],
    );
}

#[test]
fn recovers_new_run() {
    check_run(
        "recover never; start",
        expect![[r#"
            recover never    -
            start            run started; attempt 1 new s1, task; > spawn 1
        "#]],
    );
}

//! What a server or the network does to a run: waits, parks, and when they end.

use super::trace::{check_run, check_run_with, plain};
use crate::{OutageBound, Policy, Span};
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
fn a_captive_portal_is_waited_out_for_ten_minutes() {
    check_run(
        "start; spawn; open; turn; ends portal; exit 1; swept; tick; spawn; ends portal; exit 1; swept; tick; spawn; +10m; ends portal; exit 1; swept",
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
            exit 1           network -> wait_out in 4s: 3 resume s1, continue (network); > sweep
            swept            swept 0
            tick             attempt 3 resume s1, continue (network); > spawn 3
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
        &Policy { max_reset_wait: Some(Span::from_hours(1)), ..plain() },
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
fn no_reset_is_waited_for_longer_than_eight_days() {
    check_run(
        "start; spawn; open; turn; limit until +1000000h; ends 429; exit 1; swept",
        expect![[r#"
        start            run started; attempt 1 new s1, task; > spawn 1
        spawn            spawned 7
        open             opened s1
        turn             -
        limit until +1000000h -
        ends 429         -
        exit 1           usage_limit -> retry_later by usage_limit in 41666d 16h; > sweep
        swept            swept 0; retry_later by usage_limit in 41666d 16h; > finish 75
    "#]],
    );
}

#[test]
fn a_wall_ends_at_its_limit() {
    check_run_with(
        &Policy { outage_bound: OutageBound::Time(Some(Span::from_mins(10))), ..plain() },
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
        &Policy { outage_bound: OutageBound::Time(Some(Span::from_mins(10))), ..plain() },
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

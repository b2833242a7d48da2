//! Timelines of one-line traces, formatted for people.

mod trace;

use expect_test::{Expect, expect};
use longhaul_core::{Checks, HandoffSummary, KeepGoing, Policy, Span, Usd, WrapUp};
use trace::{plain, render};

fn check(trace: &str, expected: Expect) {
    check_with(&plain(), trace, expected);
}

fn check_with(policy: &Policy, trace: &str, expected: Expect) {
    expected.assert_eq(&render(policy, trace));
}

#[test]
fn renders_run_without_faults() {
    check(
        "start; spawn; +2s; open; used 12; calls 34; tool; +40m; ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:40:02  +40m    attempt 1: 12 turns, 34 tool calls in 40m 2s, $1.20; the agent reports that it is
                              done
            22:40:02  +40m    finished: done after 1 attempt in 40m 2s, $1.20
            next: nothing to do
        "#]],
    );
}

#[test]
fn folds_outage_into_one_entry() {
    check(
        "start; spawn; open; used 12; calls 34; tool; +46m; ends 529; idle; exit 1; swept; tick; \
         spawn; open; +1s; ends 529; idle; exit 1; swept; tick; spawn; open; +1s; ends 529; idle; exit 1; swept; tick; \
         spawn; open; +1s; ends 529; idle; exit 1; swept; tick; spawn; open; used 3; calls 5; tool; +70m; signal 9; \
         swept 2; tick; spawn; open; used 1; ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:46:00  +46m    attempt 1: 12 turns, 34 tool calls in 46m, $1.20; the API is overloaded (status
                              529); resumed after 2s
            22:46:03  +46m    attempts 2 to 4: the API is overloaded (status 529), 3 attempts over 29s; waited
                              27s in total
            23:56:32  +1h56m  attempt 5: 3 turns, 5 tool calls in 1h 10m, $0.3000; the agent crashed (signal 9,
                              SIGKILL); stopped 2 leftover processes; resumed after 2s
            23:56:34  +1h56m  attempt 6: 1 turn in 0s, $0.1000; the agent reports that it is done
            23:56:34  +1h56m  finished: done after 6 attempts in 1h 56m (31s of it waiting), $1.60
            next: nothing to do
        "#]],
    );
}

#[test]
fn separates_outages_by_fault() {
    check(
        "start; spawn; open; ends 529; idle; exit 1; swept; tick; spawn; open; ends 500; idle; exit 1; swept; tick; \
         spawn; open; ends 502; idle; exit 1; swept; tick; spawn; open; ends network; idle; exit 1; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: the API is overloaded (status 529); resumed after 2s
            22:00:02  +2s     attempt 2: the API failed (status 500); resumed after 4s
            22:00:06  +6s     attempt 3: the API failed (status 502); resumed after 8s
            22:00:14  +14s    attempt 4: the API could not be reached (the connection failed); waiting until
                              22:00:30 (for 16s)
            next: attempt 5 starts at 22:00:30 (in 16s): the API could not be reached
                  longhaul logs kmzqbd --follow
        "#]],
    );
}

#[test]
fn shows_parked_wait() {
    check(
        "start; spawn; open; used 4; tool; limit until +3h; ends usage; idle; exit 1; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 4 turns in 0s, $0.4000; the account's usage limit is reached (status
                              429); waiting until 2026-11-23 01:00:00 (for 3h)
            next: attempt 2 starts at 2026-11-23 01:00:00 (in 3h): the account's usage limit is reached
                  longhaul logs kmzqbd --follow
        "#]],
    );
    check(
        "start; spawn; open; used 4; tool; limit until +3h; ends usage; idle; exit 1; swept; tick; +9m; spawn; open; \
         ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 4 turns in 0s, $0.4000; the account's usage limit is reached (status
                              429); resumed after 3h
            2026-11-23
            01:09:00  +3h09m  attempt 2: the agent reports that it is done
            01:09:00  +3h09m  finished: done after 2 attempts in 3h 9m (3h of it waiting), $0.4000
            next: nothing to do
        "#]],
    );
}

#[test]
fn shows_planned_wait_if_exceeded() {
    // There was no supervisor when the wait ended.
    check(
        "start; spawn; open; used 4; tool; ends 529; idle; exit 1; swept; +2h; recover gone; tick; spawn; open",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 4 turns in 0s, $0.4000; the API is overloaded (status 529); resumed
                              after 2h, planned: 2s
            2026-11-23
            00:00:00  +2h00m  the supervisor died, and the run had no supervisor for up to 2h; a new supervisor
                              found the run waiting
            00:00:00  +2h00m  attempt 2 started: resumed
            next: the agent is working (attempt 2)
                  longhaul logs kmzqbd --follow
        "#]],
    );
}

#[test]
fn exceeded_wall_limit_is_raised() {
    let policy = plain().with(|policy| policy.limits.wall = Some(Span::from_secs(5)));
    check_with(
        &policy,
        "start; spawn; open; ends 529; idle; exit 1; swept; tick; spawn; open; ends 529; idle; exit 1; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: the API is overloaded (status 529); resumed after 2s
            22:00:02  +2s     attempt 2: the API is overloaded (status 529)
            22:00:02  +2s     finished: retry_later (the API is overloaded) after 2 attempts in 2s (2s of it
                              waiting), $0
            next: resume at 22:00:06 (in 4s); too little is left of the limits: add `--add-time 5s`
                  longhaul resume kmzqbd --add-time 5s
        "#]],
    );
}

#[test]
fn advises_on_faults_without_retry() {
    check(
        "start; spawn; open; ends 403; idle; exit 1; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: the credentials were rejected (status 403)
            22:00:00  +0s     finished: needs_person (the credentials were rejected) after 1 attempt in 0s, $0
            next: check the key or log in with `claude`, then resume the run
                  longhaul resume kmzqbd
        "#]],
    );
    check(
        "start; spawn; open; used 1; ends denied; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 1 turn in 0s, $0.1000; the agent was denied tools that it needed (2
                              tool calls were denied)
            22:00:00  +0s     finished: needs_person (the agent was denied tools that it needed) after 1 attempt
                              in 0s, $0.1000
            next: allow the tools in the agent's settings; or, in a sandbox, resume with the permission mode
                  bypassPermissions; or count the run as done although they were denied
                  longhaul resume kmzqbd --permission-mode bypassPermissions
                  longhaul resume kmzqbd --allow-denials
        "#]],
    );
}

#[test]
fn stall_shows_its_observations() {
    check(
        "start; spawn; open; turn; tick; sees; tick; tick; signal 15; swept 1; tick; spawn; open; used 1; ends ok; \
         idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:07:00  +7m     the agent was silent, but its processes were busy; stall deferred: no output for
                              7m, no tool running, connection open, child process busy
            22:14:10  +14m    attempt 1: nothing finished in 14m 10s; the agent stalled (no output for 14m, no
                              tool running, its processes could not be inspected); it had to be killed; stopped
                              1 leftover process; resumed after 2s
            22:14:12  +14m    attempt 2: 1 turn in 0s, $0.1000; the agent reports that it is done
            22:14:12  +14m    finished: done after 2 attempts in 14m 12s (2s of it waiting), $0.1000
            next: nothing to do
        "#]],
    );
}

#[test]
fn lost_session_shows_its_resume_strategy() {
    check(
        "start; spawn; open; used 4; tool; signal 11; swept; tick; found missing; swept; spawn; open; used 1; \
         ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 4 turns in 0s, $0.4000; the agent crashed (signal 11, SIGSEGV); resumed
                              after 2s
            22:00:02  +2s     attempt 2: the session was not found; started a new session at once
            22:00:02  +2s     attempt 3 started: new session with a handoff prompt (the session was not found)
            22:00:02  +2s     attempt 3: 1 turn in 0s, $0.1000; the agent reports that it is done
            22:00:02  +2s     finished: done after 3 attempts in 2s (2s of it waiting), $0.5000
            next: nothing to do
        "#]],
    );
    let summary = HandoffSummary::new("haiku", Span::from_secs(60));
    let summarized = plain().with(|policy| policy.handoff_summary = Some(summary));
    check_with(
        &summarized,
        "start; spawn; open; used 4; tool; ends full; idle; exit 1; swept; tick; +20s; summary; spawn; open; used 1; \
         ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 4 turns in 0s, $0.4000; the conversation exceeds the model's context;
                              started a new session at once
            22:00:00  +0s     attempt 2 started: new session with a handoff prompt (the conversation exceeds the
                              model's context)
            22:01:20  +1m     older work was summarized (1m 20s, $0.0200)
            22:01:20  +1m     attempt 2: 1 turn in 0s, $0.1000; the agent reports that it is done
            22:01:20  +1m     finished: done after 2 attempts in 1m 20s, $0.5200
            next: nothing to do
        "#]],
    );
    check(
        "start; spawn; open; used 4; tool; signal 9; swept; tick; found damaged; spawn; open; used 1; ends ok; idle; \
         exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 4 turns in 0s, $0.4000; the agent crashed (signal 9, SIGKILL); resumed
                              after 2s
            22:00:02  +2s     attempt 2 started: resumed from a repaired copy (the session file was damaged)
            22:00:02  +2s     attempt 2: 1 turn in 0s, $0.1000; the agent reports that it is done
            22:00:02  +2s     finished: done after 2 attempts in 2s (2s of it waiting), $0.5000
            next: nothing to do
        "#]],
    );
}

#[test]
fn exhausted_budget_finishes_run() {
    let mut policy = plain();
    policy.limits.budget = Some(Usd(2_000_000));
    policy.wrap_up = Some(WrapUp::new(None));
    check_with(
        &policy,
        "start; spawn; open; used 5; tool; +20m; used 14; ends aborted; used 1; ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:20:00  +20m    the budget is down to its wrap-up reserve
            22:20:00  +20m    asked the agent to save its work
            22:20:00  +20m    the budget is exhausted
            22:20:00  +20m    attempt 1: 20 turns in 20m, $2.00; stopped at the limit
            22:20:00  +20m    finished: over_budget (the budget stopped the run) after 1 attempt in 20m, $2.00
            next: the budget stopped the run; raise it to continue
                  longhaul resume kmzqbd --add-budget 2.00
        "#]],
    );
}

#[test]
fn checks_show_their_numbers() {
    let mut checks = Checks::new(vec!["make test".to_owned()]);
    (checks.failures_max, checks.timeout) = (2, None);
    let policy = plain().with(|policy| policy.checks = Some(checks));
    check_with(
        &policy,
        "start; spawn; open; used 2; ends ok; idle; exit 0; swept; +41s; check fails; swept; spawn; open; used 1; \
         ends ok; idle; exit 0; swept; +40s; check passes; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 2 turns in 0s, $0.2000; the agent reports that it is done
            22:00:41  +41s    check 1 failed (41s)
            22:00:41  +41s    attempt 2: 1 turn in 0s, $0.1000; the agent reports that it is done
            22:01:21  +1m     check 2 passed (40s)
            22:01:21  +1m     finished: done after 2 attempts in 1m 21s, $0.3000
            next: nothing to do
        "#]],
    );
    check_with(
        &policy,
        "start; spawn; open; used 2; ends ok; idle; exit 0; swept; +41s; check fails; swept; spawn; open; used 1; \
         ends ok; idle; exit 0; swept; +40s; check fails; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 2 turns in 0s, $0.2000; the agent reports that it is done
            22:00:41  +41s    check 1 failed (41s)
            22:00:41  +41s    attempt 2: 1 turn in 0s, $0.1000; the agent reports that it is done
            22:01:21  +1m     check 2 failed (40s)
            22:01:21  +1m     finished: check_failed after 2 attempts in 1m 21s, $0.3000
            next: read checks/002.log in the run directory, then resume
                  longhaul resume kmzqbd
        "#]],
    );
}

#[test]
fn folds_keep_going_prompts() {
    let mut keep_going = KeepGoing::DEFAULT;
    (keep_going.status_every, keep_going.idle_stops_max) = (0, 3);
    let policy = plain().with(|policy| policy.keep_going = Some(keep_going));
    check_with(
        &policy,
        "start; spawn; open; used 2; ends ok; idle; surveyed 1; +9m; used 2; ends ok; idle; surveyed 2; +9m; used 2; \
         claims; ends ok; idle; surveyed 3; used 1; claims; ends ok; idle; surveyed 3; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     the agent stopped 4 times, and reported 2 times that the work is done; asked it to
                              continue 3 times
            22:18:00  +18m    attempt 1: 7 turns in 18m, $0.7000; the agent reports that it is done
            22:18:00  +18m    finished: done after 1 attempt in 18m, $0.7000
            next: nothing to do
        "#]],
    );
}

#[test]
fn shows_that_a_cancel_ended_a_wait() {
    check(
        "start; spawn; open; ends 529; idle; exit 1; swept; tick; spawn; open; ends 529; idle; exit 1; swept; +1s; \
         cancel person",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempts 1 to 2: the API is overloaded (status 529), 2 attempts over 3s; waited 3s
                              in total
            22:00:03  +3s     cancelled while no agent was running
            22:00:03  +3s     finished: cancelled after 2 attempts in 3s (3s of it waiting), $0
            next: the run was cancelled; resume to continue
                  longhaul resume kmzqbd
        "#]],
    );
    check(
        "start; spawn; open; ends 529; idle; exit 1; swept; +1s; cancel person",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: the API is overloaded (status 529); waited 1s
            22:00:01  +1s     cancelled while no agent was running
            22:00:01  +1s     finished: cancelled after 1 attempt in 1s (1s of it waiting), $0
            next: the run was cancelled; resume to continue
                  longhaul resume kmzqbd
        "#]],
    );
}

#[test]
fn shows_full_disk() {
    check(
        "start; spawn; open; used 2; tool; disk-full; +2h; recover ended; swept; tick; spawn; open; ends ok; idle; \
         exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            2026-11-23
            00:00:00  +2h00m  the disk was full, so the supervisor stopped, and the run had no supervisor for up
                              to 2h; a new supervisor found the agent gone
            00:00:00  +2h00m  attempt 1: 2 turns in 2h, $0.2000; the agent crashed; resumed after 2s
            00:00:02  +2h00m  attempt 2: the agent reports that it is done
            00:00:02  +2h00m  finished: done after 2 attempts in 2h (2s of it waiting), $0.2000
            next: nothing to do
        "#]],
    );
}

#[test]
fn shows_cancel_source_and_resume() {
    check(
        "start; spawn; open; used 2; tool; +5m; cancel person; ends aborted; idle; exit 0; swept; +26h; \
         reopen; spawn; open; used 1; ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:05:00  +5m     cancelled; stopping what runs
            22:05:00  +5m     attempt 1: 2 turns in 5m, $0.2000; the agent was stopped on request
            22:05:00  +5m     finished: cancelled after 1 attempt in 5m, $0.2000
            2026-11-24
            00:05:00  +1d02h  resumed to continue (1d 2h after it finished): permission mode default ->
                              acceptEdits, budget $1.00 -> $3.00
            00:05:00  +1d02h  attempt 2: 1 turn in 0s, $0.1000; the agent reports that it is done
            00:05:00  +1d02h  finished: done after 2 attempts in 5m, $0.3000
            next: nothing to do
        "#]],
    );
    check(
        "start; spawn; open; used 2; tool; +5m; cancel person; ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:05:00  +5m     cancelled; stopping what runs
            22:05:00  +5m     attempt 1: 2 turns in 5m, $0.2000; the agent reports that it is done
            22:05:00  +5m     finished: done after 1 attempt in 5m, $0.2000
            next: nothing to do
        "#]],
    );
    check(
        "start; spawn; open; used 2; tool; +5m; cancel term; exit 143; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:05:00  +5m     attempt 1: 2 turns in 5m, $0.2000; the agent was stopped to suspend the run
            22:05:00  +5m     SIGTERM suspended the run
            next: SIGTERM suspended the run at 22:05:00
                  longhaul logs kmzqbd --follow
        "#]],
    );
}

#[test]
fn shows_orphaned_run() {
    check(
        "start; spawn; open; used 2; tool; gone",
        expect![[r#"
        2026-11-22
        22:00:00  +0s     started in a new session
        next: the run has no supervisor; its last record: the agent is working (attempt 1)
              longhaul recover kmzqbd
              longhaul cancel kmzqbd
    "#]],
    );
    check(
        "start; spawn; open; ends 529; idle; exit 1; swept; gone",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: the API is overloaded (status 529); waiting until 22:00:02 (for 2s)
            next: the run has no supervisor; attempt 2 was planned for 22:00:02
                  longhaul recover kmzqbd
                  longhaul cancel kmzqbd
        "#]],
    );
    check(
        "start; spawn; open; +3h; orphaned 1h; gone",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            2026-11-23
            01:00:00  +3h00m  the agent had no supervisor and was silent for 1h; the watchdog stopped it (2
                              processes)
            next: the run has no supervisor; its last record: the agent is working (attempt 1)
                  longhaul recover kmzqbd
                  longhaul cancel kmzqbd
        "#]],
    );
    check(
        "start; spawn; open; used 2; tool; +3h; sleep 1h; recover live; used 1; ends ok; idle; exit 0; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            2026-11-23
            02:00:00  +4h00m  the supervisor died, and the run had no supervisor for up to 4h, 1h of it with
                              nothing running; a new supervisor found the agent running and took it over
            02:00:00  +4h00m  attempt 1: 3 turns in 3h, $0.3000; the agent reports that it is done
            02:00:00  +4h00m  finished: done after 1 attempt in 4h (1h of it asleep or without a supervisor),
                              $0.3000
            next: nothing to do
        "#]],
    );
}

/// The process of a check outlives the supervisor.
#[test]
fn shows_orphaned_check() {
    let mut checks = Checks::new(vec!["make test".to_owned()]);
    checks.timeout = None;
    let policy = plain().with(|policy| policy.checks = Some(checks));
    check_with(
        &policy,
        "start; spawn; open; used 2; ends ok; idle; exit 0; swept; +1h; sleep 1h; recover ended; check passes; swept",
        expect![[r#"
            2026-11-22
            22:00:00  +0s     started in a new session
            22:00:00  +0s     attempt 1: 2 turns in 0s, $0.2000; the agent reports that it is done
            2026-11-23
            00:00:00  +2h00m  the supervisor died, and the run had no supervisor for up to 2h; a new supervisor
                              found a check in progress
            00:00:00  +2h00m  check 1 passed (1h)
            00:00:00  +2h00m  finished: done after 1 attempt in 2h (1h of it asleep or without a supervisor),
                              $0.2000
            next: nothing to do
        "#]],
    );
}

#[test]
fn shows_current_activity() {
    check(
        "start; spawn; open; used 2; tool",
        expect![[r#"
        2026-11-22
        22:00:00  +0s     started in a new session
        next: the agent is working (attempt 1)
              longhaul logs kmzqbd --follow
    "#]],
    );
    check(
        "start resume s1; spawn; open; used 2; tool",
        expect![[r#"
        2026-11-22
        22:00:00  +0s     started in session s1
        next: the agent is working (attempt 1)
              longhaul logs kmzqbd --follow
    "#]],
    );
    check(
        "start",
        expect![[r#"
        2026-11-22
        22:00:00  +0s     started in a new session
        next: attempt 1 is starting
              longhaul logs kmzqbd --follow
    "#]],
    );
}

/// A night of forty attempts fits two screens.
#[test]
fn forty_attempts_fit_two_screens() {
    let work = "spawn; open; used 9; calls 20; tool; +30m; ends 529; idle; exit 1; swept; tick; ";
    let wall = "spawn; open; +1s; ends 529; idle; exit 1; swept; tick; ".repeat(6);
    let trace = format!("start; {}", format!("{work}{wall}").repeat(6));
    let lines = render(&plain(), &trace).lines().count();
    assert!(lines < 40, "{lines} lines");
}

//! The presets: their numbers and their semantics.

use super::trace::{check_rest_with, check_run_with, steady};
use crate::{Policy, Preset, SessionLoss, Span};
use expect_test::{Expect, expect};

/// Checks the number of retries, and the shortest and longest of many draws of each wait.
fn check_preset(preset: Preset, expected: Expect) {
    let policy = preset.policy();
    let mut text = format!("{} retries", policy.retries_max);
    if policy.progress_resets_retries {
        text.push_str(" without progress");
    }
    for n in 0..policy.retries_max {
        let draws = || (0..20_000).map(|roll| policy.backoff.delay(n, None, roll));
        let (shortest, longest) = (draws().min().unwrap_or_default(), draws().max().unwrap_or_default());
        // The extremes of thousands of draws are within a hundredth of the bounds.
        let about = |span: Span| Span(span.0.saturating_add(50) / 100 * 100);
        text.push_str(&format!("; {} to {}", about(shortest), about(longest)));
    }
    expected.assert_eq(&text);
}

#[test]
fn waits_match_documented_numbers() {
    check_preset(
        Preset::Default,
        expect!["5 retries without progress; 0s to 2s; 0s to 4s; 0s to 8s; 0s to 16s; 0s to 32s"],
    );
    check_preset(Preset::Openclawpack, expect!["3 retries; 1s to 3s; 2s to 6s; 4s to 12s"]);
    check_preset(Preset::Archon, expect!["2 retries; 22s to 37s; 45s to 1m 15s"]);
    check_preset(
        Preset::Researchgym,
        expect!["5 retries; 30s to 30s; 1m to 1m; 2m to 2m; 4m to 4m; 5m to 5m"],
    );
    check_preset(Preset::Keypoints, expect!["2 retries; 1.5s to 2.5s; 3s to 5s"]);
    check_preset(
        Preset::Drill,
        expect!["5 retries without progress; 0s to 200ms; 0s to 400ms; 0s to 800ms; 0s to 1.6s; 0s to 2s"],
    );
}

#[test]
fn parses_names() {
    for preset in Preset::ALL {
        assert_eq!(preset.as_str().parse(), Ok(*preset));
    }
    assert!("claw".parse::<Preset>().is_err());
}

#[test]
fn openclawpack_counts_every_retry() {
    check_rest_with(
        &steady(Preset::Openclawpack),
        "working; works; fails 529; retry; signal 9; retry; works; fails 500; retry",
        "fails 529",
        expect![[r#"
            fails 529        overloaded -> retry_later by overloaded in 16s; > sweep; retry_later by overloaded in 16s; > finish 75
        "#]],
    );
}

#[test]
fn openclawpack_finishes_on_timeout() {
    check_run_with(
        &Policy { attempt_timeout: Some(Span::from_mins(20)), ..steady(Preset::Openclawpack) },
        "working; works; tool; tick; exit 143",
        expect![[r#"
            tool             -
            tick             stop timed_out term; > term
            exit 143         attempt_timeout -> out_of_time by attempt_timeout; > sweep; out_of_time by attempt_timeout; > finish 22
        "#]],
    );
}

/// `replaces_lost_session_of_the_user` traces the replacement.
#[test]
fn openclawpack_replaces_lost_session() {
    assert_eq!(Preset::Openclawpack.policy().session_loss, SessionLoss::FreshWithWarning);
}

#[test]
fn archon_makes_three_attempts_with_waits_of_30_and_60_seconds() {
    let archon = steady(Preset::Archon);
    check_run_with(
        &archon,
        "working; signal 9; retry; fails 529; retry; signal 9",
        expect![[r#"
            signal 9         crashed -> resume in 30s: 2 resume s1, continue (crashed); > sweep
            fails 529        overloaded -> wait_out in 1m: 3 resume s1, continue (overloaded); > sweep
            signal 9         crashed -> failed by crashed; > sweep; failed by crashed; > finish 20
        "#]],
    );
    // A failed resume counts as an attempt.
    check_rest_with(
        &archon,
        "working; signal 9; retry; refuses lost; exit 1; retry",
        "refuses lost; exit 1",
        expect![[r#"
            exit 1           session_lost -> failed by session_lost; > sweep; failed by session_lost; > finish 20
        "#]],
    );
}

#[test]
fn archon_starts_new_session_if_none_opened() {
    check_rest_with(
        &steady(Preset::Archon),
        "start; spawn",
        "signal 9; tick",
        expect![[r#"
            signal 9         crashed -> resume in 30s: 2 new s2, task; > sweep
            tick             attempt 2 new s2, task; strategy fresh (never opened); > spawn 2
        "#]],
    );
}

#[test]
fn researchgym_retries_five_times_in_a_run() {
    check_rest_with(
        &steady(Preset::Researchgym),
        &format!("working{}", "; works; fails 529; retry".repeat(5)),
        "works; fails 529",
        expect![[r#"
            fails 529        overloaded -> retry_later by overloaded in 5m; > sweep; retry_later by overloaded in 5m; > finish 75
        "#]],
    );
}

#[test]
fn researchgym_has_no_jitter() {
    assert_eq!(Preset::Researchgym.policy().backoff.jitter, crate::Jitter::None);
}

#[test]
fn keypoints_gives_up_after_three_attempts() {
    check_rest_with(
        &steady(Preset::Keypoints),
        "working; tick; exit 143; retry",
        "fails 529; retry; fails 500",
        expect![[r#"
            fails 529        overloaded -> wait_out in 4s: 3 resume s1, continue (overloaded); > sweep
            fails 500        server_error -> retry_later by server_error in 4s; > sweep; retry_later by server_error in 4s; > finish 75
        "#]],
    );
}

#[test]
fn drill_is_default_with_shorter_times() {
    let (drill, default) = (Preset::Drill.policy(), Preset::Default.policy());
    assert_eq!(drill.outage_bound, crate::OutageBound::Time(Some(Span::from_secs(60))));
    assert_eq!(drill.retries_max, default.retries_max);
    assert_eq!(drill.session_loss, default.session_loss);
    assert!(drill.stall_timeout < default.stall_timeout && drill.exit_timeout < default.exit_timeout);
    assert!(drill.orphan_timeout.is_some() && drill.orphan_timeout < default.orphan_timeout);
}

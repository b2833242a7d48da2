use super::{Recipient, reminder};
use crate::{PriorAttempts, SideEffects, UnresolvedCall};
use expect_test::{Expect, expect};
use proptest::prelude::*;

const TIME: &str = "2026-11-21 14:02 UTC";

/// Returns side effects of one call each: `+` succeeded, `-` failed, `?` has no end.
fn side_effects_of(calls: &[&str]) -> SideEffects {
    let mut side_effects = SideEffects::default();
    for (index, call) in calls.iter().enumerate() {
        let (end_kind, effect) = call.split_at(1);
        let (id, time) = (index.to_string(), (!effect.contains("timeless")).then(|| TIME.to_owned()));
        side_effects.on_start(UnresolvedCall {
            id: id.clone(),
            effect: effect.to_owned(),
            is_outside: true,
            in_background: false,
            is_subagent: false,
            time: time.clone(),
        });
        if end_kind != "?" {
            side_effects.on_end(&id, end_kind == "-", time);
        }
    }
    side_effects
}

fn prior(side_effects: SideEffects) -> PriorAttempts {
    PriorAttempts { side_effects, ..PriorAttempts::default() }
}

fn check(calls: &[&str], recipient: Recipient, expected: Expect) {
    expected.assert_eq(&reminder(&prior(side_effects_of(calls)), recipient));
}

#[test]
fn empty_without_calls() {
    check(&[], Recipient::NewSession, expect![""]);
    check(&["-Bash: git push"], Recipient::SameSession, expect![""]);
}

#[test]
fn renders_lists() {
    let calls = [
        "+Bash: git push origin main",
        "-Bash: npm publish",
        "+Bash: timeless",
        "-Bash: git push origin main",
        "+Bash: git push origin main",
        "+Bash: echo `x` ``y``",
        "?Bash: cargo build",
    ];
    check(
        &calls,
        Recipient::SameSession,
        expect![[r#"


            Done already, do not repeat for the same work:
            - `Bash: timeless`
            - `Bash: git push origin main` (2 times, last at 2026-11-21 14:02 UTC)
            - ``` Bash: echo `x` ``y`` ``` (at 2026-11-21 14:02 UTC)

            Outcome unknown, check first:
            - `Bash: cargo build`"#]],
    );
    check(
        &calls[..2],
        Recipient::NewSession,
        expect![[r#"


        Done already, do not repeat for the same work:
        - `Bash: git push origin main` (at 2026-11-21 14:02 UTC)

        Outcome unknown, check first:
        - `Bash: npm publish` (ended with an error at 2026-11-21 14:02 UTC)"#]],
    );
}

#[test]
fn names_calls_without_visible_result() {
    let calls = ["+Bash: git push", "+Write: a.rs", "-Bash: make"];
    let mut prior = prior(side_effects_of(&calls));
    let ids: Vec<&str> = prior.side_effects.ended.iter().map(|ended| ended.id.as_str()).collect();
    assert_eq!(ids, ["0", "1", "2"]);
    prior.visible_tool_results = Some(["1".to_owned()].into());
    expect![[r#"


        Done already, do not repeat for the same work:
        - `Bash: git push` (at 2026-11-21 14:02 UTC)
        - `Write: a.rs` (at 2026-11-21 14:02 UTC)

        Ended already, though this conversation does not show it; look before you repeat:
        - `Bash: make` (with an error)"#]]
    .assert_eq(&reminder(&prior, Recipient::SameSession));
    prior.side_effects.clear_session();
    assert!(
        !reminder(&prior, Recipient::SameSession).contains("does not show"),
        "another session shows nothing of it"
    );
}

#[test]
fn truncates_long_lists() {
    let calls: Vec<String> =
        (0..300).flat_map(|number| [format!("+done {number}"), format!("?open {number}")]).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let text = reminder(&prior(side_effects_of(&calls)), Recipient::NewSession);
    assert_eq!(text.trim().lines().filter(|line| !line.is_empty()).count(), 20);
    assert_eq!(text.matches("and 292 more before").count(), 2, "{text}");
}

proptest! {
    #[test]
    fn calls_cannot_add_lines(calls in prop::collection::vec("[+?-](\\PC|[`\n\r\t\u{1b}\u{2028}\u{85}-]){0,60}", 1..6)) {
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        let text = reminder(&prior(side_effects_of(&calls)), Recipient::NewSession);
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let mut lines = 0;
        for line in text.split('\n').filter(|line| !line.is_empty()) {
            prop_assert!(!line.contains(breaks), "{line:?}");
            let is_known_line = line.starts_with("- `") || line.starts_with("Done already") || line.starts_with("Outcome");
            prop_assert!(is_known_line, "{line:?}");
            lines += usize::from(line.starts_with('-'));
        }
        prop_assert!(lines <= calls.len());
    }
}

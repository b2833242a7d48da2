use super::{Recipient, reminder};
use crate::{PriorAttempts, SideEffects, UnresolvedCall};
use expect_test::{Expect, expect};
use proptest::prelude::*;

const WHEN: &str = "2026-11-21 14:02 UTC";

/// Deeds of a call each: `+` went well, `-` ended with an error, `?` has no end.
fn deeds(calls: &[&str]) -> SideEffects {
    let mut side_effects = SideEffects::default();
    for (at, call) in calls.iter().enumerate() {
        let (ending, what) = call.split_at(1);
        let (id, when) = (at.to_string(), (!what.contains("timeless")).then(|| WHEN.to_owned()));
        side_effects.on_start(UnresolvedCall {
            id: id.clone(),
            effect: what.to_owned(),
            is_outside: true,
            in_background: false,
            of_subagent: false,
            when: when.clone(),
        });
        if ending != "?" {
            side_effects.on_end(&id, ending == "-", when);
        }
    }
    side_effects
}

fn past(side_effects: SideEffects) -> PriorAttempts {
    PriorAttempts { side_effects, ..PriorAttempts::default() }
}

fn check(calls: &[&str], listener: Recipient, expected: Expect) {
    expected.assert_eq(&reminder(&past(deeds(calls)), listener));
}

#[test]
fn nothing_to_say() {
    check(&[], Recipient::NewSession, expect![""]);
    check(&["-Bash: git push"], Recipient::SameSession, expect![""]);
}

#[test]
fn lists() {
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
fn what_the_conversation_does_not_show_is_named() {
    let calls = ["+Bash: git push", "+Write: a.rs", "-Bash: make"];
    let mut past = past(deeds(&calls));
    let inside: Vec<&str> = past.side_effects.ended.iter().map(|ended| ended.id.as_str()).collect();
    assert_eq!(inside, ["0", "1", "2"]);
    past.visible_tool_results = Some(["1".to_owned()].into());
    expect![[r#"


        Done already, do not repeat for the same work:
        - `Bash: git push` (at 2026-11-21 14:02 UTC)
        - `Write: a.rs` (at 2026-11-21 14:02 UTC)

        Ended already, though this conversation does not show it; look before you repeat:
        - `Bash: make` (with an error)"#]]
    .assert_eq(&reminder(&past, Recipient::SameSession));
    past.side_effects.clear_session();
    assert!(
        !reminder(&past, Recipient::SameSession).contains("does not show"),
        "another session shows nothing of it"
    );
}

#[test]
fn long_lists_are_cut() {
    let calls: Vec<String> =
        (0..300).flat_map(|number| [format!("+done {number}"), format!("?open {number}")]).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let text = reminder(&past(deeds(&calls)), Recipient::NewSession);
    assert_eq!(text.trim().lines().filter(|line| !line.is_empty()).count(), 20);
    assert_eq!(text.matches("and 292 more before").count(), 2, "{text}");
}

proptest! {
    #[test]
    fn no_call_adds_a_line_of_its_own(calls in prop::collection::vec("[+?-](\\PC|[`\n\r\t\u{1b}\u{2028}\u{85}-]){0,60}", 1..6)) {
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        let text = reminder(&past(deeds(&calls)), Recipient::NewSession);
        let breaks = |sign: char| sign.is_control() || matches!(sign, '\u{2028}' | '\u{2029}');
        let mut lines = 0;
        for line in text.split('\n').filter(|line| !line.is_empty()) {
            prop_assert!(!line.contains(breaks), "{line:?}");
            let is_ours = line.starts_with("- `") || line.starts_with("Done already") || line.starts_with("Outcome");
            prop_assert!(is_ours, "{line:?}");
            lines += usize::from(line.starts_with('-'));
        }
        prop_assert!(lines <= calls.len());
    }
}

use super::{EndedCall, SideEffects, UnresolvedCall, sanitize_line};

fn call(id: &str, is_outside: bool) -> UnresolvedCall {
    UnresolvedCall {
        id: id.to_owned(),
        effect: format!("Bash: {id}"),
        is_outside,
        in_background: false,
        is_subagent: false,
        time: None,
    }
}

/// Checks the ids of completed and unresolved calls, written as `completed; unresolved`.
fn check(side_effects: &SideEffects, expected: &str) {
    let done: Vec<&str> = side_effects.completed.iter().map(|done| done.id.as_str()).collect();
    let unknown: Vec<&str> = side_effects.unresolved.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(format!("{}; {}", done.join(" "), unknown.join(" ")), expected);
}

#[test]
fn tracks_calls_and_their_ends() {
    let mut side_effects = SideEffects::default();
    side_effects.on_start(call("push", true));
    side_effects.on_start(call("build", false));
    side_effects.on_start(call("build", false));
    side_effects.on_start(call("denied", true));
    check(&side_effects, "; push build denied");
    side_effects.on_result("push", false, Some("2026-11-21 14:02 UTC".to_owned()));
    side_effects.on_never_ran("denied");
    side_effects.on_result("strange", false, None);
    check(&side_effects, "push; build");
    side_effects.on_result("build", true, None);
    check(&side_effects, "push; ");
    assert_eq!(side_effects.calls, 3);
}

#[test]
fn background_results_do_not_end_calls() {
    let mut side_effects = SideEffects::default();
    side_effects.on_start(call("push", true));
    side_effects.on_backgrounded("push");
    side_effects.on_result("push", false, None);
    check(&side_effects, "; push");
    side_effects.on_end("push", false, None);
    check(&side_effects, "push; ");
    side_effects.on_start(call("again", true));
    side_effects.on_backgrounded("again");
    side_effects.on_result("again", true, None);
    assert!(side_effects.completed.iter().any(|done: &EndedCall| done.is_error));
}

#[test]
fn extends_run_with_attempts() {
    let attempt = |done: &str, unknown: &str| {
        let mut side_effects = SideEffects::default();
        for id in [done, unknown].into_iter().filter(|id| !id.is_empty()) {
            side_effects.on_start(call(id, true));
        }
        side_effects.on_end(done, false, None);
        side_effects
    };
    let mut run = SideEffects::default();
    run.extend(&attempt("a", "b"), false);
    check(&run, "a; b");
    // It called no tool, so it cannot have checked anything.
    run.extend(&attempt("", ""), false);
    check(&run, "a; b");
    // The session continues without the wrap-up, so it does not show what the agent found out.
    run.extend(&attempt("commit", "d"), true);
    check(&run, "a commit; b d");
    run.extend(&attempt("c", ""), false);
    check(&run, "a commit c; ");
}

#[test]
fn drops_and_counts_oldest_calls() {
    let mut side_effects = SideEffects::default();
    for number in 0..300 {
        side_effects.on_start(call(&number.to_string(), true));
    }
    assert_eq!((side_effects.unresolved.iter().len(), side_effects.unresolved.dropped), (256, 44));
    for number in 0..300 {
        side_effects.on_end(&number.to_string(), false, None);
    }
    assert_eq!((side_effects.unresolved.iter().len(), side_effects.completed.iter().len()), (0, 256));
    let mut run = side_effects.clone();
    run.extend(&side_effects, false);
    assert_eq!((run.completed.iter().len(), run.completed.dropped), (256, 256));
}

#[test]
fn sanitizes_lines() {
    assert_eq!(sanitize_line("  a\n \n b\u{1b}[31m\tc\u{2028}d\u{202e}\0 "), "a ⏎ b[31m c d");
    assert_eq!(sanitize_line(&"é".repeat(300)), format!("{}…", "é".repeat(200)));
    assert_eq!(sanitize_line(&"\u{0}".repeat(9999)), "");
}

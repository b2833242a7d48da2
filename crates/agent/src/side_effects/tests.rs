use super::{CompletedEffect, SideEffects, UnresolvedCall, plain};

fn call(id: &str, is_outside: bool) -> UnresolvedCall {
    UnresolvedCall {
        id: id.to_owned(),
        effect: format!("Bash: {id}"),
        is_outside,
        in_background: false,
        of_subagent: false,
        when: None,
    }
}

/// `done; unknown`, each as ids.
fn check(deeds: &SideEffects, expected: &str) {
    let done: Vec<&str> = deeds.completed.iter().map(|done| done.id.as_str()).collect();
    let unknown: Vec<&str> = deeds.unresolved.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(format!("{}; {}", done.join(" "), unknown.join(" ")), expected);
}

#[test]
fn calls_and_their_ends() {
    let mut deeds = SideEffects::default();
    deeds.on_start(call("push", true));
    deeds.on_start(call("build", false));
    deeds.on_start(call("build", false));
    deeds.on_start(call("denied", true));
    check(&deeds, "; push build denied");
    deeds.on_result("push", false, Some("2026-11-21 14:02 UTC".to_owned()));
    deeds.on_never_ran("denied");
    deeds.on_result("strange", false, None);
    check(&deeds, "push; build");
    deeds.on_result("build", true, None);
    check(&deeds, "push; ");
    assert_eq!(deeds.calls, 3);
}

#[test]
fn in_the_background_a_result_ends_nothing() {
    let mut deeds = SideEffects::default();
    deeds.on_start(call("push", true));
    deeds.on_backgrounded("push");
    deeds.on_result("push", false, None);
    check(&deeds, "; push");
    deeds.on_end("push", false, None);
    check(&deeds, "push; ");
    deeds.on_start(call("again", true));
    deeds.on_backgrounded("again");
    deeds.on_result("again", true, None);
    assert!(deeds.completed.iter().any(|done: &CompletedEffect| done.is_error));
}

#[test]
fn a_run_remembers_its_attempts() {
    let attempt = |done: &str, unknown: &str| {
        let mut deeds = SideEffects::default();
        for id in [done, unknown].into_iter().filter(|id| !id.is_empty()) {
            deeds.on_start(call(id, true));
        }
        deeds.on_end(done, false, None);
        deeds
    };
    let mut run = SideEffects::default();
    run.extend(&attempt("a", "b"));
    check(&run, "a; b");
    // It called no tool, so it looked at nothing.
    run.extend(&attempt("", ""));
    check(&run, "a; b");
    run.extend(&attempt("c", ""));
    check(&run, "a c; ");
}

#[test]
fn the_oldest_are_dropped_and_counted() {
    let mut deeds = SideEffects::default();
    for number in 0..300 {
        deeds.on_start(call(&number.to_string(), true));
    }
    assert_eq!((deeds.unresolved.iter().len(), deeds.unresolved.dropped), (256, 44));
    for number in 0..300 {
        deeds.on_end(&number.to_string(), false, None);
    }
    assert_eq!((deeds.unresolved.iter().len(), deeds.completed.iter().len()), (0, 256));
    let mut run = deeds.clone();
    run.extend(&deeds);
    assert_eq!((run.completed.iter().len(), run.completed.dropped), (256, 256));
}

#[test]
fn lines_are_plain() {
    assert_eq!(plain("  a\n \n b\u{1b}[31m\tc\u{2028}d\u{202e}\0 "), "a ⏎ b[31m c d");
    assert_eq!(plain(&"é".repeat(300)), format!("{}…", "é".repeat(200)));
    assert_eq!(plain(&"\u{0}".repeat(9999)), "");
}

use super::{Deeds, Done, Unfinished, plain};

fn call(id: &str, is_outside: bool) -> Unfinished {
    Unfinished {
        id: id.to_owned(),
        what: format!("Bash: {id}"),
        is_outside,
        in_background: false,
        of_subagent: false,
        when: None,
    }
}

/// `done; unknown`, each as ids.
fn check(deeds: &Deeds, expected: &str) {
    let done: Vec<&str> = deeds.done.iter().map(|done| done.id.as_str()).collect();
    let unknown: Vec<&str> = deeds.unknown.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(format!("{}; {}", done.join(" "), unknown.join(" ")), expected);
}

#[test]
fn calls_and_their_ends() {
    let mut deeds = Deeds::default();
    deeds.began(call("push", true));
    deeds.began(call("build", false));
    deeds.began(call("build", false));
    deeds.began(call("denied", true));
    check(&deeds, "; push build denied");
    deeds.answered("push", false, Some("2026-11-21 14:02 UTC".to_owned()));
    deeds.never_ran("denied");
    deeds.answered("strange", false, None);
    check(&deeds, "push; build");
    deeds.answered("build", true, None);
    check(&deeds, "push; ");
    assert_eq!(deeds.calls, 3);
}

#[test]
fn in_the_background_a_result_ends_nothing() {
    let mut deeds = Deeds::default();
    deeds.began(call("push", true));
    deeds.left_running("push");
    deeds.answered("push", false, None);
    check(&deeds, "; push");
    deeds.ended("push", false, None);
    check(&deeds, "push; ");
    deeds.began(call("again", true));
    deeds.left_running("again");
    deeds.answered("again", true, None);
    assert!(deeds.done.iter().any(|done: &Done| done.is_error));
}

#[test]
fn a_run_remembers_its_attempts() {
    let attempt = |done: &str, unknown: &str| {
        let mut deeds = Deeds::default();
        for id in [done, unknown].into_iter().filter(|id| !id.is_empty()) {
            deeds.began(call(id, true));
        }
        deeds.ended(done, false, None);
        deeds
    };
    let mut run = Deeds::default();
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
    let mut deeds = Deeds::default();
    for number in 0..300 {
        deeds.began(call(&number.to_string(), true));
    }
    assert_eq!((deeds.unknown.iter().len(), deeds.unknown.dropped), (256, 44));
    for number in 0..300 {
        deeds.ended(&number.to_string(), false, None);
    }
    assert_eq!((deeds.unknown.iter().len(), deeds.done.iter().len()), (0, 256));
    let mut run = deeds.clone();
    run.extend(&deeds);
    assert_eq!((run.done.iter().len(), run.done.dropped), (256, 256));
}

#[test]
fn lines_are_plain() {
    assert_eq!(plain("  a\n \n b\u{1b}[31m\tc\u{2028}d\u{202e}\0 "), "a ⏎ b[31m c d");
    assert_eq!(plain(&"é".repeat(300)), format!("{}…", "é".repeat(200)));
    assert_eq!(plain(&"\u{0}".repeat(9999)), "");
}

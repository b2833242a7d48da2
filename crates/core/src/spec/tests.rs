use super::*;
use crate::{Checks, HandoffSummary, KeepGoing, Limits, Preset, Span, WrapUp};

fn spec() -> RunSpec {
    RunSpec::new("/bin/claude", "/project", "Fix the tests.", Preset::Default.policy())
}

#[test]
fn rejects_contradictions() {
    let check = |edit: &dyn Fn(&mut RunSpec), expected: Result<(), SpecError>| {
        assert_eq!(spec().with(edit).validate(), expected);
    };
    let limit = |time, wall| Limits { time, wall, ..Limits::default() };
    let (minute, hour) = (Some(Span::from_mins(1)), Some(Span::from_hours(1)));
    let checks = Checks::new(vec!["make test".to_owned()]);
    check(&|_| (), Ok(()));
    check(&|spec| " \n".clone_into(&mut spec.prompt), Err(SpecError::EmptyPrompt));
    check(&|spec| spec.cwd = "project".into(), Err(SpecError::RelativePath("project".into())));
    check(&|spec| spec.policy.limits = limit(minute, hour), Ok(()));
    check(
        &|spec| spec.policy.limits = limit(hour, minute),
        Err(SpecError::TimeExceedsWall { time: Span::from_hours(1), wall: Span::from_mins(1) }),
    );
    for limits in [limit(minute, None), limit(None, minute)] {
        check(
            &|spec| {
                spec.policy.limits = limits;
                spec.policy.wrap_up = Some(WrapUp { reserve: minute });
            },
            Err(SpecError::ReserveExceedsLimit { reserve: Span::from_mins(1), limit: Span::from_mins(1) }),
        );
    }
    check(&|spec| spec.policy.checks = Some(checks.clone()), Ok(()));
    check(&|spec| spec.policy.checks = Some(Checks::new(Vec::new())), Err(SpecError::NoCheckCommand));
    check(
        &|spec| {
            spec.policy.checks = Some(checks.clone());
            spec.policy.keep_going = Some(KeepGoing::DEFAULT);
        },
        Err(SpecError::KeepGoingWithChecks),
    );
    for (line, expected) in [
        ("ALL DONE", Ok(())),
        ("ALL DONE\n", Ok(())),
        ("", Err(SpecError::DoneWhenNotOneLine)),
        ("  ", Err(SpecError::DoneWhenNotOneLine)),
        ("ALL\nDONE", Err(SpecError::DoneWhenNotOneLine)),
    ] {
        let done_when = Some(line.to_owned());
        let keep_going = KeepGoing { done_when, ..KeepGoing::DEFAULT };
        check(&|spec| spec.policy.keep_going = Some(keep_going.clone()), expected);
    }
}

#[test]
fn lists_changed_settings() {
    let old = spec().with(|spec| spec.notify = vec!["mail -s SECRET me".to_owned()]);
    let new = old.clone().with(|spec| {
        spec.model = Some("opus".to_owned());
        spec.guards.deny_tools = vec!["Bash".to_owned(), "mcp__*".to_owned()];
        spec.notify = vec!["mail -s OTHER me".to_owned()];
        spec.policy.checks = Some(Checks::new(vec!["make test".to_owned()]));
        spec.policy.limits.time = Some(Span::from_hours(2));
        spec.policy.handoff_summary =
            Some(HandoffSummary { model: "haiku".to_owned(), timeout: Span::from_secs(60) });
    });
    let changes = old.changes_to(&new);
    let changes: Vec<_> =
        changes.iter().map(|change| format!("{} {} {}", change.setting, change.from, change.to)).collect();
    assert_eq!(
        changes,
        [
            "model default opus",
            "deny_tools none Bash,mcp__*",
            "check none 1 command",
            "notify 1 command 1 command (changed)",
            "time_limit none 2h",
            "max_failed_checks none 10",
            "check_timeout none 30m",
        ]
    );
    assert!(old.changes_to(&old.clone()).is_empty());
}

#[test]
fn resumed_run_keeps_task_and_guards() {
    let check = |edit: &dyn Fn(&mut RunSpec), expected: Result<(), SpecError>| {
        assert_eq!(spec().validate_resumed(&spec().with(edit)), expected);
    };
    check(&|spec| spec.model = Some("opus".to_owned()), Ok(()));
    check(&|spec| "Another task.".clone_into(&mut spec.prompt), Err(SpecError::Fixed("prompt")));
    check(
        &|spec| spec.guards.block_urls = vec!["example.com".to_owned()],
        Err(SpecError::Fixed("block_urls")),
    );
    check(&|spec| spec.network = Some(Vec::new()), Err(SpecError::Fixed("network")));
    check(&|spec| "acp".clone_into(&mut spec.agent.name), Err(SpecError::Fixed("agent")));
    check(&|spec| spec.policy.checks = Some(Checks::new(Vec::new())), Err(SpecError::NoCheckCommand));
}

#[test]
fn round_trips_any_path() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let cwd = PathBuf::from(OsString::from_vec(b"/\xff/x".to_vec()));
    let spec = spec().with(|spec| spec.cwd = cwd);
    let text = serde_json::to_string(&spec).expect("JSON");
    assert!(text.contains(r#""cwd":{"unix_bytes":[47,255,47,120]}"#), "{text}");
    assert_eq!(serde_json::from_str::<RunSpec>(&text).expect("a spec"), spec);
}

//! Parses each command that can follow a finished run, as if the user had typed it.

use super::{RunStatus, advice_text, next_step};
use crate::args::Cli;
use crate::next_commands::next_commands;
use crate::output::time::TimeFormat;
use clap::CommandFactory;
use longhaul_core::{
    AfterAttempt, AttemptEnd, Evidence, Exit, Fault, Limit, Limits, Moment, Outcome, OutcomeKind, Preset,
    Record, Run, RunSpec, Span, StartupError, Usage, Usd,
};

const STARTUPS: [StartupError; 9] = [
    StartupError::ProgramMissing,
    StartupError::Unusable,
    StartupError::BypassAsRoot,
    StartupError::UnknownPermissionMode,
    StartupError::SandboxMissing,
    StartupError::NotAnAgent,
    StartupError::SessionUnknown,
    StartupError::SessionInUse,
    StartupError::SessionHeld,
];

fn run(outcome: Outcome, startup: Option<StartupError>, usage: Usage) -> Run {
    let at = Moment(0);
    let evidence = Some(Box::new(Evidence { startup, ..Evidence::from_exit(Exit::Code(1)) }));
    let end = AttemptEnd { evidence, ..AttemptEnd::new(outcome.fault, usage, AfterAttempt::Finish(outcome)) };
    let records = [
        (at, Record::RunStarted),
        (at, Record::AttemptEnded(end)),
        (at + Span::from_mins(90), Record::RunFinished { outcome }),
    ];
    Run::replay(records.iter().map(|(at, record)| (*at, record)))
}

/// Asserts that clap accepts every command, and returns their number.
fn check(run: &Run, spec: &RunSpec) -> usize {
    let commands = next_commands("kmzqbd", run, spec);
    for command in &commands {
        let words = command.strip_prefix("IS_SANDBOX=1 ").unwrap_or(command).split(' ');
        let parsed = Cli::command().try_get_matches_from(words);
        assert!(
            parsed.is_ok(),
            "{command}: {}",
            parsed.err().map(|error| error.to_string()).unwrap_or_default()
        );
    }
    commands.len()
}

#[test]
fn every_command_parses_as_printed() {
    let all = Limits::default().with(|limits| {
        (limits.budget, limits.tokens, limits.turns) = (Some(Usd(10_000)), Some(10), Some(1));
        (limits.time, limits.wall) = (Some(Span::from_mins(1)), Some(Span::from_mins(2)));
        limits.memory = Some(1 << 30);
    });
    let spent = Usage { reported_cost: Usd(70_000), turns: 9, ..Usage::default() };
    for limits in [Limits::default(), all] {
        let mut spec = RunSpec::new("/no/such/claude", "/work", "p", Preset::Default.policy());
        (spec.policy.limits, spec.policy.attempt_timeout) = (limits, Some(Span::from_mins(7)));
        for mode in [None, Some("acceptEdits"), Some("bypassPermissions")] {
            (spec.model, spec.permission_mode) = (mode.map(str::to_owned), mode.map(str::to_owned));
            for kind in OutcomeKind::ALL {
                let plain = run(Outcome { kind: *kind, ..Outcome::DONE }, None, spent);
                assert_eq!(check(&plain, &spec) > 0, *kind != OutcomeKind::Done, "{kind}");
                for fault in Fault::ALL {
                    check(&run(Outcome::from_fault(*kind, *fault), None, spent), &spec);
                }
            }
            for limit in Limit::ALL {
                assert_eq!(check(&run(Outcome::from_limit(*limit, None), None, spent), &spec), 1, "{limit}");
            }
            for startup in STARTUPS {
                let outcome = Outcome::from_fault(OutcomeKind::NotStarted, Fault::AgentUnusable);
                assert!(check(&run(outcome, Some(startup), Usage::default()), &spec) > 0, "{startup:?}");
            }
        }
    }
}

#[test]
fn full_context_is_not_resumed() {
    let spec = RunSpec::new("/no/such/claude", "/work", "p", Preset::Default.policy());
    let full = run(Outcome::from_fault(OutcomeKind::Failed, Fault::ContextFull), None, Usage::default());
    let commands = next_commands("kmzqbd", &full, &spec);
    assert_eq!(commands, ["longhaul handoff kmzqbd"]);
}

#[test]
fn names_what_to_add_to_the_limits() {
    let check = |outcome: Outcome, limits: Limits, expected: &str| {
        let mut spec = RunSpec::new("/no/such/claude", "/work", "p", Preset::Default.policy());
        spec.policy.limits = limits;
        let spent = Usage { reported_cost: Usd(70_000), turns: 9, ..Usage::default() };
        let (run, status) = (
            run(outcome, None, spent),
            RunStatus { is_supervised: false, is_outcome_published: true, now: Moment(0) },
        );
        let next = next_step("kmzqbd", &run, &spec, status, &TimeFormat::utc());
        assert!(next.text.contains(expected), "{}", next.text);
    };
    let budget = Limits::default().with(|limits| limits.budget = Some(Usd(60_000)));
    let crashed = Outcome::from_fault(OutcomeKind::Failed, Fault::Crashed);
    check(crashed, budget, "resume; too little is left of the limits: add `--add-budget 0.18`");
    let turns = Limits::default().with(|limits| limits.turns = Some(9));
    check(
        Outcome::from_limit(Limit::Turns, None),
        turns,
        "raise it to continue (--max-turns is the new total)",
    );
    // The next retry would come after the wall limit.
    let wall = Limits::default().with(|limits| limits.wall = Some(Span::from_hours(2)));
    let retry_at = Some(Moment(0) + Span::from_hours(3));
    let later = Outcome { retry_at, ..Outcome::from_fault(OutcomeKind::RetryLater, Fault::Overloaded) };
    check(later, wall, "; too little is left of the limits: add `--add-time 2h`");
}

#[test]
fn only_a_failed_check_points_to_its_log() {
    let check = |outcome: Outcome, expected: &str| {
        let (run, clock) = (run(outcome, None, Usage::default()), TimeFormat::utc());
        let spec = RunSpec::new("/no/such/claude", "/work", "p", Preset::Default.policy());
        let text = advice_text(run.state(), outcome, &spec.agent, &clock, Moment(0));
        assert!(text.contains(expected), "{text}");
    };
    check(Outcome { kind: OutcomeKind::CheckFailed, ..Outcome::DONE }, "read checks/000.log");
    check(Outcome::from_fault(OutcomeKind::CheckFailed, Fault::InvalidResult), "`longhaul logs`");
}

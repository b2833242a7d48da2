//! Commands that a user can type to continue a finished run. Each works as printed: it has no placeholder,
//! and `longhaul` accepts it for this run. This module reads no file except to find an installed agent.

use longhaul::find_agent::find_claude;
use longhaul_agent::default_dialect;
use longhaul_core::{
    Fault, Limit, LimitUsage, Limits, Outcome, OutcomeKind, Phase, Policy, Run, RunId, RunSpec, Span,
    StartupError, Usd, WaitBound, exact_span,
};
use longhaul_store::{Home, Journal, RunDir};
use std::fmt::Display;
use std::path::{Path, absolute};
use std::{env, fs};

/// Returns the commands that continue the finished run of this directory, the likeliest first. The list is empty
/// if nothing needs to be done or its files cannot be read.
pub fn commands_of(dir: &Path) -> Vec<String> {
    let read = || {
        let dir = RunDir::from_path(dir.to_owned())?;
        let (plan, journal) = (dir.plan().ok()?, Journal::load(&dir.journal_path()).ok()?);
        Some(next_commands(&target(&dir), &Run::replay(journal.records()), &plan.spec))
    };
    read().unwrap_or_default()
}

/// Returns the text by which commands find this run: its id, or its directory if it is not in the current home.
pub fn target(dir: &RunDir) -> String {
    let home = Home::locate(None, |name| env::var_os(name)).ok();
    let found = home.and_then(|home| home.find(dir.id().as_str()).ok());
    let is_in_home =
        found.is_some_and(|found| fs::canonicalize(found.path()).ok() == fs::canonicalize(dir.path()).ok());
    if is_in_home {
        return dir.id().to_string();
    }
    quoted(&absolute(dir.path()).unwrap_or_else(|_| dir.path().to_owned()).to_string_lossy())
}

/// Returns the command of a notification: it continues the run, or follows or shows it.
pub fn notified_command(id: &RunId, run: &Run, spec: &RunSpec) -> String {
    let other = if run.state().outcome().is_some() { "show" } else { "attach" };
    let next = next_commands(id.as_str(), run, spec).into_iter().next();
    next.unwrap_or_else(|| format!("longhaul {other} {id}"))
}

/// Returns the commands that continue a finished or suspended run, the likeliest first. The list is empty if
/// nothing needs to be done.
pub fn next_commands(target: &str, run: &Run, spec: &RunSpec) -> Vec<String> {
    let state = run.state();
    let Some(outcome) = state.outcome() else {
        let is_suspended = matches!(state.phase, Phase::Suspended { .. });
        return is_suspended.then(|| format!("longhaul recover {target}")).into_iter().collect();
    };
    let more = raised_limits(run, spec).map(|flags| format!(" {flags}")).unwrap_or_default();
    let resume = |flags: &str| {
        format!("longhaul resume {target}{}{flags}{more}", if flags.is_empty() { "" } else { " " })
    };
    match (outcome.kind, outcome.fault) {
        (OutcomeKind::Done, _) => Vec::new(),
        // The next session would be too long again.
        (OutcomeKind::Failed, Some(Fault::ContextFull)) if outcome.limit.is_none() => {
            vec![format!("longhaul handoff {target}")]
        }
        (OutcomeKind::NotStarted | OutcomeKind::Failed, Some(Fault::AgentUnusable | Fault::AgentMissing)) => {
            unusable(state.startup, spec, resume)
        }
        // A program that exits without a word may be no agent.
        (OutcomeKind::Failed, Some(Fault::Interrupted)) if state.session.is_none() => {
            unusable(state.startup, spec, resume)
        }
        (_, fault) => by_fault(outcome, fault, spec)
            .map_or_else(|| vec![resume("")], |flags| flags.iter().map(|flags| resume(flags)).collect()),
    }
}

/// Returns the flags of `resume` that a finished run needs because too little is left of its limits, if any.
pub fn raised_limits(run: &Run, spec: &RunSpec) -> Option<String> {
    let state = run.state();
    let used = run.limit_usage(state.finished_at);
    let bound = WaitBound::from_state(state, &spec.policy);
    let wall = matches!(bound, Some(WaitBound::Wall(_))).then_some(Limit::Wall);
    flags_to_raise_limits(&spec.policy, &used, state.outcome()?.limit.or(wall))
}

/// Returns whether the agent has Claude Code's models and permission modes.
fn is_claude(spec: &RunSpec) -> bool {
    spec.agent.name == default_dialect().name()
}

/// Returns the flags of `resume` that address the fault, one entry per command, or `None` if the fault needs
/// no flags.
fn by_fault(outcome: Outcome, fault: Option<Fault>, spec: &RunSpec) -> Option<Vec<String>> {
    match fault.filter(|_| outcome.limit.is_none()) {
        Some(Fault::Permission) if !is_claude(spec) => {
            Some(["--allow-tools '*'", "--allow-denials"].map(str::to_owned).to_vec())
        }
        Some(Fault::Permission) => {
            // A weaker mode, such as `acceptEdits`, would deny most tools again.
            const BYPASS: &str = "bypassPermissions";
            let mode = (spec.permission_mode.as_deref() != Some(BYPASS))
                .then(|| format!("--permission-mode {BYPASS}"));
            Some(mode.into_iter().chain(["--allow-denials".to_owned()]).collect())
        }
        Some(Fault::ModelUnknown) if !is_claude(spec) => Some(Vec::new()),
        Some(Fault::Refused) if !is_claude(spec) => None,
        Some(Fault::ModelUnknown | Fault::Refused) => {
            let other = if spec.model.as_deref() == Some("sonnet") { "opus" } else { "sonnet" };
            Some(vec![format!("--model {other}")])
        }
        Some(Fault::AttemptTimeout) => {
            let longer = spec.policy.attempt_timeout?.doubled(1);
            Some(vec![format!("--attempt-timeout {}", exact_span(longer))])
        }
        Some(Fault::OutOfMemory) => {
            let bytes = spec.policy.limits.memory?.saturating_mul(2);
            Some(vec![format!("--memory-limit {}M", bytes >> 20)])
        }
        // The others need no flags.
        Some(_) | None => None,
    }
}

fn unusable(startup: Option<StartupError>, spec: &RunSpec, resume: impl Fn(&str) -> String) -> Vec<String> {
    // These commands, and what `longhaul doctor` checks, are for Claude Code.
    if !is_claude(spec) {
        let can_resume = startup != Some(StartupError::UnknownPermissionMode);
        return can_resume.then(|| resume("")).into_iter().collect();
    }
    match startup {
        Some(StartupError::BypassAsRoot) => {
            vec![format!("IS_SANDBOX=1 {}", resume("")), resume("--permission-mode acceptEdits")]
        }
        Some(StartupError::UnknownPermissionMode) => vec![resume("--permission-mode acceptEdits")],
        Some(StartupError::SandboxMissing) => vec![resume("")],
        // A resumed run has the same arguments.
        Some(StartupError::Unusable) if !spec.agent.args.is_empty() => Vec::new(),
        Some(
            StartupError::NotAnAgent
            | StartupError::ProgramMissing
            | StartupError::Unusable
            | StartupError::SessionUnknown
            | StartupError::SessionInUse
            | StartupError::SessionHeld,
        )
        | None => {
            let agent_path = |path: &Path| format!("--agent-path {}", quoted(&path.display().to_string()));
            let default = find_claude(None).ok();
            let is_default = default.as_ref() == Some(&spec.agent.program);
            let other = default.filter(|_| !is_default).map(|found| resume(&agent_path(&found)));
            let doctor = match is_default {
                true => "longhaul doctor".to_owned(),
                false => format!("longhaul doctor {}", agent_path(&spec.agent.program)),
            };
            other.into_iter().chain([doctor, resume("")]).collect()
        }
    }
}

/// Returns the flags of `resume` that raise each exhausted limit, and the limit that ended the run. Returns
/// `None` if no limit ended it and none is exhausted.
pub fn flags_to_raise_limits(policy: &Policy, used: &LimitUsage, ended_by: Option<Limit>) -> Option<String> {
    let before = policy.limits;
    let mut limits = ended_by.map_or(before, |limit| with_more(before, limit));
    // Each round doubles a limit, so that the limit also covers the excess of an expensive response.
    while let Some((limit, _)) = limits.reached(policy.wrap_up, used) {
        let raised = with_more(limits, limit);
        if raised == limits {
            break;
        }
        limits = raised;
    }
    let flags = [
        limits.budget.filter(|_| limits.budget != before.budget).map(|total| {
            let more = total.saturating_sub(before.budget.unwrap_or_default());
            format!("--add-budget {}", dollars(more))
        }),
        limits.tokens.filter(|_| limits.tokens != before.tokens).map(|total| format!("--max-tokens {total}")),
        (limits.time != before.time || limits.wall != before.wall).then(|| {
            // One of the two is set, or both grew by the same amount.
            let (after, before) = (limits.time.or(limits.wall), before.time.or(before.wall));
            format!("--add-time {}", exact_span(after.unwrap_or_default() - before.unwrap_or_default()))
        }),
        limits.turns.filter(|_| limits.turns != before.turns).map(|total| format!("--max-turns {total}")),
    ];
    let flags = flags.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!flags.is_empty()).then_some(flags)
}

fn with_more(limits: Limits, limit: Limit) -> Limits {
    let more = match limit {
        Limit::Time => limits.time.unwrap_or_default(),
        Limit::Wall => limits.wall.unwrap_or_default(),
        Limit::Budget | Limit::Tokens | Limit::Turns | Limit::Attempts => Span::ZERO,
    };
    limits.with(|limits| match limit {
        Limit::Budget => limits.budget = limits.budget.map(|usd| usd + usd),
        Limit::Tokens => limits.tokens = limits.tokens.map(|count| count.saturating_mul(2)),
        Limit::Time | Limit::Wall => {
            limits.time = limits.time.map(|time| time + more);
            limits.wall = limits.wall.map(|wall| wall + more);
        }
        Limit::Turns => limits.turns = limits.turns.map(|count| count.saturating_mul(2)),
        // A resumed run gets the same number of attempts again.
        Limit::Attempts => {}
    })
}

/// Returns the hint about a run or workflow that has a supervisor.
pub fn attach_or_cancel(target: impl Display) -> String {
    format!("follow it with `longhaul attach {target}`, or stop it with `longhaul cancel {target}`")
}

/// Returns the hint about an unfinished run or workflow without a supervisor.
pub fn recover_or_cancel(target: impl Display) -> String {
    format!("continue it with `longhaul recover {target}`, or stop it with `longhaul cancel {target}`")
}

/// Formats an amount for the command line: in cents, or with more digits if the amount has them.
fn dollars(amount: Usd) -> String {
    if amount.0.is_multiple_of(10_000) {
        format!("{:.2}", amount.as_dollars())
    } else {
        format!("{:.6}", amount.as_dollars()).trim_end_matches('0').to_owned()
    }
}

pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::flags_to_raise_limits;
    use longhaul_core::{Limit, LimitUsage, Limits, Preset, Span, Usd, WrapUp};

    fn check(limits: Limits, used: LimitUsage, expected: Option<&str>) {
        let mut policy = Preset::Default.policy();
        (policy.limits, policy.wrap_up) = (limits, Some(WrapUp::new(None)));
        assert_eq!(flags_to_raise_limits(&policy, &used, None).as_deref(), expected, "{limits:?} {used:?}");
    }

    #[test]
    fn adds_the_original_amount_until_some_remains() {
        let budget = Limits::default().with(|limits| limits.budget = Some(Usd(2_000_000)));
        check(
            budget,
            LimitUsage { cost: Usd(2_000_000), ..LimitUsage::default() },
            Some("--add-budget 2.00"),
        );
        check(
            budget,
            LimitUsage { cost: Usd(1_990_000), ..LimitUsage::default() },
            Some("--add-budget 2.00"),
        );
        check(
            budget,
            LimitUsage { cost: Usd(9_000_000), ..LimitUsage::default() },
            Some("--add-budget 14.00"),
        );
        check(budget, LimitUsage { cost: Usd(5), ..LimitUsage::default() }, None);
        let policy = Preset::Default.policy().with(|policy| policy.limits = budget);
        let flags = flags_to_raise_limits(&policy, &LimitUsage::default(), Some(Limit::Budget));
        assert_eq!(flags.as_deref(), Some("--add-budget 2.00"));
        let small = Limits::default().with(|limits| limits.budget = Some(Usd(1_500)));
        check(small, LimitUsage { cost: Usd(1_600), ..LimitUsage::default() }, Some("--add-budget 0.0045"));
        let turns = Limits::default().with(|limits| (limits.turns, limits.tokens) = (Some(6), Some(1_000)));
        let used = LimitUsage { turns: 6, tokens: 1_200, ..LimitUsage::default() };
        check(turns, used, Some("--max-tokens 2000 --max-turns 12"));
        let times = (Some(Span::from_mins(60)), Some(Span::from_mins(90)));
        let time = Limits::default().with(|limits| (limits.time, limits.wall) = times);
        check(time, LimitUsage { time: Span::from_mins(60), ..LimitUsage::default() }, Some("--add-time 1h"));
        check(
            time,
            LimitUsage { wall: Span::from_mins(95), ..LimitUsage::default() },
            Some("--add-time 1h30m"),
        );
    }
}

//! Limits of a run that is resumed, and of one that is kept going.

use crate::args::{AddLimitArgs, LimitArgs};
use crate::failure::Failure;
use crate::figures::figures;
use crate::next_commands::flags_to_raise_limits;
use crate::output::phrases;
use longhaul_core::{Limit, LimitThreshold, Limits, Policy, Run, RunId};

/// Changes the limits of a run or a workflow that is resumed or rerun. Each flag sets the new total. `subject` names
/// it in errors.
pub fn change(
    subject: &str,
    args: &LimitArgs,
    more: &AddLimitArgs,
    limits: &mut Limits,
) -> Result<(), Failure> {
    args.apply(limits);
    if let Some(usd) = more.add_budget {
        let budget =
            limits.budget.ok_or_else(|| unlimited(subject, "--add-budget", "budget", "--budget USD"))?;
        limits.budget = Some(budget + usd);
    }
    if let Some(time) = more.add_time {
        if limits.time.is_none() && limits.wall.is_none() {
            return Err(unlimited(subject, "--add-time", "time limit", "--time-limit DURATION"));
        }
        limits.time = limits.time.map(|limit| limit + time);
        limits.wall = limits.wall.map(|limit| limit + time);
    }
    Ok(())
}

/// Rejects a run whose limits leave nothing to continue with. `before` is its policy without the flags.
pub fn require_remaining(id: &RunId, run: &Run, policy: &Policy, before: &Policy) -> Result<(), Failure> {
    let used = run.limit_usage(run.state().finished_at);
    // The reserve depends on the cost of earlier turns, which is unknown by now. The run itself knew it.
    let ended_by = run.state().outcome().and_then(|outcome| outcome.limit);
    let unraised = ended_by.filter(|limit| *limit != Limit::Attempts && policy.limits == before.limits);
    let reached = policy.limits.reached(policy.wrap_up, &used);
    let reserve = unraised.map(|limit| (limit, LimitThreshold::Reserve));
    let Some((limit, threshold)) = reached.or(reserve) else { return Ok(()) };
    let state = match threshold {
        LimitThreshold::Exhausted => "exhausted",
        LimitThreshold::Reserve => "down to its wrap-up reserve",
    };
    let state_figures = figures(run.state(), policy.limits, run.state().finished_at);
    let status = state_figures.limits.iter().find(|status| status.limit == limit);
    let usage = status.map(|status| format!(" ({})", phrases::limit_line(status))).unwrap_or_default();
    let error = format!("cannot continue run {id}: {} is {state}{usage}", limit.describe());
    let hint = match flags_to_raise_limits(before, &used, Some(limit)) {
        Some(flags) => format!("raise it: `longhaul resume {id} {flags}`"),
        // The run had no such limit before.
        None => "pass a larger limit: it also counts earlier attempts".to_owned(),
    };
    Err(Failure::usage(error, hint))
}

fn unlimited(subject: &str, flag: &str, limit: &str, set: &str) -> Failure {
    Failure::usage(
        format!("{flag}: the {subject} has no {limit} to add to"),
        format!("leave {flag} out, or set the limit with {set}"),
    )
}

/// Returns whether keep-going has no limit, and no flag such as `--budget none` requests that.
pub fn is_endless(requested: &LimitArgs, policy: &Policy) -> bool {
    let is_unlimited_on_purpose = requested.budget.is_some()
        || requested.max_tokens.is_some()
        || requested.time_limit.is_some()
        || requested.wall_limit.is_some()
        || requested.max_turns.is_some();
    policy.keep_going.is_some() && !policy.limits.can_end_run() && !is_unlimited_on_purpose
}

pub fn require_for_keep_going(requested: &LimitArgs, policy: &Policy) -> Result<(), Failure> {
    if is_endless(requested, policy) {
        return Err(Failure::usage(
            "--keep-going without a limit: the agent could work and spend forever",
            "add --budget 10, --time-limit 12h, --wall-limit, --max-tokens or --max-turns; `--budget none` means unlimited",
        ));
    }
    Ok(())
}

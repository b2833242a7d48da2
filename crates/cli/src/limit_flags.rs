//! Limits from flags.

use crate::args::{AddLimitArgs, LimitArgs, WrapUpArgs};
use crate::commands::show::limit_used;
use crate::failure::Failure;
use crate::policy_flags::ResolvedPolicy;
use longhaul::flags_to_raise_limits;
use longhaul_core::{LimitThreshold, Limits, Policy, Run, RunId, Span, WrapUp};

/// Applies the flags of a new run to its policy.
pub fn apply(args: &LimitArgs, wrap_up: &WrapUpArgs, resolved: &mut ResolvedPolicy) {
    let policy = &mut resolved.policy;
    set(args, &mut policy.limits);
    if let Some(time) = wrap_up.wrap_up_reserve {
        policy.wrap_up = Some(WrapUp { reserve: Some(time) });
    }
    if wrap_up.no_wrap_up {
        policy.wrap_up = None;
    }
    let named = [
        ("budget", args.budget.is_some()),
        ("max_tokens", args.max_tokens.is_some()),
        ("time_limit", args.time_limit.is_some()),
        ("wall_limit", args.wall_limit.is_some()),
        ("max_turns", args.max_turns.is_some()),
        ("memory_limit", args.memory_limit.is_some()),
        ("wrap_up_reserve", wrap_up.wrap_up_reserve.is_some()),
        ("no_wrap_up", wrap_up.no_wrap_up),
    ];
    let flags = named.into_iter().filter(|(_, named)| *named);
    resolved.origins.extend(flags.map(|(name, _)| (name.to_owned(), "flag".to_owned())));
}

/// Changes the limits of a run that is resumed or rerun. Each flag sets the new total.
pub fn change(args: &LimitArgs, more: &AddLimitArgs, limits: &mut Limits) -> Result<(), Failure> {
    set(args, limits);
    if let Some(usd) = more.add_budget {
        let budget = limits.budget.ok_or_else(|| unlimited("--add-budget", "budget"))?;
        limits.budget = Some(budget + usd);
    }
    if let Some(time) = more.add_time {
        if limits.time.is_none() && limits.wall.is_none() {
            return Err(unlimited("--add-time", "time limit"));
        }
        limits.time = limits.time.map(|limit| limit + time);
        limits.wall = limits.wall.map(|limit| limit + time);
    }
    Ok(())
}

/// Rejects a run whose limits leave nothing to continue with. `before` is its policy without the flags.
pub fn require_remaining(id: &RunId, run: &Run, policy: &Policy, before: &Policy) -> Result<(), Failure> {
    // The next turn may cost as much as earlier ones, but that cost is unknown.
    let used = run.limit_usage(run.state().finished_at);
    let Some((limit, threshold)) = policy.limits.reached(policy.wrap_up, &used) else { return Ok(()) };
    let state = match threshold {
        LimitThreshold::Exhausted => "exhausted",
        LimitThreshold::Reserve => "used up except for the wrap-up reserve",
    };
    let figures =
        limit_used(run.state(), policy.limits, limit).map(|used| format!(" ({used})")).unwrap_or_default();
    let error = format!("cannot continue run {id}: {} is {state}{figures}", limit.describe());
    let hint = match flags_to_raise_limits(before, &used, Some(limit)) {
        Some(flags) => format!("raise it: `longhaul resume {id} {flags}`"),
        // The run had no such limit before.
        None => "pass a larger limit: it also counts earlier attempts".to_owned(),
    };
    Err(Failure::usage(error, hint))
}

fn set(args: &LimitArgs, limits: &mut Limits) {
    if let Some(usd) = args.budget {
        limits.budget = Some(usd).filter(|usd| usd.0 > 0);
    }
    if let Some(tokens) = args.max_tokens {
        limits.tokens = Some(tokens).filter(|tokens| *tokens > 0);
    }
    if let Some(time) = args.time_limit {
        limits.time = Some(time).filter(|time| *time > Span::ZERO);
    }
    if let Some(wall) = args.wall_limit {
        limits.wall = Some(wall).filter(|wall| *wall > Span::ZERO);
    }
    if let Some(turns) = args.max_turns {
        limits.turns = u32::try_from(turns).ok().filter(|turns| *turns > 0);
    }
    if let Some(bytes) = args.memory_limit {
        limits.memory = Some(bytes).filter(|bytes| *bytes > 0);
    }
}

fn unlimited(flag: &str, limit: &str) -> Failure {
    Failure::usage(
        format!("{flag}: the run has no {limit} to add to"),
        "leave it out: without a limit the run continues",
    )
}

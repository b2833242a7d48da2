//! Keep-going settings from flags.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::policy_flags::ResolvedPolicy;
use longhaul_core::{KeepGoing, Policy, Span};

// A limit this long asks for more than a first solution.
const IMPROVE_FROM: Span = Span::from_hours(24);

/// Applies the flags to the policy of a new run, whose limits are set.
pub fn apply(args: &RunArgs, resolved: &mut ResolvedPolicy) {
    let flags = &args.keep_going;
    if !flags.keep_going {
        return;
    }
    let default = KeepGoing::DEFAULT;
    let limits = &resolved.policy.limits;
    resolved.policy.keep_going = Some(KeepGoing {
        keep_improving: flags.keep_improving || limits.time.max(limits.wall) >= Some(IMPROVE_FROM),
        status_every: flags.status_every.unwrap_or(default.status_every),
        idle_stops_max: flags.max_idle_stops.map_or(default.idle_stops_max, Into::into),
        done_when: flags.done_when.clone(),
        ..default
    });
    let named = [
        ("keep_going", true),
        ("keep_improving", flags.keep_improving),
        ("done_when", flags.done_when.is_some()),
        ("status_every", flags.status_every.is_some()),
        ("max_idle_stops", flags.max_idle_stops.is_some()),
    ];
    let named = named.into_iter().filter(|(_, named)| *named);
    resolved.origins.extend(named.map(|(name, _)| (name.to_owned(), "flag".to_owned())));
}

/// Rejects keep-going without a limit, unless a flag such as `--budget none` requests it.
pub fn require_limit(args: &RunArgs, policy: &Policy) -> Result<(), Failure> {
    let requested = &args.limits;
    let is_unlimited_on_purpose = requested.budget.is_some()
        || requested.max_tokens.is_some()
        || requested.time_limit.is_some()
        || requested.wall_limit.is_some()
        || requested.max_turns.is_some();
    if policy.keep_going.is_some() && !policy.limits.can_end_run() && !is_unlimited_on_purpose {
        return Err(Failure::usage(
            "--keep-going without a limit: the agent could work and spend forever",
            "add --budget 10, --time-limit 12h, --wall-limit, --max-tokens or --max-turns; `--budget none` means unlimited",
        ));
    }
    Ok(())
}

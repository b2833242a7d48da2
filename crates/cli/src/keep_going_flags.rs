//! Keep-going settings from flags. Invalid settings are rejected before anything starts.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::policy_flags::ResolvedPolicy;
use longhaul_core::{KeepGoing, Span};

// A note at every stop would only fill the conversation.
const STATUS_EVERY: u32 = 5;
// Two stops without changes can be a pause; after three the agent has nothing left to change.
const IDLE_STOPS_MAX: u32 = 3;
// A limit this long asks for more than a first solution.
const IMPROVE_FROM: Span = Span::from_hours(24);

/// Applies the flags to the policy of a new run, whose limits are set.
pub fn apply(args: &RunArgs, resolved: &mut ResolvedPolicy) -> Result<(), Failure> {
    let flags = &args.keep_going;
    if !flags.keep_going {
        return Ok(());
    }
    if !args.agent.check.is_empty() {
        return Err(excludes_check());
    }
    if let Some(text) = &flags.done_when
        && (text.trim().is_empty() || text.trim().contains('\n'))
    {
        return Err(Failure::usage(
            "--done-when needs one line of text",
            "choose a line that is never written by accident, like ALL TASKS COMPLETE",
        ));
    }
    let limits = &resolved.policy.limits;
    let requested = &args.limits;
    // `--budget none` and similar flags request it explicitly.
    let is_unlimited_on_purpose = requested.budget.is_some()
        || requested.max_tokens.is_some()
        || requested.time_limit.is_some()
        || requested.wall_limit.is_some()
        || requested.max_turns.is_some();
    if !limits.can_end_run() && !is_unlimited_on_purpose {
        return Err(Failure::usage(
            "--keep-going without a limit: the agent could work and spend forever",
            "add --budget 10, --time-limit 12h, --wall-limit, --max-tokens or --max-turns; `--budget none` means unlimited",
        ));
    }
    let longest = limits.time.max(limits.wall);
    resolved.policy.keep_going = Some(KeepGoing {
        keep_improving: flags.keep_improving || longest >= Some(IMPROVE_FROM),
        status_every: flags.status_every.unwrap_or(STATUS_EVERY),
        idle_stops_max: flags.max_idle_stops.map_or(IDLE_STOPS_MAX, Into::into),
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
    Ok(())
}

/// Returns the error for `--keep-going` with `--check`: both decide when the work is done.
pub fn excludes_check() -> Failure {
    Failure::usage(
        "--keep-going and --check cannot be combined",
        "drop --keep-going: a failed check already makes the agent continue",
    )
}

//! From flags to how a run is kept going; what makes no sense is refused before anything is started.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::policy::ResolvedPolicy;
use longhaul_core::{KeepGoing, Span};

// A note at each stop would only fill the conversation.
const STATUS_EVERY: u32 = 5;
// Twice is a pause; an agent that changes nothing three times has nothing left to change.
const IDLE_STOPS_MAX: u32 = 3;
// Who gives a run so long wants more than a first solution.
const EXTENDED_FROM: Span = Span::from_hours(24);

/// Applies the flags to the policy of a new run, whose limits are set.
pub fn apply(args: &RunArgs, resolved: &mut ResolvedPolicy) -> Result<(), Failure> {
    let flags = &args.keep_going;
    if !flags.keep_going {
        return Ok(());
    }
    if !args.check.is_empty() {
        return Err(Failure::usage(
            "--keep-going and --check: who decides when the work is done?",
            "a check keeps the agent going until it passes: leave out --keep-going",
        ));
    }
    if let Some(text) = &flags.done_when
        && (text.trim().is_empty() || text.trim().contains('\n'))
    {
        return Err(Failure::usage(
            "--done-when: not one line of text",
            "name a line that nobody writes by accident, like ALL TASKS COMPLETE",
        ));
    }
    let limits = &resolved.policy.limits;
    let longest = limits.time.max(limits.wall);
    resolved.policy.keep_going = Some(KeepGoing {
        extended: flags.extended || longest >= Some(EXTENDED_FROM),
        status_every: flags.status_every.unwrap_or(STATUS_EVERY),
        idle_stops_max: flags.idle_stops.map_or(IDLE_STOPS_MAX, Into::into),
    });
    let named = [
        ("keep_going", true),
        ("extended", flags.extended),
        ("done_when", flags.done_when.is_some()),
        ("status_every", flags.status_every.is_some()),
        ("idle_stops", flags.idle_stops.is_some()),
    ];
    let named = named.into_iter().filter(|(_, named)| *named);
    resolved.origins.extend(named.map(|(name, _)| (name.to_owned(), "flag".to_owned())));
    Ok(())
}

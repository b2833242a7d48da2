//! Checks: commands that verify the work. A command that cannot run is rejected before anything starts.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::policy_flags::ResolvedPolicy;
use crate::shell_check;
use longhaul_core::{CheckPolicy, Span};
use std::num::NonZeroU32;
use std::path::Path;

/// Applies the flags to the policy of a new run.
pub fn apply(args: &RunArgs, resolved: &mut ResolvedPolicy) -> Result<(), Failure> {
    let values = &args.policy.values;
    let (attempts, timeout) = (values.max_failed_checks, values.check_timeout);
    let place = args.cwd.as_deref().unwrap_or(Path::new("."));
    resolved.policy.check = checking(&args.agent.check, (attempts, timeout), None, place)?;
    let named = [
        ("check", !args.agent.check.is_empty()),
        ("max_failed_checks", attempts.is_some()),
        ("check_timeout", timeout.is_some()),
    ];
    let flags = named.into_iter().filter(|(_, named)| *named);
    resolved.origins.extend(flags.map(|(name, _)| (name.to_owned(), "flag".to_owned())));
    Ok(())
}

/// Returns the policy for these checks or for the existing ones, or `None` if the run has no checks.
pub fn checking(
    commands: &[String],
    (attempts, timeout): (Option<NonZeroU32>, Option<Span>),
    before: Option<CheckPolicy>,
    place: &Path,
) -> Result<Option<CheckPolicy>, Failure> {
    if commands.is_empty() && before.is_none() {
        return match (attempts, timeout) {
            (None, None) => Ok(None),
            _ => Err(Failure::usage(
                "there is no check to be bounded",
                "name the command with --check COMMAND",
            )),
        };
    }
    for command in commands {
        check_command(command, place)?;
    }
    let before = before.unwrap_or(CheckPolicy::DEFAULT);
    Ok(Some(CheckPolicy {
        failures_max: attempts.map_or(before.failures_max, Into::into),
        timeout: timeout.or(before.timeout).filter(|timeout| *timeout > Span::ZERO),
    }))
}

/// Rejects a command that the shell cannot parse or whose program is missing: it could never verify the work.
fn check_command(command: &str, place: &Path) -> Result<(), Failure> {
    match shell_check::check_command(command, Some(place)) {
        Some(why) => Err(Failure::usage(
            format!("cannot check the work by `{command}`: {why}"),
            "name a command with --check that runs in the directory of the work, as a shell takes it",
        )),
        None => Ok(()),
    }
}

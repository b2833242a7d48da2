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
    let (failures_max, timeout) = (values.max_failed_checks, values.check_timeout);
    let dir = args.cwd.as_deref().unwrap_or(Path::new("."));
    resolved.policy.check = check_policy(&args.agent.check, failures_max, timeout, None, dir)?;
    let named = [
        ("check", !args.agent.check.is_empty()),
        ("max_failed_checks", failures_max.is_some()),
        ("check_timeout", timeout.is_some()),
    ];
    let flags = named.into_iter().filter(|(_, named)| *named);
    resolved.origins.extend(flags.map(|(name, _)| (name.to_owned(), "flag".to_owned())));
    Ok(())
}

/// Returns the policy for these checks or for the existing ones, or `None` if the run has no checks.
pub fn check_policy(
    commands: &[String],
    failures_max: Option<NonZeroU32>,
    timeout: Option<Span>,
    existing: Option<CheckPolicy>,
    dir: &Path,
) -> Result<Option<CheckPolicy>, Failure> {
    if commands.is_empty() && existing.is_none() {
        return match (failures_max, timeout) {
            (None, None) => Ok(None),
            _ => Err(Failure::usage(
                "--max-failed-checks and --check-timeout need a check",
                "pass the command with --check COMMAND",
            )),
        };
    }
    for command in commands {
        check_command(command, dir)?;
    }
    let existing = existing.unwrap_or(CheckPolicy::DEFAULT);
    Ok(Some(CheckPolicy {
        failures_max: failures_max.map_or(existing.failures_max, Into::into),
        timeout: timeout.or(existing.timeout).filter(|timeout| *timeout > Span::ZERO),
    }))
}

/// Rejects a command that the shell cannot parse or whose program is missing: it could never verify the work.
fn check_command(command: &str, dir: &Path) -> Result<(), Failure> {
    match shell_check::check_command(command, Some(dir)) {
        Some(reason) => Err(Failure::usage(
            format!("cannot use the check `{command}`: {reason}"),
            "pass --check a shell command that runs in the working directory",
        )),
        None => Ok(()),
    }
}

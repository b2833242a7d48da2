//! Checks: commands that verify the work. A command that cannot run is rejected before anything starts.

use crate::args::{PolicyValueArgs, RunArgs};
use crate::failure::Failure;
use crate::policy_flags::ResolvedPolicy;
use crate::shell_check;
use longhaul_core::{Checks, Policy, Span};
use std::path::Path;

/// Applies the flags to the policy of a new run.
pub fn apply(args: &RunArgs, resolved: &mut ResolvedPolicy) -> Result<(), Failure> {
    let (commands, values) = (&args.agent.check, &args.policy.values);
    change(commands, values, args.cwd.as_deref().unwrap_or(Path::new(".")), &mut resolved.policy)?;
    let named = [
        ("check", !commands.is_empty()),
        ("max_failed_checks", values.max_failed_checks.is_some()),
        ("check_timeout", values.check_timeout.is_some()),
    ];
    let flags = named.into_iter().filter(|(_, named)| *named);
    resolved.origins.extend(flags.map(|(name, _)| (name.to_owned(), "flag".to_owned())));
    Ok(())
}

/// Applies the flags to the checks of a policy. Without commands, the existing ones stay.
pub fn change(
    commands: &[String],
    values: &PolicyValueArgs,
    dir: &Path,
    policy: &mut Policy,
) -> Result<(), Failure> {
    let (failures_max, timeout) = (values.max_failed_checks, values.check_timeout);
    for command in commands {
        check_command(command, dir)?;
    }
    if !commands.is_empty() {
        policy.checks.get_or_insert_with(|| Checks::new(Vec::new())).commands = commands.to_vec();
    }
    let Some(checks) = &mut policy.checks else {
        return match (failures_max, timeout) {
            (None, None) => Ok(()),
            _ => Err(Failure::usage(
                "--max-failed-checks and --check-timeout need a check",
                "pass the command with --check COMMAND",
            )),
        };
    };
    if let Some(failures_max) = failures_max {
        checks.failures_max = failures_max.into();
    }
    if let Some(timeout) = timeout {
        checks.timeout = Some(timeout).filter(|timeout| *timeout > Span::ZERO);
    }
    Ok(())
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

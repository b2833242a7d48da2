//! The commands that judge the work: what cannot be run is refused before anything is started.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::policy::ResolvedPolicy;
use crate::shell;
use longhaul_core::{Checking, Span};
use std::path::Path;

// An agent that has not passed by then does not learn what is missing from the same words.
const ATTEMPTS_MAX: u32 = 10;
// A whole test suite; what takes longer is rather hung.
const TIMEOUT: Span = Span::from_mins(30);

/// Applies the flags to the policy of a new run.
pub fn apply(args: &RunArgs, resolved: &mut ResolvedPolicy) -> Result<(), Failure> {
    let (attempts, timeout) = (args.policy.check_attempts, args.policy.check_timeout);
    if args.check.is_empty() {
        return match (attempts, timeout) {
            (None, None) => Ok(()),
            _ => Err(Failure::usage(
                "there is no check to be bounded",
                "name the command with --check COMMAND",
            )),
        };
    }
    for command in &args.check {
        check_command(args, command)?;
    }
    resolved.policy.check = Some(Checking {
        attempts_max: attempts.map_or(ATTEMPTS_MAX, Into::into),
        timeout: Some(timeout.unwrap_or(TIMEOUT)).filter(|timeout| *timeout > Span::ZERO),
    });
    let named =
        [("check", true), ("check_attempts", attempts.is_some()), ("check_timeout", timeout.is_some())];
    let flags = named.into_iter().filter(|(_, named)| *named);
    resolved.origins.extend(flags.map(|(name, _)| (name.to_owned(), "flag".to_owned())));
    Ok(())
}

/// A command that the shell cannot read, or whose program is not there, would judge no work at all.
fn check_command(args: &RunArgs, command: &str) -> Result<(), Failure> {
    match shell::flaw(command, Some(args.cwd.as_deref().unwrap_or(Path::new(".")))) {
        Some(why) => Err(Failure::usage(
            format!("check the work by `{command}`: {why}"),
            "name a command with --check that runs in the directory of the work, as a shell takes it",
        )),
        None => Ok(()),
    }
}

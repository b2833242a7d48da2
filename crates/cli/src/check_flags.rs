//! The checks and the review of a run, from flags. A command that cannot run is rejected before anything starts.

use crate::args::{PolicyValueArgs, ReviewModel, unless_zero};
use crate::command_flags::check_command;
use crate::failure::Failure;
use longhaul_core::{Checks, Policy, Review};
use std::path::Path;

/// Applies the flags to the checks of a policy. Without commands, the existing ones stay. A command that
/// cannot run could never verify the work and is rejected. Without a directory, only its syntax counts.
pub fn apply(
    commands: &[String],
    values: &PolicyValueArgs,
    dir: Option<&Path>,
    policy: &mut Policy,
) -> Result<(), Failure> {
    for command in commands {
        let hint = "name a command that the shell can run in the working directory: --check COMMAND";
        check_command("check", command, dir, hint)?;
    }
    if !commands.is_empty() {
        policy.checks.get_or_insert_with(|| Checks::new(Vec::new())).commands = commands.to_vec();
    }
    apply_review(values, policy)?;
    let (failures_max, timeout) = (values.max_failed_checks, values.check_timeout);
    let Some(checks) = &mut policy.checks else {
        return match (failures_max, timeout) {
            (None, None) => Ok(()),
            _ => Err(Failure::usage(
                "--max-failed-checks and --check-timeout need a check",
                "pass the command with --check COMMAND, or --review",
            )),
        };
    };
    checks.failures_max = failures_max.map_or(checks.failures_max, Into::into);
    checks.timeout = timeout.map_or(checks.timeout, unless_zero);
    Ok(())
}

/// Applies the flags to the review of a policy. Without `--review`, the existing one stays.
fn apply_review(values: &PolicyValueArgs, policy: &mut Policy) -> Result<(), Failure> {
    match &values.review {
        Some(ReviewModel::None) => {
            if let Some(checks) = &mut policy.checks {
                checks.review = None;
            }
            // A reviewer was the only check.
            policy.checks.take_if(|checks| checks.commands.is_empty());
        }
        Some(ReviewModel::Same) => add_review(policy, None),
        Some(ReviewModel::Named(model)) => add_review(policy, Some(model.clone())),
        None => {}
    }
    let review = policy.checks.as_mut().and_then(|checks| checks.review.as_mut());
    match (review, values.review_timeout) {
        (Some(review), Some(timeout)) => review.timeout = timeout,
        // A configured timeout has no effect on a run whose review is switched off.
        (None, Some(_)) if values.review.is_none() => {
            return Err(Failure::usage("--review-timeout needs a review", "pass --review"));
        }
        (Some(_) | None, _) => {}
    }
    Ok(())
}

fn add_review(policy: &mut Policy, model: Option<String>) {
    let checks = policy.checks.get_or_insert_with(|| Checks::new(Vec::new()));
    let review = checks.review.get_or_insert_with(|| Review::new(None));
    review.model = model;
}

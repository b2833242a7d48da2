//! Converts flags to a policy: a preset and the user's changes.

use crate::args::{KeepGoingArgs, PolicyArgs, PolicyValueArgs, ReviewModel};
use crate::command_flags::check_command;
use crate::failure::Failure;
use longhaul_core::{Checks, KeepGoing, OutageBound, Policy, Preset, Review, SessionLoss, Span};
use std::path::Path;

// A limit this long asks for more than a first solution.
const IMPROVE_FROM: Span = Span::from_hours(24);

/// A preset, and its policy with the changes of the flags.
#[derive(Clone, Debug)]
pub struct ResolvedPolicy {
    pub preset: Preset,
    pub policy: Policy,
}

pub fn resolve(args: &PolicyArgs, resume_or_new: bool) -> ResolvedPolicy {
    let preset = args.preset.unwrap_or(Preset::Default);
    let mut policy = preset.policy();
    change(&args.values, &mut policy);
    if resume_or_new {
        policy.session_loss = SessionLoss::Fresh;
    }
    ResolvedPolicy { preset, policy }
}

/// Applies the flags to a policy.
pub fn change(args: &PolicyValueArgs, policy: &mut Policy) {
    set(&mut policy.retries_max, args.max_retries);
    set(&mut policy.attempts_max, args.max_attempts.map(Into::into));
    set(&mut policy.backoff.base, args.retry_base);
    if let Some(cap) = args.retry_cap {
        policy.backoff.cap = cap;
        // An explicit cap applies to overload, too.
        policy.early_overload_cap = policy.early_overload_cap.at_most(cap);
    }
    set(&mut policy.backoff.jitter, args.retry_jitter);
    set(&mut policy.outage_bound, args.outage_limit.map(|limit| OutageBound::Time(unless_zero(limit))));
    set(&mut policy.attempt_timeout, args.attempt_timeout.map(unless_zero));
    set(&mut policy.stall_timeout, args.stall_timeout.map(unless_zero));
    set(&mut policy.progress_timeout, args.progress_timeout.map(unless_zero));
    set(&mut policy.orphan_timeout, args.orphan_timeout.map(unless_zero));
    set(&mut policy.max_reset_wait, args.max_reset_wait.map(unless_zero));
    let background_wait = args.background_wait.map(|wait| unless_zero(wait).unwrap_or(Span(u64::MAX)));
    set(&mut policy.background_wait, background_wait);
    set(&mut policy.inner_retries, args.inner_retries);
    set(&mut policy.on_terminate, args.on_terminate);
    policy.allow_denials |= args.allow_denials;
}

fn set<T>(setting: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *setting = value;
    }
}

/// Returns `None` for zero, which is how `none` is parsed.
pub fn unless_zero<T: Default + PartialEq>(amount: T) -> Option<T> {
    (amount != T::default()).then_some(amount)
}

/// Applies the flags to the checks of a policy. Without commands, the existing ones stay. A command that
/// cannot run could never verify the work and is rejected.
pub fn change_checks(
    commands: &[String],
    values: &PolicyValueArgs,
    dir: &Path,
    policy: &mut Policy,
) -> Result<(), Failure> {
    for command in commands {
        let hint = "pass --check a shell command that runs in the working directory";
        check_command("check", command, Some(dir), hint)?;
    }
    if !commands.is_empty() {
        policy.checks.get_or_insert_with(|| Checks::new(Vec::new())).commands = commands.to_vec();
    }
    change_review(values, policy)?;
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
fn change_review(values: &PolicyValueArgs, policy: &mut Policy) -> Result<(), Failure> {
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

pub fn apply_keep_going(flags: &KeepGoingArgs, policy: &mut Policy) {
    if !flags.keep_going {
        return;
    }
    let limits = &policy.limits;
    let mut keep_going = KeepGoing::DEFAULT;
    keep_going.keep_improving = flags.keep_improving || limits.time.max(limits.wall) >= Some(IMPROVE_FROM);
    keep_going.status_every = flags.status_every.unwrap_or(keep_going.status_every);
    keep_going.idle_stops_max = flags.max_idle_stops.map_or(keep_going.idle_stops_max, Into::into);
    keep_going.done_when.clone_from(&flags.done_when);
    policy.keep_going = Some(keep_going);
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use crate::time_arg::duration;
    use clap::CommandFactory;
    use longhaul_core::{Preset, Span, exact_span};

    #[test]
    fn help_states_each_default() {
        let root = Cli::command();
        let run = root.find_subcommand("run").expect("there is a command `run`");
        for (name, value) in Preset::Default.policy().settings() {
            let flag = name.replace('_', "-");
            let arg =
                run.get_arguments().find(|arg| arg.get_long() == Some(&flag)).expect("each value has a flag");
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let default = format!("[default: {}]", value.expect("the default policy sets each value"));
            assert!(help.contains(&default), "--{flag}: no {default} in {help}");
        }
    }

    #[test]
    fn typed_times_round_trip() {
        for (millis, text) in [
            (0, "0"),
            (2_000, "2s"),
            (2_250, "2250ms"),
            (420_000, "7m"),
            (5_400_000, "1h30m"),
            (604_800_000, "168h"),
            (3_601_000, "1h1s"),
        ] {
            assert_eq!(exact_span(Span(millis)), text);
            assert_eq!(duration(text), Ok(Span(millis)));
        }
    }
}

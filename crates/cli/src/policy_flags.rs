//! Converts flags to a policy: a preset and the user's changes, each value with its origin.

use crate::args::{PolicyArgs, PolicyValueArgs};
use longhaul_core::{OutageBound, Policy, Preset, SessionLoss, Span};
use std::collections::BTreeMap;

/// A policy and the origin of each of its values.
#[derive(Clone, Debug)]
pub struct ResolvedPolicy {
    pub preset: Preset,
    pub policy: Policy,
    pub origins: BTreeMap<String, String>,
}

/// Applies the flags to the preset.
pub fn resolve(args: &PolicyArgs, resume_or_new: bool) -> ResolvedPolicy {
    let preset = args.preset.unwrap_or(Preset::Default);
    let mut policy = preset.policy();
    let mut origins = BTreeMap::from([("preset".to_owned(), preset.as_str().to_owned())]);
    let mut flag = |name: &str| drop(origins.insert(name.to_owned(), "flag".to_owned()));
    change(&args.values, &mut policy, &mut flag);
    if resume_or_new {
        policy.session_loss = SessionLoss::Fresh;
        flag("resume_or_new");
    }
    ResolvedPolicy { preset, policy, origins }
}

/// Applies the flags to a policy, and calls `flag` with the name of each.
pub fn change(args: &PolicyValueArgs, policy: &mut Policy, flag: &mut impl FnMut(&str)) {
    if let Some(retries) = args.max_retries {
        policy.retries_max = retries;
        flag("max_retries");
    }
    if let Some(attempts) = args.max_attempts {
        policy.attempts_max = attempts.get();
        flag("max_attempts");
    }
    if let Some(base) = args.retry_base {
        policy.backoff.base = base;
        flag("retry_base");
    }
    if let Some(cap) = args.retry_cap {
        policy.backoff.cap = cap;
        // An explicit cap applies to overload, too.
        policy.early_overload_cap = policy.early_overload_cap.at_most(cap);
        flag("retry_cap");
    }
    if let Some(jitter) = args.retry_jitter {
        policy.backoff.jitter = jitter;
        flag("retry_jitter");
    }
    if let Some(limit) = args.outage_limit {
        policy.outage_bound = OutageBound::Time(unless_zero(limit));
        flag("outage_limit");
    }
    if let Some(timeout) = args.attempt_timeout {
        policy.attempt_timeout = unless_zero(timeout);
        flag("attempt_timeout");
    }
    if let Some(timeout) = args.stall_timeout {
        policy.stall_timeout = unless_zero(timeout);
        flag("stall_timeout");
    }
    if let Some(timeout) = args.progress_timeout {
        policy.progress_timeout = unless_zero(timeout);
        flag("progress_timeout");
    }
    if let Some(timeout) = args.orphan_timeout {
        policy.orphan_timeout = unless_zero(timeout);
        flag("orphan_timeout");
    }
    if let Some(longest) = args.max_reset_wait {
        policy.max_reset_wait = unless_zero(longest);
        flag("max_reset_wait");
    }
    if let Some(wait) = args.background_wait {
        policy.background_wait = unless_zero(wait).unwrap_or(Span(u64::MAX));
        flag("background_wait");
    }
    if let Some(retries) = args.inner_retries {
        policy.inner_retries = retries;
        flag("inner_retries");
    }
    if let Some(reaction) = args.on_terminate {
        policy.on_terminate = reaction;
        flag("on_terminate");
    }
    if args.allow_denials {
        policy.allow_denials = true;
        flag("allow_denials");
    }
}

/// Returns `None` for zero, which is how `none` is parsed.
fn unless_zero(span: Span) -> Option<Span> {
    (span > Span::ZERO).then_some(span)
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use crate::duration_arg::duration;
    use clap::CommandFactory;
    use longhaul_core::{Preset, Span, flag_span};

    #[test]
    fn help_states_each_default() {
        let root = Cli::command();
        let run = root.find_subcommand("run").expect("there is a command `run`");
        for (name, value) in Preset::Default.policy().flag_values() {
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
            assert_eq!(flag_span(Span(millis)), text);
            assert_eq!(duration(text), Ok(Span(millis)));
        }
    }
}

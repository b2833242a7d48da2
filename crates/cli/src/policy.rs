//! From flags to a policy: a preset and what the user changed in it, each value with its origin.

use crate::args::PolicyArgs;
use longhaul_core::{Jitter, Policy, Preset, ServerBound, SessionLoss, Span};
use std::collections::BTreeMap;

/// A policy and where each of its values came from.
#[derive(Clone, Debug)]
pub struct ResolvedPolicy {
    pub preset: Preset,
    pub policy: Policy,
    pub origins: BTreeMap<String, String>,
}

/// Applies the flags to the preset.
pub fn resolve(args: &PolicyArgs, preset: Option<Preset>, resume_or_new: bool) -> ResolvedPolicy {
    let preset = preset.or(args.preset).unwrap_or(Preset::Default);
    let mut policy = preset.policy();
    let mut origins = BTreeMap::from([("preset".to_owned(), preset.word().to_owned())]);
    let mut flag = |name: &str| origins.insert(name.to_owned(), "flag".to_owned());

    if let Some(retries) = args.max_retries {
        policy.retries_max = retries;
        flag("max_retries");
    }
    if let Some(base) = args.retry_base {
        policy.backoff.base = base;
        flag("retry_base");
    }
    if let Some(cap) = args.retry_cap {
        policy.backoff.cap = cap;
        // A cap that was asked for holds for overload too.
        policy.overload_cap = policy.overload_cap.at_most(cap);
        flag("retry_cap");
    }
    if let Some(jitter) = args.retry_jitter {
        policy.backoff.jitter = jitter;
        flag("retry_jitter");
    }
    if let Some(limit) = args.outage_limit {
        policy.server_bound = ServerBound::Time(unless_zero(limit));
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
    if let Some(longest) = args.max_wait {
        policy.max_wait = unless_zero(longest);
        flag("max_wait");
    }
    if let Some(wait) = args.background_wait {
        policy.background_wait = unless_zero(wait).unwrap_or(Span(u64::MAX));
        flag("background_wait");
    }
    if let Some(retries) = args.inner_retries {
        policy.inner_retries = retries;
        flag("inner_retries");
    }
    if args.allow_denials {
        policy.allow_denials = true;
        flag("allow_denials");
    }
    if resume_or_new {
        policy.session_loss = SessionLoss::Fresh;
        flag("resume_or_new");
    }
    ResolvedPolicy { preset, policy, origins }
}

/// A policy's values as they would be typed, by the names of their flags; nothing where no value says it.
pub fn as_typed(policy: &Policy) -> Vec<(&'static str, Option<String>)> {
    let time = |span: Option<Span>| Some(typed(span.unwrap_or(Span::ZERO)));
    let limits = &policy.limits;
    let outage = match policy.server_bound {
        ServerBound::Time(limit) => time(limit),
        ServerBound::Retries => None,
    };
    let jitter = match policy.backoff.jitter {
        Jitter::Full => "full".to_owned(),
        Jitter::None => "none".to_owned(),
        Jitter::Percent(percent) => percent.to_string(),
    };
    vec![
        ("budget", Some(limits.budget.map_or_else(|| "0".to_owned(), |usd| usd.dollars().to_string()))),
        ("max_tokens", Some(limits.tokens.unwrap_or(0).to_string())),
        ("time_limit", time(limits.time)),
        ("wall_limit", time(limits.wall)),
        ("max_turns", Some(limits.turns.unwrap_or(0).to_string())),
        (
            "memory_limit",
            Some(limits.memory.map_or_else(|| "0".to_owned(), |bytes| format!("{}M", bytes >> 20))),
        ),
        ("max_retries", Some(policy.retries_max.to_string())),
        ("retry_base", Some(typed(policy.backoff.base))),
        ("retry_cap", Some(typed(policy.backoff.cap))),
        ("retry_jitter", Some(jitter)),
        ("outage_limit", outage),
        ("attempt_timeout", time(policy.attempt_timeout)),
        ("stall_timeout", time(policy.stall_timeout)),
        ("progress_timeout", time(policy.progress_timeout)),
        ("orphan_timeout", time(policy.orphan_timeout)),
        ("max_wait", time(policy.max_wait)),
        ("background_wait", time(Some(policy.background_wait).filter(|wait| *wait < Span(u64::MAX)))),
        ("inner_retries", Some(policy.inner_retries.to_string())),
    ]
}

/// A time as `duration` reads it, without loss.
fn typed(span: Span) -> String {
    let millis = span.millis();
    let seconds = millis / 1000;
    if millis == 0 {
        return "0".to_owned();
    }
    if !millis.is_multiple_of(1000) {
        return format!("{millis}ms");
    }
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect()
}

/// 0 means unlimited, everywhere.
fn unless_zero(span: Span) -> Option<Span> {
    (span > Span::ZERO).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duration::duration;

    #[test]
    fn times_are_typed_without_loss() {
        for (millis, text) in [
            (0, "0"),
            (2_000, "2s"),
            (2_250, "2250ms"),
            (420_000, "7m"),
            (5_400_000, "1h30m"),
            (604_800_000, "168h"),
            (3_601_000, "1h1s"),
        ] {
            assert_eq!(typed(Span(millis)), text);
            assert_eq!(duration(text), Ok(Span(millis)));
        }
    }
}

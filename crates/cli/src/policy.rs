//! From flags to a policy: a preset and what the user changed in it, each value with its origin.

use crate::args::PolicyArgs;
use longhaul_core::{Policy, Preset, ServerBound, SessionLoss, Span};
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

/// 0 means unlimited, everywhere.
fn unless_zero(span: Span) -> Option<Span> {
    (span > Span::ZERO).then_some(span)
}

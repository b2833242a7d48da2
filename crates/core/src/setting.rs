//! Renders settings as text: a policy's values by flag name, and the changes that a user makes when resuming
//! a run.
//!
//! This module never parses a setting; the command line does.

use crate::{Jitter, OnTerminate, OutageBound, Policy, Span};
use serde::{Deserialize, Serialize};

const NONE: &str = "none";

/// A setting that the user changed when resuming the run. It never holds a secret: commands are counted, not
/// quoted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingChange {
    /// Name of its flag, with `_`.
    pub setting: String,
    /// Previous value: `none` for unlimited or empty, `default` for the agent's own setting.
    pub from: String,
    /// New value.
    pub to: String,
}

impl SettingChange {
    /// Returns the change of `setting`, or `None` if both values are equal.
    pub fn between(setting: &str, from: &str, to: &str) -> Option<SettingChange> {
        let change =
            || SettingChange { setting: setting.to_owned(), from: from.to_owned(), to: to.to_owned() };
        (from != to).then(change)
    }
}

impl Policy {
    /// Returns the policy's values in the syntax of the command line, by flag name. A value is `None` if the
    /// command line cannot express it.
    pub fn flag_values(&self) -> Vec<(&'static str, Option<String>)> {
        let none = || NONE.to_owned();
        let time = |span: Option<Span>| Some(span.map_or_else(none, flag_span));
        let limits = &self.limits;
        let outage = match self.outage_bound {
            OutageBound::Time(limit) => time(limit),
            OutageBound::Retries => None,
        };
        let on_terminate = match self.on_terminate {
            OnTerminate::Suspend => "suspend",
            OnTerminate::Cancel => "cancel",
        };
        let jitter = match self.backoff.jitter {
            Jitter::Full => "full".to_owned(),
            Jitter::None => "none".to_owned(),
            Jitter::Percent(percent) => percent.to_string(),
        };
        vec![
            ("budget", Some(limits.budget.map_or_else(none, |usd| usd.as_dollars().to_string()))),
            ("max_tokens", Some(limits.tokens.map_or_else(none, |tokens| tokens.to_string()))),
            ("time_limit", time(limits.time)),
            ("wall_limit", time(limits.wall)),
            ("max_turns", Some(limits.turns.map_or_else(none, |turns| turns.to_string()))),
            ("memory_limit", Some(limits.memory.map_or_else(none, |bytes| format!("{}M", bytes >> 20)))),
            ("max_retries", Some(self.retries_max.to_string())),
            ("max_attempts", Some(self.attempts_max.to_string())),
            ("retry_base", Some(flag_span(self.backoff.base))),
            ("retry_cap", Some(flag_span(self.backoff.cap))),
            ("retry_jitter", Some(jitter)),
            ("outage_limit", outage),
            ("attempt_timeout", time(self.attempt_timeout)),
            ("stall_timeout", time(self.stall_timeout)),
            ("progress_timeout", time(self.progress_timeout)),
            ("orphan_timeout", time(self.orphan_timeout)),
            ("max_reset_wait", time(self.max_reset_wait)),
            ("background_wait", time(Some(self.background_wait).filter(|wait| *wait < Span(u64::MAX)))),
            ("inner_retries", Some(self.inner_retries.to_string())),
            ("on_terminate", Some(on_terminate.to_owned())),
        ]
    }

    /// Returns the settings that differ in `new`.
    pub fn changes_to(&self, new: &Policy) -> Vec<SettingChange> {
        let render = |value: Option<String>| value.unwrap_or_else(|| NONE.to_owned());
        let values = self.flag_values().into_iter().chain(check_values(self));
        let new_values = new.flag_values().into_iter().chain(check_values(new));
        values
            .zip(new_values)
            .filter_map(|((name, from), (_, to))| SettingChange::between(name, &render(from), &render(to)))
            .collect()
    }
}

fn check_values(policy: &Policy) -> Vec<(&'static str, Option<String>)> {
    let check = policy.check.as_ref();
    vec![
        ("max_failed_checks", check.map(|check| check.failures_max.to_string())),
        ("check_timeout", check.map(|check| check.timeout.map_or_else(|| NONE.to_owned(), flag_span))),
        ("allow_denials", Some(policy.allow_denials.to_string())),
    ]
}

/// Returns a span in the syntax of the command line, without loss.
pub fn flag_span(span: Span) -> String {
    let millis = span.millis();
    let seconds = millis / 1000;
    if span == Span(u64::MAX) {
        return NONE.to_owned();
    }
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

//! Fault profiles: the faults that a user expects. They are written as TOML, or counted from the journals of
//! past runs. A profile never contains policy.

use crate::fault_mix::{FaultMix, FaultPoint, Interval};
use longhaul_core::{AttemptHistory, Fault, Remedy, RunHistory, Span, Usage, Usd};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

const BUILT_IN: &[(&str, &str)] = &[
    ("calm", include_str!("../profiles/calm.toml")),
    ("flaky", include_str!("../profiles/flaky.toml")),
    ("storm", include_str!("../profiles/storm.toml")),
    ("quota", include_str!("../profiles/quota.toml")),
];

/// Properties of a run's world. Pairs are a minimum and a maximum; small values are more likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Description for the user.
    pub about: String,
    /// Tool calls that the work needs.
    pub tool_calls: [u32; 2],
    /// Seconds from a request to its response.
    pub request_seconds: [f64; 2],
    /// Seconds of a tool call.
    pub tool_seconds: [f64; 2],
    /// Cost of a request in dollars.
    pub request_usd: f64,
    /// Seconds of an outage of the API or the network.
    #[serde(default = "outage_seconds")]
    pub outage_seconds: [f64; 2],
    /// Seconds from a usage limit to its reset.
    #[serde(default = "reset_seconds")]
    pub reset_seconds: [f64; 2],
    /// How often each fault strikes.
    #[serde(default)]
    pub faults: BTreeMap<Fault, Rate>,
}

/// How often a fault strikes. Both fields may be set; they add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Times per hour of work, without waits.
    #[serde(default)]
    pub per_hour: f64,
    /// The chance, from 0 to 1, at each opportunity. Depending on the fault, that is a start of the agent, a
    /// request, a tool call or a last answer.
    #[serde(default)]
    pub each: f64,
}

fn outage_seconds() -> [f64; 2] {
    [5.0, 600.0]
}

fn reset_seconds() -> [f64; 2] {
    [600.0, 18_000.0]
}

/// An unusable profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ProfileError(String);

impl Profile {
    /// Returns the names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the built-in profile of this name.
    pub fn built_in(name: &str) -> Result<Profile, ProfileError> {
        match BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
            Some((_, text)) => Profile::parse(text),
            None => {
                let names: Vec<&str> = Profile::names().collect();
                Err(ProfileError(format!(
                    "`{name}` is not a fault set; the fault sets are {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// Parses a profile from TOML.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let profile: Profile = toml::from_str(text).map_err(|error| ProfileError(error.to_string()))?;
        profile.check()?;
        Ok(profile)
    }

    fn check(&self) -> Result<(), ProfileError> {
        let pairs = [
            ("request_seconds", self.request_seconds),
            ("tool_seconds", self.tool_seconds),
            ("outage_seconds", self.outage_seconds),
            ("reset_seconds", self.reset_seconds),
            ("tool_calls", self.tool_calls.map(f64::from)),
        ];
        for (name, [min, max]) in pairs {
            if !(0.0 <= min && min <= max && max.is_finite()) {
                return Err(ProfileError(format!("{name} must be two numbers: a minimum and a maximum")));
            }
        }
        if Usd::from_dollars(self.request_usd).is_none() {
            return Err(ProfileError("request_usd must be an amount of dollars".to_owned()));
        }
        for (fault, rate) in &self.faults {
            let is_valid =
                rate.per_hour >= 0.0 && rate.per_hour.is_finite() && (0.0..=1.0).contains(&rate.each);
            if !is_valid {
                return Err(ProfileError(format!(
                    "the rate of {fault} must be `per_hour` of at least 0 or `each` from 0 to 1"
                )));
            }
        }
        Ok(())
    }

    /// Creates a profile from past runs. It counts faults per hour of work, durations of outages and usage
    /// limits, and durations and costs of requests. Returns `None` if the runs contain no work.
    pub fn from_runs(runs: &[RunHistory]) -> Option<Profile> {
        let active = runs.iter().map(active).fold(Span::ZERO, |sum, active| sum + active);
        let hours = seconds(active) / 3600.0;
        let usage = runs.iter().map(|history| history.state().usage).fold(Usage::default(), Usage::plus);
        if hours <= 0.0 || usage.messages == 0 {
            return None;
        }
        let messages = f64::from(usage.messages);
        let request = hours * 3600.0 / messages;
        let calls = (messages / runs.len().max(1) as f64).max(1.0);
        let attempts = runs.iter().flat_map(RunHistory::attempts);
        let parked = attempts.filter(|attempt| attempt.remedy() == Some(Remedy::Park));
        let outages = runs.iter().flat_map(RunHistory::outages);
        let rate = |count: u64| Rate { per_hour: count as f64 / hours, each: 0.0 };
        Some(Profile {
            about: format!("observed in {} runs, {hours:.1} hours of work", runs.len()),
            tool_calls: [(calls / 2.0) as u32, (calls * 2.0).ceil() as u32],
            // Requests and tools together, because the journal does not separate them.
            request_seconds: [request / 4.0, request * 3.0],
            tool_seconds: [0.0, 0.0],
            request_usd: usage.total_cost().as_dollars() / messages,
            outage_seconds: range(outages.filter_map(|outage| Some(outage.until?.since(outage.from))))
                .unwrap_or(outage_seconds()),
            reset_seconds: range(parked.filter_map(AttemptHistory::planned_wait)).unwrap_or(reset_seconds()),
            faults: count_faults(runs).into_iter().map(|(fault, count)| (fault, rate(count))).collect(),
        })
    }

    pub(crate) fn mix(&self) -> FaultMix {
        let mut mix = FaultMix::calm();
        mix.work = Interval::new(self.tool_calls[0].into(), self.tool_calls[1].into());
        mix.think = interval(self.request_seconds);
        mix.tool = interval(self.tool_seconds);
        mix.outage = interval(self.outage_seconds);
        mix.reset = interval(self.reset_seconds);
        mix.request_cost = Usd::from_dollars(self.request_usd).unwrap_or_default();
        for (fault, rate) in &self.faults {
            let each = rate.each + rate.per_hour * self.hours_between(FaultPoint::new(*fault));
            mix.set_odds(*fault, (each * 1e6).clamp(0.0, 1e6) as u32);
        }
        mix
    }

    /// Returns the hours of work between two opportunities for a fault.
    fn hours_between(&self, point: FaultPoint) -> f64 {
        let request = mean(self.request_seconds) + mean(self.tool_seconds);
        let requests = match point {
            FaultPoint::Request | FaultPoint::Tool => 1.0,
            // Once per run, if no fault strikes.
            FaultPoint::Spawn | FaultPoint::Answer => mean(self.tool_calls.map(f64::from)).max(1.0),
        };
        request * requests / 3600.0
    }
}

/// Returns the mean of log-uniform draws: each order of magnitude is equally likely.
fn mean([min, max]: [f64; 2]) -> f64 {
    let min = min.max(1e-3);
    if max <= min { max } else { (max - min) / (max / min).ln() }
}

fn interval([min, max]: [f64; 2]) -> Interval {
    Interval::new((min * 1e3) as u64, (max * 1e3) as u64)
}

fn count_faults(runs: &[RunHistory]) -> BTreeMap<Fault, u64> {
    let mut counts = BTreeMap::new();
    for fault in runs.iter().flat_map(RunHistory::attempts).filter_map(AttemptHistory::fault) {
        *counts.entry(fault).or_default() += 1;
    }
    counts
}

/// Returns the time that a run worked until its last attempt ended or it finished.
fn active(history: &RunHistory) -> Span {
    let state = history.state();
    let ends = history.attempts().iter().filter_map(|attempt| attempt.ended_at);
    let last = ends.max().max(state.outcome().map(|_| state.finished_at));
    last.map_or(Span::ZERO, |last| state.clocks.active(last))
}

fn seconds(span: Span) -> f64 {
    span.millis() as f64 / 1e3
}

fn range(spans: impl Iterator<Item = Span>) -> Option<[f64; 2]> {
    let spans: Vec<Span> = spans.collect();
    Some([seconds(*spans.iter().min()?), seconds(*spans.iter().max()?)])
}

#[cfg(test)]
mod tests;

//! Fault profiles: what a user expects to go wrong, as TOML that people write, or counted from the
//! journals of past runs. A profile says nothing about policy.

use crate::fault_mix::{FaultMix, FaultPoint, Interval};
use longhaul_core::{AfterAttempt, Fault, Moment, Record, Remedy, Run, Span, Usd};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

const BUILT_IN: &[(&str, &str)] = &[
    ("calm", include_str!("../profiles/calm.toml")),
    ("flaky", include_str!("../profiles/flaky.toml")),
    ("storm", include_str!("../profiles/storm.toml")),
    ("quota", include_str!("../profiles/quota.toml")),
];

/// What the world of a run is like. Pairs are the least and the most; small values are more likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What it stands for, for people.
    pub about: String,
    /// Tool calls that the work needs.
    pub tool_calls: [u32; 2],
    /// Seconds from a request to its answer.
    pub request_seconds: [f64; 2],
    /// Seconds that a tool call takes.
    pub tool_seconds: [f64; 2],
    /// Dollars that a request costs.
    pub request_usd: f64,
    /// Seconds that a wall of a server or of the network lasts.
    #[serde(default = "wall_seconds")]
    pub outage_seconds: [f64; 2],
    /// Seconds from a usage limit to its reset.
    #[serde(default = "reset_seconds")]
    pub reset_seconds: [f64; 2],
    /// How often each fault strikes.
    #[serde(default)]
    pub faults: BTreeMap<Fault, Rate>,
}

/// How often a fault strikes. Both may be given, and add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Times an hour of work, waits not counted.
    #[serde(default)]
    pub per_hour: f64,
    /// The chance, from 0 to 1, each time it could strike: at a start of the agent, a request, a tool
    /// call or a last answer, whichever is the fault's place.
    #[serde(default)]
    pub each: f64,
}

fn wall_seconds() -> [f64; 2] {
    [5.0, 600.0]
}

fn reset_seconds() -> [f64; 2] {
    [600.0, 18_000.0]
}

/// A profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError(String);

impl fmt::Display for ProfileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The built-in profile of this name.
    pub fn named(name: &str) -> Result<Profile, ProfileError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Profile::parse(text),
            None => {
                let names: Vec<&str> = Profile::names().collect();
                Err(ProfileError(format!("`{name}` is not a profile; the profiles are {}", names.join(", "))))
            }
        }
    }

    /// Reads a profile from its TOML text.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let profile: Profile = toml::from_str(text).map_err(|error| ProfileError(error.to_string()))?;
        profile.check()?;
        Ok(profile)
    }

    fn check(&self) -> Result<(), ProfileError> {
        let pairs = [
            ("request_seconds", self.request_seconds),
            ("tool_seconds", self.tool_seconds),
            ("wall_seconds", self.outage_seconds),
            ("reset_seconds", self.reset_seconds),
            ("tool_calls", self.tool_calls.map(f64::from)),
        ];
        for (name, [least, most]) in pairs {
            if !(0.0 <= least && least <= most && most.is_finite()) {
                return Err(ProfileError(format!("{name} must be two numbers, the least and the most")));
            }
        }
        if Usd::from_dollars(self.request_usd).is_none() {
            return Err(ProfileError("request_usd must be an amount of dollars".to_owned()));
        }
        for (fault, rate) in &self.faults {
            let sound = rate.per_hour >= 0.0 && rate.per_hour.is_finite() && (0.0..=1.0).contains(&rate.each);
            if !sound {
                return Err(ProfileError(format!(
                    "the rate of {fault} must be `per_hour` from 0 on or `each` from 0 to 1"
                )));
            }
        }
        Ok(())
    }

    /// What these past runs met: how often each fault struck an hour of work, how long their walls
    /// and limits lasted, what a request took and cost. Nothing if they hold no work.
    pub fn observed(runs: &[Vec<Record>]) -> Option<Profile> {
        let mut seen = Observed::default();
        runs.iter().for_each(|records| seen.take(records));
        seen.profile(runs.len())
    }

    /// The simulator's numbers for this profile.
    pub(crate) fn mix(&self) -> FaultMix {
        let mut mix = FaultMix::calm();
        mix.work = Interval::new(self.tool_calls[0].into(), self.tool_calls[1].into());
        mix.think = reach(self.request_seconds);
        mix.tool = reach(self.tool_seconds);
        mix.outage = reach(self.outage_seconds);
        mix.reset = reach(self.reset_seconds);
        mix.request_cost = Usd::from_dollars(self.request_usd).unwrap_or_default();
        for (fault, rate) in &self.faults {
            let each = rate.each + rate.per_hour * self.hours_between(FaultPoint::new(*fault));
            mix.strike(*fault, (each * 1e6).clamp(0.0, 1e6) as u32);
        }
        mix
    }

    /// Hours of work between two occasions for a fault to strike.
    fn hours_between(&self, point: FaultPoint) -> f64 {
        let request = mean(self.request_seconds) + mean(self.tool_seconds);
        let requests = match point {
            FaultPoint::Request | FaultPoint::Tool => 1.0,
            // Once in a whole run, where nothing goes wrong.
            FaultPoint::Spawn | FaultPoint::Answer => mean(self.tool_calls.map(f64::from)).max(1.0),
        };
        request * requests / 3600.0
    }
}

/// The mean of draws of which each order of magnitude is as likely.
fn mean([least, most]: [f64; 2]) -> f64 {
    let least = least.max(1e-3);
    if most <= least { most } else { (most - least) / (most / least).ln() }
}

fn reach([least, most]: [f64; 2]) -> Interval {
    Interval::new((least * 1e3) as u64, (most * 1e3) as u64)
}

/// What past runs tell.
#[derive(Default)]
struct Observed {
    faults: BTreeMap<Fault, u64>,
    active: Span,
    messages: u64,
    cost: Usd,
    outages: Vec<f64>,
    resets: Vec<f64>,
}

impl Observed {
    fn take(&mut self, records: &[Record]) {
        let mut wall: Option<Moment> = None;
        let mut last = Moment::default();
        for record in records {
            match record {
                Record::AttemptEnded { at, fault, next, .. } => {
                    last = *at;
                    if let Some(fault) = fault {
                        *self.faults.entry(*fault).or_default() += 1;
                    }
                    self.wait(*at, next, &mut wall);
                }
                Record::ProgressMade { at, .. } => {
                    self.outages.extend(wall.take().map(|began| seconds(at.since(began))));
                }
                Record::RunFinished { at, .. } => last = *at,
                Record::RunStarted { .. }
                | Record::RunReopened { .. }
                | Record::ResumeStrategyChosen { .. }
                | Record::SummaryStarted { .. }
                | Record::SummaryStopOrdered { .. }
                | Record::SummaryEnded { .. }
                | Record::AttemptStarted { .. }
                | Record::AttemptSpawned { .. }
                | Record::SessionOpened { .. }
                | Record::LimitReached { .. }
                | Record::PromptSent { .. }
                | Record::AgentStopped { .. }
                | Record::CheckStarted { .. }
                | Record::CheckStopOrdered { .. }
                | Record::CheckEnded { .. }
                | Record::InputClosed { .. }
                | Record::StopOrdered { .. }
                | Record::StallDeferred { .. }
                | Record::Recovered { .. }
                | Record::Downtime { .. }
                | Record::Swept { .. }
                | Record::CancelRequested { .. }
                | Record::SuspendOrdered { .. }
                | Record::Suspended { .. } => {}
            }
        }
        let run = Run::replay(records);
        self.active = self.active + run.state().clocks.active(last);
        self.messages += u64::from(run.state().usage.messages);
        self.cost += run.state().usage.reported_cost + run.state().usage.estimated_cost;
    }

    fn wait(&mut self, at: Moment, next: &AfterAttempt, wall: &mut Option<Moment>) {
        let AfterAttempt::Attempt { at: until, remedy, .. } = next else { return };
        if *remedy == Remedy::WaitOut {
            wall.get_or_insert(at);
        }
        if *remedy == Remedy::Park {
            self.resets.push(seconds(until.since(at)));
        }
    }

    fn profile(self, runs: usize) -> Option<Profile> {
        let hours = seconds(self.active) / 3600.0;
        if hours <= 0.0 || self.messages == 0 {
            return None;
        }
        let messages = self.messages as f64;
        let request = hours * 3600.0 / messages;
        let calls = (messages / runs.max(1) as f64).max(1.0);
        let rate = |count: u64| Rate { per_hour: count as f64 / hours, each: 0.0 };
        Some(Profile {
            about: format!("observed in {runs} runs, {hours:.1} hours of work"),
            tool_calls: [(calls / 2.0) as u32, (calls * 2.0).ceil() as u32],
            // Requests and tools together: the journal does not tell them apart.
            request_seconds: [request / 4.0, request * 3.0],
            tool_seconds: [0.0, 0.0],
            request_usd: self.cost.as_dollars() / messages,
            outage_seconds: extent(&self.outages).unwrap_or(wall_seconds()),
            reset_seconds: extent(&self.resets).unwrap_or(reset_seconds()),
            faults: self.faults.into_iter().map(|(fault, count)| (fault, rate(count))).collect(),
        })
    }
}

fn seconds(span: Span) -> f64 {
    span.millis() as f64 / 1e3
}

fn extent(values: &[f64]) -> Option<[f64; 2]> {
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    Some([least, most])
}

#[cfg(test)]
mod tests;

//! What to expect of a policy under a fault profile: many runs, and the distributions of how they
//! ended, how long they took and what they cost.

use crate::coverage::Coverage;
use crate::profile::Profile;
use crate::quantiles::Quantiles;
use crate::seed_plan::SeedPlan;
use crate::sim_run::{START, SimResult, SimRun, Trace};
use crate::world::World;
use longhaul_core::{Fault, Policy, SessionPlan, Span, Usd, draw_uuid};
use serde::Serialize;
use std::collections::BTreeMap;

/// Distributions over simulated runs. Times are in milliseconds, money in micro-dollars.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forecast {
    /// Runs simulated.
    pub runs: u64,
    /// How many ended how, by the outcome's word.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// How many were decided by which fault.
    pub decided_by: BTreeMap<Fault, u64>,
    /// How many attempts met which fault.
    pub faults: BTreeMap<Fault, u64>,
    /// Attempts a run.
    pub attempts: Quantiles<u32>,
    /// From start to end.
    pub outage: Quantiles<Span>,
    /// Time with no process resident.
    pub waiting: Quantiles<Span>,
    /// Requests to the API, failed ones included.
    pub requests: Quantiles<u64>,
    /// Requests that the API refused.
    pub failed_requests: Quantiles<u64>,
    /// Money spent.
    pub spend: Quantiles<Usd>,
    /// Runs whose simulation broke an invariant, and why the first did: none is expected.
    pub broken: u64,
    /// What was wrong with the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_first: Option<String>,
}

/// Simulates so many runs of `policy` in the world of `profile`, from `seed` on.
pub fn forecast(policy: &Policy, profile: &Profile, runs: u64, seed: u64) -> Forecast {
    let mut forecast = Forecast { runs, ..Forecast::default() };
    let mut flight = SimRun::new();
    let mut coverage = Coverage::new();
    let mut flown: Vec<(SimResult, u64, u64)> = Vec::new();
    for seed in (0..runs).map(|run| seed.wrapping_add(run)) {
        let plan = SeedPlan {
            policy: policy.clone(),
            mix: profile.mix(),
            session: SessionPlan::New(draw_uuid(seed, 1)),
            session_exists: false,
        };
        let mut world = World::new(seed, plan.mix.clone(), policy, START);
        match flight.run(&plan, &mut world, &mut coverage, &mut Trace::off()) {
            Ok(landing) => flown.push((landing, world.requests, world.failed_requests)),
            Err(objection) => {
                forecast.broken += 1;
                forecast.broken_first.get_or_insert(format!("seed {seed}: {objection}"));
            }
        }
    }
    for (landing, _, _) in &flown {
        *forecast.outcomes.entry(landing.outcome.kind.as_str()).or_default() += 1;
        if let Some(fault) = landing.outcome.fault {
            *forecast.decided_by.entry(fault).or_default() += 1;
        }
    }
    forecast.faults = Fault::ALL
        .iter()
        .map(|fault| (*fault, coverage.faults[*fault as usize]))
        .filter(|(_, count)| *count > 0)
        .collect();
    forecast.attempts = quantiles(&flown, |(landing, _, _)| landing.attempts);
    forecast.outage = quantiles(&flown, |(landing, _, _)| landing.outage);
    forecast.waiting = quantiles(&flown, |(landing, _, _)| landing.waiting);
    forecast.spend = quantiles(&flown, |(landing, _, _)| landing.spend);
    forecast.requests = quantiles(&flown, |(_, requests, _)| *requests);
    forecast.failed_requests = quantiles(&flown, |(_, _, failed)| *failed);
    forecast
}

fn quantiles<T: Copy + Ord + Default>(
    flown: &[(SimResult, u64, u64)],
    value: impl Fn(&(SimResult, u64, u64)) -> T,
) -> Quantiles<T> {
    Quantiles::new(flown.iter().map(value).collect())
}

#[cfg(test)]
mod tests;

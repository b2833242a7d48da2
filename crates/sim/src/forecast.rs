//! Forecasts the results of a policy under a fault profile: simulates many runs and computes the
//! distributions of their outcomes, durations and costs.

use crate::coverage::Coverage;
use crate::profile::Profile;
use crate::quantiles::Quantiles;
use crate::seed_plan::SeedPlan;
use crate::sim_run::{START, SimResult, SimRun, Trace};
use crate::world::World;
use longhaul_core::{Fault, Policy, SessionPlan, Span, Usd, draw_uuid};
use serde::Serialize;
use std::collections::BTreeMap;

/// Distributions over simulated runs. Times are in milliseconds, costs in microdollars.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forecast {
    /// Number of simulated runs.
    pub runs: u64,
    /// Number of runs by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Number of runs by the fault that decided their outcome.
    pub decided_by: BTreeMap<Fault, u64>,
    /// Number of attempts by fault.
    pub faults: BTreeMap<Fault, u64>,
    /// Attempts per run.
    pub attempts: Quantiles<u32>,
    /// Time from start to finish.
    pub wall: Quantiles<Span>,
    /// Time without a running process.
    pub waiting: Quantiles<Span>,
    /// Requests to the API, including failed ones.
    pub requests: Quantiles<u64>,
    /// Requests that the API rejected.
    pub failed_requests: Quantiles<u64>,
    /// Cost of a run.
    pub cost: Quantiles<Usd>,
    /// Runs that violated an oracle. None is expected.
    pub violations: u64,
    /// The first violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_violation: Option<String>,
}

/// Simulates `runs` runs of `policy` in the world of `profile`, starting at `seed`.
pub fn forecast(policy: &Policy, profile: &Profile, runs: u64, seed: u64) -> Forecast {
    let mut forecast = Forecast { runs, ..Forecast::default() };
    let mut sim_run = SimRun::new();
    let mut coverage = Coverage::new();
    let mut results: Vec<(SimResult, u64, u64)> = Vec::new();
    for seed in (0..runs).map(|run| seed.wrapping_add(run)) {
        let plan = SeedPlan {
            policy: policy.clone(),
            mix: profile.mix(),
            session: SessionPlan::New(draw_uuid(seed, 1)),
            session_exists: false,
        };
        let mut world = World::new(seed, plan.mix.clone(), policy, START);
        match sim_run.run(&plan, &mut world, &mut coverage, &mut Trace::off()) {
            Ok(result) => results.push((result, world.requests, world.failed_requests)),
            Err(violation) => {
                forecast.violations += 1;
                forecast.first_violation.get_or_insert(format!("seed {seed}: {violation}"));
            }
        }
    }
    for (result, _, _) in &results {
        *forecast.outcomes.entry(result.outcome.kind.as_str()).or_default() += 1;
        if let Some(fault) = result.outcome.fault {
            *forecast.decided_by.entry(fault).or_default() += 1;
        }
    }
    forecast.faults = Fault::ALL
        .iter()
        .map(|fault| (*fault, coverage.faults[*fault as usize]))
        .filter(|(_, count)| *count > 0)
        .collect();
    forecast.attempts = quantiles(&results, |(result, _, _)| result.attempts);
    forecast.wall = quantiles(&results, |(result, _, _)| result.wall);
    forecast.waiting = quantiles(&results, |(result, _, _)| result.waiting);
    forecast.cost = quantiles(&results, |(result, _, _)| result.spend);
    forecast.requests = quantiles(&results, |(_, requests, _)| *requests);
    forecast.failed_requests = quantiles(&results, |(_, _, failed)| *failed);
    forecast
}

fn quantiles<T: Copy + Ord + Default>(
    results: &[(SimResult, u64, u64)],
    value: impl Fn(&(SimResult, u64, u64)) -> T,
) -> Quantiles<T> {
    Quantiles::new(results.iter().map(value).collect())
}

#[cfg(test)]
mod tests;

//! Forecasts the results of a policy under a fault profile: simulates many runs and computes the
//! distributions of their outcomes, durations and costs.

use crate::coverage::Coverage;
use crate::profile::Profile;
use crate::seed_plan::SeedPlan;
use crate::sim_run::{SimResult, SimRun, Trace};
use longhaul_core::{Fault, Policy, Span, Usd};
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

/// The 10th, 50th and 90th percentile, and the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantiles<T> {
    /// The 10th percentile.
    pub p10: T,
    /// The median.
    pub p50: T,
    /// The 90th percentile.
    pub p90: T,
    /// The maximum.
    pub max: T,
}

impl<T: Copy + Ord + Default> Quantiles<T> {
    /// Computes the quantiles of `values`. They are zero if there are no values.
    pub(crate) fn new(values: impl IntoIterator<Item = T>) -> Quantiles<T> {
        let mut values: Vec<T> = values.into_iter().collect();
        values.sort_unstable();
        // The smallest value that `percent` percent of the values do not exceed.
        let percentile = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or_default()
        };
        Quantiles { p10: percentile(10), p50: percentile(50), p90: percentile(90), max: percentile(100) }
    }
}

/// Simulates `runs` runs of `policy` in the world of `profile`, starting at `seed`.
pub fn forecast(policy: &Policy, profile: &Profile, runs: u64, seed: u64) -> Forecast {
    let mut forecast = Forecast { runs, ..Forecast::default() };
    let mut coverage = Coverage::default();
    let mut results: Vec<SimResult> = Vec::new();
    for seed in (0..runs).map(|run| seed.wrapping_add(run)) {
        let plan = SeedPlan::new(policy, profile.mix(), seed);
        match SimRun::new(seed, &plan, &mut coverage, &mut Trace::off()).run() {
            Ok(result) => results.push(result),
            Err(violation) => {
                forecast.violations += 1;
                forecast.first_violation.get_or_insert(format!("seed {seed}: {violation}"));
            }
        }
    }
    for SimResult { outcome, .. } in &results {
        *forecast.outcomes.entry(outcome.kind.as_str()).or_default() += 1;
        if let Some(fault) = outcome.fault {
            *forecast.decided_by.entry(fault).or_default() += 1;
        }
    }
    let faults = Fault::ALL.iter().map(|fault| (*fault, coverage.attempts_with(*fault)));
    forecast.faults = faults.filter(|(_, count)| *count > 0).collect();
    forecast.attempts = Quantiles::new(results.iter().map(|result| result.attempts));
    forecast.wall = Quantiles::new(results.iter().map(|result| result.wall));
    forecast.waiting = Quantiles::new(results.iter().map(|result| result.waiting));
    forecast.cost = Quantiles::new(results.iter().map(|result| result.spend));
    forecast.requests = Quantiles::new(results.iter().map(|result| result.requests));
    forecast.failed_requests = Quantiles::new(results.iter().map(|result| result.failed_requests));
    forecast
}

#[cfg(test)]
mod tests;

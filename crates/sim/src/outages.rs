//! Simulates overloads of given lengths, one per run, and measures how late after the end of the outage the
//! first request succeeds.

use crate::coverage::Coverage;
use crate::fault_mix::{FaultMix, Interval};
use crate::oracles::Violation;
use crate::seed_plan::SeedPlan;
use crate::sim_run::{START, SimResult, SimRun, Trace};
use crate::world::server::Outage;
use longhaul_core::{AgentResult, Fault, OutcomeKind, Policy, Span, StopReason, TerminalReason};
use std::ops::Range;

/// One outage and the reaction of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutageRun {
    /// Duration of the outage.
    pub outage: Span,
    /// Time from the end of the outage to the first successful request. `None` if there was none.
    pub lateness: Option<Span>,
    /// Number of rejected requests.
    pub failed_requests: u64,
    /// Whether the run finished as `done`.
    pub is_done: bool,
}

/// Simulates one run of `policy` for each seed. The lengths of the outages are uniformly distributed from
/// `outage_min` to `outage_max`.
pub(crate) fn simulate_outages(
    policy: &Policy,
    seeds: Range<u64>,
    outage_min: Span,
    outage_max: Span,
) -> Result<Vec<OutageRun>, Violation> {
    seeds.map(|seed| run(policy, seed, outage_min, outage_max)).collect()
}

fn run(policy: &Policy, seed: u64, outage_min: Span, outage_max: Span) -> Result<OutageRun, Violation> {
    let mut mix = FaultMix::calm();
    // Measured: 0.45 s from a spawn to the first event; a refusal arrives after a tenth of a second.
    mix.boot = Interval::new(450, 450);
    mix.think = Interval::new(100, 100);
    let (plan, mut coverage) = (SeedPlan::new(policy, mix, seed), Coverage::default());
    let mut sim_run = SimRun::new(seed, &plan, &mut coverage, Trace::off());
    let world = &mut sim_run.world;
    let outage = Span(world.rng.uniform(Interval::new(outage_min.0, outage_max.0)));
    let until = START + outage;
    let refusal = AgentResult {
        is_error: true,
        terminal_reason: TerminalReason::ApiError,
        api_status: Some(529),
        stop_reason: StopReason::Other,
        ..AgentResult::COMPLETED
    };
    world.server.outage = Some(Outage { fault: Fault::Overloaded, until, result: refusal, hint: None });
    let SimResult { outcome, failed_requests, .. } = sim_run.run()?;
    let lateness = sim_run.world.first_served_at.map(|at| at.since(until));
    Ok(OutageRun { outage, lateness, failed_requests, is_done: outcome.kind == OutcomeKind::Done })
}

#[cfg(test)]
mod tests;

//! How soon a run goes on after an overload: walls of 529 of given lengths, one a run, and how late
//! after its end the first request is served.

use crate::coverage::Coverage;
use crate::fault_mix::{FaultMix, Interval};
use crate::oracles::Violation;
use crate::quantiles::Quantiles;
use crate::seed_plan::SeedPlan;
use crate::sim_run::{START, SimRun, Trace};
use crate::world::World;
use crate::world::server::Outage;
use longhaul_core::{AgentResult, Fault, Policy, SessionPlan, Span, StopReason, TerminalReason, draw_uuid};
use serde::Serialize;
use std::ops::Range;

/// One wall and how a run met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OutageRun {
    /// The seed.
    pub seed: u64,
    /// How long the API refused everything.
    pub outage: Span,
    /// From the wall's end to the first request that was served.
    pub lateness: Span,
    /// Requests that were refused.
    pub failed_requests: u64,
}

/// Many walls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutageStats {
    /// Each of them.
    pub runs: Vec<OutageRun>,
    /// Lateness over all.
    pub lateness: Quantiles<Span>,
    /// Refused requests over all.
    pub failed_requests: Quantiles<u64>,
    /// How many, in percent, were at most as late as 30 % of their wall or 10 s, whichever is more.
    pub in_time_percent: u64,
}

/// The bar for lateness: 30 % of the wall, or 10 s.
const LATE_PERCENT_MAX: u64 = 30;
const LATE_MAX: Span = Span::from_secs(10);

impl OutageRun {
    /// Whether the run went on as soon as it should.
    pub fn in_time(&self) -> bool {
        self.lateness <= LATE_MAX.max(Span(self.outage.0 * LATE_PERCENT_MAX / 100))
    }
}

/// Flies one run of `policy` for each seed into a wall of `least` to `most`, each length as likely.
pub fn simulate_outages(
    policy: &Policy,
    seeds: Range<u64>,
    least: Span,
    most: Span,
) -> Result<OutageStats, Violation> {
    let mut flight = SimRun::new();
    let runs: Vec<OutageRun> =
        seeds.map(|seed| run(policy, seed, least, most, &mut flight)).collect::<Result<_, _>>()?;
    let in_time = runs.iter().filter(|run| run.in_time()).count() as u64;
    Ok(OutageStats {
        lateness: Quantiles::new(runs.iter().map(|run| run.lateness).collect()),
        failed_requests: Quantiles::new(runs.iter().map(|run| run.failed_requests).collect()),
        in_time_percent: in_time * 100 / (runs.len() as u64).max(1),
        runs,
    })
}

fn run(
    policy: &Policy,
    seed: u64,
    least: Span,
    most: Span,
    flight: &mut SimRun,
) -> Result<OutageRun, Violation> {
    let mut mix = FaultMix::calm();
    // Measured: 0.45 s from a spawn to the first event; a refusal comes back in a tenth of a second.
    mix.boot = Interval::new(450, 450);
    mix.think = Interval::new(100, 100);
    let plan = SeedPlan {
        policy: policy.clone(),
        mix,
        session: SessionPlan::New(draw_uuid(seed, 1)),
        session_exists: false,
    };
    let mut world = World::new(seed, plan.mix.clone(), policy, START);
    let wall = Span(world.rng.within(Interval::new(least.0, most.0)));
    let until = START + wall;
    let refusal = AgentResult {
        is_error: true,
        terminal_reason: TerminalReason::ApiError,
        api_status: Some(529),
        stop_reason: StopReason::Other,
        ..AgentResult::COMPLETED
    };
    world.server.outage = Some(Outage { fault: Fault::Overloaded, until, result: refusal, hint: None });
    flight.run(&plan, &mut world, &mut Coverage::new(), &mut Trace::off())?;
    let lateness = world.served_at.map_or(Span(u64::MAX), |at| at.since(until));
    Ok(OutageRun { seed, outage: wall, lateness, failed_requests: world.failed_requests })
}

#[cfg(test)]
mod tests;

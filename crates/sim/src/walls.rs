//! How soon a run goes on after an overload: walls of 529 of given lengths, one a run, and how late
//! after its end the first request is served.

use crate::coverage::Coverage;
use crate::draw::Plan;
use crate::flight::{Flight, START, Trace};
use crate::mix::{Mix, Reach};
use crate::oracles::Objection;
use crate::quantiles::Quantiles;
use crate::world::World;
use crate::world::server::Wall;
use longhaul_core::{Ending, Fault, Policy, SessionPlan, Span, StopReason, TurnResult, draw_uuid};
use serde::Serialize;
use std::ops::Range;

/// One wall and how a run met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WallRun {
    /// The seed.
    pub seed: u64,
    /// How long the API refused everything.
    pub wall: Span,
    /// From the wall's end to the first request that was served.
    pub lateness: Span,
    /// Requests that were refused.
    pub failed_requests: u64,
}

/// Many walls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Walls {
    /// Each of them.
    pub runs: Vec<WallRun>,
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

impl WallRun {
    /// Whether the run went on as soon as it should.
    pub fn in_time(&self) -> bool {
        self.lateness <= LATE_MAX.max(Span(self.wall.0 * LATE_PERCENT_MAX / 100))
    }
}

/// Flies one run of `policy` for each seed into a wall of `least` to `most`, each length as likely.
pub fn walls(policy: &Policy, seeds: Range<u64>, least: Span, most: Span) -> Result<Walls, Objection> {
    let mut flight = Flight::new();
    let runs: Vec<WallRun> =
        seeds.map(|seed| fly(policy, seed, least, most, &mut flight)).collect::<Result<_, _>>()?;
    let in_time = runs.iter().filter(|run| run.in_time()).count() as u64;
    Ok(Walls {
        lateness: Quantiles::of(runs.iter().map(|run| run.lateness).collect()),
        failed_requests: Quantiles::of(runs.iter().map(|run| run.failed_requests).collect()),
        in_time_percent: in_time * 100 / (runs.len() as u64).max(1),
        runs,
    })
}

fn fly(
    policy: &Policy,
    seed: u64,
    least: Span,
    most: Span,
    flight: &mut Flight,
) -> Result<WallRun, Objection> {
    let mut mix = Mix::calm();
    // Measured: 0.45 s from a spawn to the first event; a refusal comes back in a tenth of a second.
    mix.boot = Reach::new(450, 450);
    mix.think = Reach::new(100, 100);
    let plan = Plan {
        policy: policy.clone(),
        mix,
        session: SessionPlan::New(draw_uuid(seed, 1)),
        session_exists: false,
    };
    let mut world = World::new(seed, plan.mix.clone(), policy, START);
    let wall = Span(world.dice.within(Reach::new(least.0, most.0)));
    let until = START + wall;
    let refusal = TurnResult {
        is_error: true,
        ending: Ending::ApiError,
        api_status: Some(529),
        stop_reason: StopReason::Other,
        ..TurnResult::COMPLETED
    };
    world.server.wall = Some(Wall { fault: Fault::Overloaded, until, result: refusal, hint: None });
    flight.fly(&plan, &mut world, &mut Coverage::new(), &mut Trace::off())?;
    let lateness = world.served_at.map_or(Span(u64::MAX), |at| at.since(until));
    Ok(WallRun { seed, wall, lateness, failed_requests: world.failed_requests })
}

#[cfg(test)]
mod tests;

//! Tests how soon a run continues after an overload. Each run has one, and its length comes from the seed.

use crate::Quantiles;
use crate::coverage::Coverage;
use crate::fault_mix::{FaultMix, Interval};
use crate::seed_plan::SeedPlan;
use crate::sim_run::{START, SimRun, Trace};
use crate::world::server::Outage;
use longhaul_core::{AgentResult, Fault, Policy, Preset, Span, StopReason, TerminalReason};

// The shortest and the longest overload in milliseconds, uniformly distributed.
const OVERLOAD: Interval = Interval::new(10_000, 120_000);

struct OutageRun {
    outage: Span,
    /// Time from the end of the outage to the first successful request. The maximum if there was none.
    lateness: Span,
    failed_requests: u64,
}

fn simulate(policy: &Policy, seed: u64) -> OutageRun {
    let mut mix = FaultMix::calm();
    // Measured: 0.45 s from a spawn to the first event; a refusal arrives after a tenth of a second.
    mix.boot = Interval::new(450, 450);
    mix.think = Interval::new(100, 100);
    let (plan, mut coverage, mut trace) =
        (SeedPlan::new(policy, mix, seed), Coverage::default(), Trace::off());
    let mut sim_run = SimRun::new(seed, &plan, &mut coverage, &mut trace);
    let world = &mut sim_run.world;
    let outage = Span(world.rng.uniform(OVERLOAD));
    let until = START + outage;
    let result = AgentResult {
        is_error: true,
        terminal_reason: TerminalReason::ApiError,
        api_status: Some(529),
        stop_reason: StopReason::Other,
        ..AgentResult::COMPLETED
    };
    world.server.outage = Some(Outage { fault: Fault::Overloaded, until, result, hint: None });
    let failed_requests = sim_run.run().expect("no oracle is violated").failed_requests;
    let lateness = sim_run.world.first_served_at.map_or(Span(u64::MAX), |at| at.since(until));
    OutageRun { outage, lateness, failed_requests }
}

#[test]
fn default_policy_continues_soon_after_an_outage() {
    let policy = Preset::Default.policy();
    let runs: Vec<OutageRun> = (0..2_000).map(|seed| simulate(&policy, seed)).collect();
    let lateness = Quantiles::new(runs.iter().map(|run| run.lateness));
    assert!(lateness.p50 <= Span::from_secs(10), "median lateness {}", lateness.p50);
    // In time is within 30 % of the outage, or 10 s.
    let latest = |outage: Span| Span::from_secs(10).max(Span(outage.0 * 30 / 100));
    let in_time = runs.iter().filter(|run| run.lateness <= latest(run.outage)).count();
    assert!(in_time * 100 / runs.len() >= 90, "{in_time} in time, p90 {}", lateness.p90);
    let failed = Quantiles::new(runs.iter().map(|run| run.failed_requests));
    assert!(failed.p50 <= 30, "median {} failed requests", failed.p50);
}

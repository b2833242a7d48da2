//! Many seeds, on as many threads as asked for, and what they came to.

use crate::coverage::Coverage;
use crate::oracles::Violation;
use crate::seed_plan;
use crate::sim_run::{START, SimResult, SimRun, Trace};
use crate::world::World;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

// Seeds that a thread takes at a time: enough that taking them costs nothing.
const CHUNK: u64 = 1_000;
// A broken core fails most seeds; the first few tell as much as all.
const FAILURES_MAX: usize = 20;

/// What a swarm came to.
#[derive(Clone, Debug)]
pub struct SwarmStats {
    /// Runs flown.
    pub runs: u64,
    /// Steps of the core in them.
    pub steps: u64,
    /// Attempts in them.
    pub attempts: u64,
    /// What they reached.
    pub coverage: Coverage,
    /// Seeds to which an oracle objected, in order. Empty is what we want.
    pub failures: Vec<Failure>,
}

/// A seed to which an oracle objected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What the oracle says.
    pub objection: Violation,
}

impl SwarmStats {
    fn new() -> SwarmStats {
        SwarmStats { runs: 0, steps: 0, attempts: 0, coverage: Coverage::new(), failures: Vec::new() }
    }

    fn add(&mut self, other: SwarmStats) {
        self.runs += other.runs;
        self.steps += other.steps;
        self.attempts += other.attempts;
        self.coverage.add(&other.coverage);
        self.failures.extend(other.failures);
        self.failures.sort_by_key(|failure| failure.seed);
    }
}

/// Flies all `seeds` on so many threads. Stops early once enough of them failed.
pub fn swarm(seeds: Range<u64>, threads: usize) -> SwarmStats {
    let next = AtomicU64::new(seeds.start);
    let broken = AtomicBool::new(false);
    let fly = || {
        let mut figures = SwarmStats::new();
        let mut flight = SimRun::new();
        while !broken.load(Ordering::Relaxed) {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= seeds.end {
                break;
            }
            fly_chunk(start..seeds.end.min(start.saturating_add(CHUNK)), &mut flight, &mut figures);
            if figures.failures.len() >= FAILURES_MAX {
                broken.store(true, Ordering::Relaxed);
            }
        }
        figures
    };
    let mut figures = SwarmStats::new();
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(fly)).collect();
        figures.add(fly());
        for other in others {
            figures.add(other.join().expect("a flight never panics: oracles object instead"));
        }
    });
    figures
}

/// Flies these seeds alone, in order.
pub fn rerun(seeds: &[u64]) -> SwarmStats {
    let mut figures = SwarmStats::new();
    fly_chunk(seeds.iter().copied(), &mut SimRun::new(), &mut figures);
    figures
}

fn fly_chunk(seeds: impl Iterator<Item = u64>, flight: &mut SimRun, figures: &mut SwarmStats) {
    for seed in seeds {
        figures.runs += 1;
        match run(seed, flight, &mut figures.coverage, &mut Trace::off()) {
            Ok(landing) => {
                figures.steps += landing.steps;
                figures.attempts += u64::from(landing.attempts);
            }
            Err(objection) => figures.failures.push(Failure { seed, objection }),
        }
    }
}

fn run(
    seed: u64,
    flight: &mut SimRun,
    coverage: &mut Coverage,
    trace: &mut Trace,
) -> Result<SimResult, Violation> {
    let plan = seed_plan::plan(seed);
    let mut world = World::new(seed, plan.mix.clone(), &plan.policy, START);
    flight.run(&plan, &mut world, coverage, trace)
}

/// The story of one seed, line by line, ending with its outcome or the objection to it.
pub fn trace(seed: u64) -> String {
    let mut trace = Trace::on();
    let plan = seed_plan::plan(seed);
    trace.line(|| format!("seed {seed}: {:#?}\n{:?}", plan.policy, plan.mix));
    let landed = run(seed, &mut SimRun::new(), &mut Coverage::new(), &mut trace);
    trace.line(|| match landed {
        Ok(landing) => format!(
            "{} after {} attempts and {} steps",
            landing.outcome.kind, landing.attempts, landing.steps
        ),
        Err(objection) => format!("OBJECTION {objection}"),
    });
    trace.into_text()
}

#[cfg(test)]
mod tests;

//! Simulates many seeds on several threads and collects the results.

use crate::coverage::{Coverage, Subject};
use crate::oracles::Violation;
use crate::seed_plan;
use crate::sim_run::{SimRun, Trace};
use crate::workflow::{self, WorkflowSim};
use longhaul_core::{Moment, Record};
use std::ops::Range;
use std::thread;

// A broken core fails most seeds; the first few are enough.
const FAILURES_MAX: usize = 20;

/// The results of a swarm.
#[derive(Clone, Debug, Default)]
pub struct SwarmStats {
    /// Number of simulated seeds.
    pub seeds: u64,
    /// Number of steps of the core.
    pub steps: u64,
    /// Number of attempts of runs, or of runs of workflows.
    pub starts: u64,
    /// Counts of everything that the seeds reached.
    pub coverage: Coverage,
    /// Seeds that violated an oracle, in order. None is expected.
    pub failures: Vec<SeedFailure>,
}

/// A seed that violated an oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedFailure {
    /// The seed.
    pub seed: u64,
    /// The violation.
    pub violation: Violation,
}

impl SwarmStats {
    fn add(&mut self, other: SwarmStats) {
        self.seeds += other.seeds;
        self.steps += other.steps;
        self.starts += other.starts;
        self.coverage.add(&other.coverage);
        self.failures.extend(other.failures);
        self.failures.sort_by_key(|failure| failure.seed);
    }
}

/// Simulates all `seeds` on `threads` threads, each with its own share. A thread stops early after enough failures.
pub fn swarm(subject: Subject, seeds: Range<u64>, threads: usize) -> SwarmStats {
    let mut stats = SwarmStats::default();
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let share = seeds.clone().skip(thread).step_by(threads);
                scope.spawn(move || simulate_all(subject, share))
            })
            .collect();
        for handle in handles {
            stats.add(handle.join().expect("a simulation never panics: oracles return violations"));
        }
    });
    stats
}

/// Simulates these seeds in order, on one thread.
pub fn rerun(subject: Subject, seeds: &[u64]) -> SwarmStats {
    simulate_all(subject, seeds.iter().copied())
}

fn simulate_all(subject: Subject, seeds: impl Iterator<Item = u64>) -> SwarmStats {
    let mut stats = SwarmStats::default();
    for seed in seeds {
        stats.seeds += 1;
        match simulate(subject, seed, &mut stats.coverage, &mut Trace::off()) {
            Ok((steps, starts)) => {
                stats.steps += steps;
                stats.starts += starts;
            }
            Err(violation) => stats.failures.push(SeedFailure { seed, violation }),
        }
        if stats.failures.len() >= FAILURES_MAX {
            break;
        }
    }
    stats
}

/// Simulates one seed. Returns the number of steps, and of attempts or runs.
fn simulate(
    subject: Subject,
    seed: u64,
    coverage: &mut Coverage,
    trace: &mut Trace,
) -> Result<(u64, u64), Violation> {
    match subject {
        Subject::Run => {
            let plan = seed_plan::plan(seed);
            trace.line(|| format!("seed {seed}: {:#?}\n{:?}", plan.policy, plan.mix));
            let result = SimRun::new(seed, &plan, coverage, trace).run()?;
            trace.line(|| {
                let kind = result.outcome.kind;
                format!("{kind} after {} attempts and {} steps", result.attempts, result.steps)
            });
            Ok((result.steps, result.attempts.into()))
        }
        Subject::Workflow => {
            let plan = workflow::plan(seed);
            trace.line(|| format!("seed {seed}: {:#?}\n{:?}", plan.policy, plan.mix));
            let (steps, runs) = WorkflowSim::new(seed, &plan, coverage, trace).run()?;
            trace.line(|| format!("finished after {runs} runs and {steps} steps"));
            Ok((steps, runs))
        }
    }
}

/// Returns the journal of one seed's run: its records, each with the time of its step. It ends early if an
/// oracle is violated.
pub fn journal(seed: u64) -> Vec<(Moment, Record)> {
    let (plan, mut coverage, mut trace) = (seed_plan::plan(seed), Coverage::default(), Trace::off());
    let mut sim_run = SimRun::new(seed, &plan, &mut coverage, &mut trace);
    let _ = sim_run.run();
    sim_run.journal
}

/// Returns the trace of one seed, line by line. It ends with the outcome or the violation.
pub fn trace(subject: Subject, seed: u64) -> String {
    let mut trace = Trace::on();
    if let Err(violation) = simulate(subject, seed, &mut Coverage::default(), &mut trace) {
        trace.line(|| format!("VIOLATION {violation}"));
    }
    trace.into_text()
}

#[cfg(test)]
mod tests;

//! Simulates workflows of the core under faults: a loop between core and world, in the role of a supervisor.
//!
//! The runs of a workflow are simulated only by their ends: an outcome, a cost and a working time. The
//! supervisor is killed at its weak points, and every oracle checks every step.

mod model;
mod outcomes;
mod plan;
mod sim;
mod watch;
mod world;

use crate::coverage::Coverage;
use crate::oracles::Violation;
use crate::sim_run::Trace;
use sim::WorkflowSim;

/// Simulates the workflow of a seed. Returns the numbers of steps and of runs.
pub(crate) fn simulate(seed: u64, coverage: &mut Coverage) -> Result<(u64, u64), Violation> {
    let plan = plan::plan(seed);
    WorkflowSim::new(seed, &plan, coverage, Trace::off()).run()
}

/// Returns the trace of a seed's workflow, line by line. It ends with the outcome or the violation.
pub(crate) fn trace(seed: u64) -> String {
    let (plan, mut coverage, mut trace) = (plan::plan(seed), Coverage::default(), Trace::on());
    trace.line(|| format!("seed {seed}: {:#?}\n{:?}", plan.policy, plan.mix));
    let mut sim = WorkflowSim::new(seed, &plan, &mut coverage, trace);
    let result = sim.run();
    sim.trace.line(|| match result {
        Ok((steps, runs)) => format!("finished after {runs} runs and {steps} steps"),
        Err(violation) => format!("VIOLATION {violation}"),
    });
    sim.trace.into_text()
}

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

pub(crate) use plan::plan;
pub(crate) use sim::WorkflowSim;

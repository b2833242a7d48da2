//! Simulator of the core under injected faults.
//!
//! A swarm of seeds ([`swarm`]) simulates runs of the core in worlds of faults. Each seed has its own policy
//! and fault mix. The supervisor is killed at its weak points, and oracles check every step.
//!
//! Workflows are simulated in the same way, with runs that only have ends.
//!
//! The same worlds answer a question of a user: the results of a policy under a fault profile ([`forecast`]).
//!
//! Time is virtual, and random numbers come from the seed. This crate never starts a process, opens a
//! connection or decides policy.

mod coverage;
mod failed_seeds;
mod fault_mix;
mod forecast;
mod kill_point;
mod oracles;
#[cfg(test)]
mod outages;
mod profile;
mod rng;
mod seed_plan;
mod sim_run;
mod swarm;
mod workflow;
mod world;

pub use coverage::{Coverage, Subject};
pub use failed_seeds::{parse_failed, with_failed};
pub use forecast::{Forecast, Quantiles, forecast};
pub use oracles::{Oracle, Violation};
pub use profile::{Profile, ProfileError, Rate};
pub use swarm::{SeedFailure, SwarmStats, journal, rerun, swarm, trace};

use fault_mix::Interval;

//! Simulator of the core under injected faults.
//!
//! A swarm of seeds ([`swarm`]) flies runs of the core through worlds of faults, each seed with
//! its own policy and mix, the supervisor killed at its weak points, oracles watching every step.
//! The same worlds answer two questions of a user: what to expect of a policy under a fault
//! profile ([`forecast`]), and how soon a run goes on after an overload ([`walls`]).
//!
//! Time is virtual and chance is seeded. Nothing here starts a process, opens a connection or
//! decides policy.

mod coverage;
mod dice;
mod draw;
mod failed;
mod flight;
mod forecast;
mod mix;
mod oracles;
mod profile;
mod quantiles;
mod swarm;
mod walls;
mod world;

pub use coverage::Coverage;
pub use failed::{parse_failed, with_failed};
pub use forecast::{Forecast, forecast};
pub use oracles::{Violation, Oracle};
pub use profile::{Profile, ProfileError, Rate};
pub use quantiles::Quantiles;
pub use swarm::{Failure, SwarmStats, rerun, trace, swarm};
pub use walls::{OutageRun, OutageStats, simulate_outages};

use mix::Interval;

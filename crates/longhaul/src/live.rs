//! The live world: a run directory, an agent process, the machine's clock.

mod child;
mod clock;
mod memory;
mod sweep;
mod tail;
mod watch;
mod world;

pub(crate) use clock::seed;
pub use sweep::{RUN_MARK, marked, sweep};
pub(crate) use world::{LiveWorld, Setup};

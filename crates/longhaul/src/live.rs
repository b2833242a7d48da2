//! The live world: a run directory, an agent process, the machine's clock.

mod adopted;
mod child;
mod clock;
mod found;
mod memory;
mod requests;
mod room;
mod sessions;
mod sweep;
mod tail;
mod watch;
mod world;

pub(crate) use clock::seed;
pub use sweep::{RUN_MARK, marked, sweep};
pub(crate) use tail::Tail;
pub(crate) use watch::Watch;
pub(crate) use world::{LiveWorld, Setup};

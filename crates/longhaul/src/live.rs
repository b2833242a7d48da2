//! The live world: a run directory, an agent process, the machine's clock.

mod adopted;
mod background;
mod child;
mod clock;
mod condenser;
mod found;
mod indexed;
mod left;
mod mark;
mod memory;
mod recorder;
mod requests;
mod resident;
mod room;
mod sessions;
mod signs;
mod survey;
mod sweep;
mod tail;
mod watch;
mod world;

pub(crate) use adopted::AdoptedProcess;
pub(crate) use child::{AgentProcess, LaunchSpec, start_ticks};
pub(crate) use clock::{LiveClock, random_seed};
pub(crate) use condenser::{OneShotProcess, evidence_of};
pub(crate) use found::{live_agent, stream_of_original};
pub(crate) use left::{tail, tail_of};
pub use mark::{MARK_VARIABLE, RunMarker, RUN_VARIABLE};
pub(crate) use sweep::sweep_on;
pub use sweep::{processes_with, sweep};
pub(crate) use tail::Tail;
pub(crate) use watch::FileWatch;
pub(crate) use world::{LiveWorld, WorldConfig};

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

pub(crate) use adopted::Adopted;
pub(crate) use child::{Agent, Launch, start_ticks};
pub(crate) use clock::{Clock, seed};
pub(crate) use condenser::{Condenser, left_by};
pub(crate) use found::{live_agent, stream_of_original};
pub(crate) use left::{tail, tail_of};
pub use mark::{MARK_VARIABLE, Mark, RUN_VARIABLE};
pub(crate) use sweep::sweep_on;
pub use sweep::{marked, sweep};
pub(crate) use tail::Tail;
pub(crate) use watch::Watch;
pub(crate) use world::{LiveWorld, Setup};

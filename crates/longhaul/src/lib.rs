//! The supervisor library: drives one agent run to an honest end.
//!
//! [`supervise`] takes a [`Request`] and returns a [`Report`]. In between, a pure
//! [`Run`](longhaul_core::Run) decides, a [`World`] acts, and [`drive`] is the loop between them.
//! This crate never prints, and nothing of an agent's prose reaches a decision.

pub mod agents;
mod condense;
mod crash;
mod diagnostic;
mod driver;
mod follow;
mod live;
pub mod moving;
mod news;
mod observer;
mod recover;
mod report;
mod request;
mod resume;
mod seeding;
mod spending;
mod supervisor;
pub mod watchdog;
mod watching;
mod world;

pub use condense::{CondenseError, condense};
pub use driver::drive;
pub use follow::{Followed, follow};
pub use live::{RUN_MARK, marked, sweep};
pub use news::{NewsKind, Untold};
pub use observer::{Observer, Unobserved, View};
pub use recover::{recover, recoverable};
pub use report::{Report, more_of, resume_command};
pub use resume::{GoingOn, branch, resume};
pub use seeding::{SeedError, WorkOnRecord};
pub use supervisor::{Environment, Request, RunError, SessionChoice, SuperviseError, supervise};
pub use watching::Watching;
pub use world::World;

//! State of GSD projects, read from `.planning`: position, phases, plans, requirements and blockers.
//!
//! The forms of several years of GSD are read, and contradictions become warnings with file and line. Only `read`
//! touches files. No part of this crate changes a project, starts a process or guesses a number.

mod claim;
mod disk;
mod front_matter;
mod markdown;
mod milestone;
mod phase;
mod phase_id;
mod plans;
mod project;
mod read;
mod reader;
mod requirements;
mod roadmap;
mod state;
mod status;

#[cfg(test)]
mod tests;

pub use phase::{OpenWork, PhasePlan, ProjectPhase};
pub use phase_id::{PhaseId, PhaseIdError};
pub use project::Project;
pub use read::{Files, ProjectError, open_work};
pub use status::{ProjectStatus, Warning};

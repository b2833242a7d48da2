//! The workflow `archon`, which formalizes mathematics in Lean: a plan agent sets objectives, provers work on
//! one file each, and a review agent writes a journal.
//!
//! This module converts the formats of Archon's `.archon` directory, so that its users keep their projects,
//! logs and tools. Only `project` reads files. No part of it writes one or reads a clock.

mod assignment;
mod iteration_meta;
mod log_rows;
mod objectives;
mod progress;
mod project;

pub use assignment::{AmbiguousObjective, Assignment};
pub use iteration_meta::{ArchonStatus, IterationMeta, MetaTime, PhaseMeta, ProverMeta, ProverMode};
pub use log_rows::{AgentMessage, LastResult, LogEvent, LogRow, SessionEnd, ShellLevel};
pub use objectives::Objective;
pub use progress::{ProgressError, ProjectProgress, Stage};
pub use project::{assignment, check_objectives, check_project, progress, stated_progress};

/// Returns the name under which logs and `meta.json` list the prover of a file: `Algebra/Basic.lean` is
/// `Algebra_Basic`. Two paths can share a name, as in Archon.
pub fn slug(path: &str) -> String {
    path.strip_suffix(".lean").unwrap_or(path).replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn slug_has_no_folder_and_no_suffix() {
        for (path, expected) in [
            ("Algebra/Basic.lean", "Algebra_Basic"),
            ("Basic.lean", "Basic"),
            ("A.lean/B.lean", "A.lean_B"),
            ("A/notes.lean.md", "A_notes.lean.md"),
        ] {
            assert_eq!(slug(path), expected);
        }
    }
}

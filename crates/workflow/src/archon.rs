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

pub use assignment::Assignment;
pub use iteration_meta::{ArchonStatus, IterationMeta, MetaTime, PhaseMeta, ProverMeta, ProverMode};
pub use log_rows::{LogEvent, LogRow, SessionEnd, ShellLevel};
pub use objectives::Objective;
pub use progress::{ProjectProgress, Stage};
pub use project::{assignment, check_objectives, check_progress, check_project, progress, stated_progress};

/// Returns the names under which logs, reports and `meta.json` list the provers of these files: `Algebra/Basic.lean` is
/// `Algebra_Basic`, as in Archon. Each name occurs once: a later file with the same name gets a number.
pub fn slugs<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut slugs: Vec<String> = Vec::new();
    for path in paths {
        let name = path.strip_suffix(".lean").unwrap_or(path).replace('/', "_");
        let mut slug = name.clone();
        let mut number = 2;
        while slugs.contains(&slug) {
            slug = format!("{name}_{number}");
            number += 1;
        }
        slugs.push(slug);
    }
    slugs
}

#[cfg(test)]
mod tests {
    use super::slugs;

    #[test]
    fn slug_has_no_folder_and_no_suffix() {
        for (path, expected) in [
            ("Algebra/Basic.lean", "Algebra_Basic"),
            ("Basic.lean", "Basic"),
            ("A.lean/B.lean", "A.lean_B"),
            ("A/notes.lean.md", "A_notes.lean.md"),
        ] {
            assert_eq!(slugs([path]), [expected]);
        }
    }

    #[test]
    fn slugs_of_different_files_differ() {
        let paths = ["A/B.lean", "A_B.lean", "A_B_2.lean", "A_B/2.lean", "C.lean"];
        assert_eq!(slugs(paths), ["A_B", "A_B_2", "A_B_2_2", "A_B_2_3", "C"]);
    }
}

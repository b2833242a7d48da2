//! Other systems: a warning about what was never tested there.

use crate::commands::doctor::finding::Finding;

pub fn check() -> Vec<Finding> {
    let found = "Longhaul was built for this system, but never tested on it; it finds a run's processes without their \
                 environment";
    vec![Finding::warning("processes", found, "after a crash, check for leftover processes with `ps`")]
}

//! Tells a run directory of ResearchGym from a run of Longhaul.

use std::path::Path;

/// Returns whether this value of `research --resume` names a directory that only ResearchGym can have written.
pub fn is_researchgym_dir(selector: &str) -> bool {
    let path = Path::new(selector);
    !path.join("journal.jsonl").exists() && (selector.contains('/') || path.join("logs").is_dir())
}

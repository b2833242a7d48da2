//! Selects the dialect that reads a run's streams. Never starts an agent.

use longhaul_agent::{Dialect, Tables, default_dialect, dialect_for};
use longhaul_store::RunDir;

/// Returns the dialect of a run's agent. An unreadable plan names the default agent.
pub fn dialect_of(dir: &RunDir) -> Box<dyn Dialect> {
    let plan = dir.plan().ok();
    let dialect = plan.and_then(|plan| dialect_for(&plan.spec.agent.name, Tables::default()));
    dialect.unwrap_or_else(default_dialect)
}

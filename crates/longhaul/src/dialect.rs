//! Selects the dialect of a run's agent, with the user's tables. It starts no agent.

use crate::SuperviseError;
use longhaul_agent::{Dialect, Tables, dialect_for};
use longhaul_core::RunSpec;

pub(crate) fn dialect_of(spec: &RunSpec) -> Result<Box<dyn Dialect>, SuperviseError> {
    let tables = Tables::new(spec.prices.as_deref(), spec.effects.as_deref())?;
    dialect_for(&spec.agent.name, tables).ok_or_else(|| SuperviseError::UnknownAgent(spec.agent.name.clone()))
}

//! Selects the dialect of a run's agent, with the user's tables. It starts no agent.

use crate::SuperviseError;
use longhaul_agent::{Dialect, UserTables, dialect_for};
use longhaul_core::RunSpec;

pub(crate) fn dialect_of(spec: &RunSpec) -> Result<Box<dyn Dialect>, SuperviseError> {
    let tables = UserTables { prices: spec.prices.clone(), effects: spec.effects.clone() };
    dialect_for(&spec.agent.name, tables.try_into()?)
        .ok_or_else(|| SuperviseError::UnknownAgent(spec.agent.name.clone()))
}

//! The user's own tables, which extend the bundled ones.

use crate::{EffectRules, Prices, TableError};

/// Tables as the user wrote them, in the format of the bundled ones. Without a user table, the bundled one
/// alone applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserTables {
    /// Prices, which take precedence over the bundled ones: see `prices.toml`.
    pub prices: Option<String>,
    /// Calls with side effects, in addition to the bundled ones: see `effects.toml`.
    pub effects: Option<String>,
}

/// A user table that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserTablesError {
    /// The table of prices.
    #[error("cannot read the table of prices: {0}")]
    Prices(TableError),
    /// The table of effects.
    #[error("cannot read the table of effects: {0}")]
    Effects(TableError),
}

impl UserTables {
    pub(crate) fn prices(&self) -> Result<Prices, UserTablesError> {
        let bundled = Prices::bundled().clone();
        let Some(text) = &self.prices else { return Ok(bundled) };
        Ok(Prices::parse(text).map_err(UserTablesError::Prices)?.overriding(bundled))
    }

    pub(crate) fn effects(&self) -> Result<EffectRules, UserTablesError> {
        let bundled = EffectRules::bundled().clone();
        let Some(text) = &self.effects else { return Ok(bundled) };
        Ok(EffectRules::parse(text).map_err(UserTablesError::Effects)?.merged_with(bundled))
    }
}

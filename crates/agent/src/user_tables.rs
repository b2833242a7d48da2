//! The user's own tables, over those of this program.

use crate::{EffectRules, Prices, TableError};

/// Tables as a user wrote them, in the form of the bundled ones. Where there is none, the bundled one
/// holds alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserTables {
    /// Prices, which hold before the bundled ones: see `prices.toml`.
    pub prices: Option<String>,
    /// Calls with effects, besides the bundled ones: see `effects.toml`.
    pub effects: Option<String>,
}

/// Which of a user's tables cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserTablesError {
    /// The prices.
    #[error("read the table of prices: {0}")]
    Prices(TableError),
    /// The effects.
    #[error("read the table of effects: {0}")]
    Effects(TableError),
}

impl UserTables {
    /// The prices that hold.
    ///
    /// # Errors
    /// [`TablesError::Prices`].
    pub(crate) fn prices(&self) -> Result<Prices, UserTablesError> {
        let bundled = Prices::bundled().clone();
        let Some(text) = &self.prices else { return Ok(bundled) };
        Ok(Prices::parse(text).map_err(UserTablesError::Prices)?.overriding(bundled))
    }

    /// The effects that are known.
    ///
    /// # Errors
    /// [`TablesError::Effects`].
    pub(crate) fn effects(&self) -> Result<EffectRules, UserTablesError> {
        let bundled = EffectRules::bundled().clone();
        let Some(text) = &self.effects else { return Ok(bundled) };
        Ok(EffectRules::parse(text).map_err(UserTablesError::Effects)?.merged_with(bundled))
    }
}

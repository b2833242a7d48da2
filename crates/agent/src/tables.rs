//! The user's own tables, over those of this program.

use crate::{Effects, Prices, TableError};

/// Tables as a user wrote them, in the form of the bundled ones. Where there is none, the bundled one
/// holds alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Prices, which hold before the bundled ones: see `prices.toml`.
    pub prices: Option<String>,
    /// Calls with effects, besides the bundled ones: see `effects.toml`.
    pub effects: Option<String>,
}

/// Which of a user's tables cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TablesError {
    /// The prices.
    #[error("read the table of prices: {0}")]
    Prices(TableError),
    /// The effects.
    #[error("read the table of effects: {0}")]
    Effects(TableError),
}

impl Tables {
    /// The prices that hold.
    ///
    /// # Errors
    /// [`TablesError::Prices`].
    pub(crate) fn prices(&self) -> Result<Prices, TablesError> {
        let bundled = Prices::bundled().clone();
        let Some(text) = &self.prices else { return Ok(bundled) };
        Ok(Prices::parse(text).map_err(TablesError::Prices)?.before(bundled))
    }

    /// The effects that are known.
    ///
    /// # Errors
    /// [`TablesError::Effects`].
    pub(crate) fn effects(&self) -> Result<Effects, TablesError> {
        let bundled = Effects::bundled().clone();
        let Some(text) = &self.effects else { return Ok(bundled) };
        Ok(Effects::parse(text).map_err(TablesError::Effects)?.besides(bundled))
    }
}

//! The user's own tables, which extend the bundled ones.

use crate::{EffectRules, Prices, TableError};
use std::sync::Arc;

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

/// The tables that a dialect uses. The default are the bundled ones.
#[derive(Clone, Debug)]
pub struct Tables {
    pub(crate) prices: Prices,
    pub(crate) effects: Arc<EffectRules>,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables { prices: Prices::bundled().clone(), effects: Arc::clone(EffectRules::bundled()) }
    }
}

impl Tables {
    /// Adds the user's tables to the bundled ones, in their format: prices, which take precedence (see
    /// `prices.toml`), and calls with side effects (see `effects.toml`).
    ///
    /// # Errors
    /// Returns an error if a table cannot be parsed.
    pub fn new(prices: Option<&str>, effects: Option<&str>) -> Result<Tables, UserTablesError> {
        let mut all = Tables::default();
        if let Some(text) = prices {
            all.prices = Prices::parse(text).map_err(UserTablesError::Prices)?.overriding(all.prices);
        }
        if let Some(text) = effects {
            let effects = EffectRules::parse(text).map_err(UserTablesError::Effects)?;
            all.effects = effects.merged_with(EffectRules::clone(&all.effects)).into();
        }
        Ok(all)
    }
}

//! The user's own tables, which extend the bundled ones.

use crate::{EffectRules, Prices, TableError};
use std::sync::Arc;

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

impl TryFrom<UserTables> for Tables {
    type Error = UserTablesError;

    fn try_from(tables: UserTables) -> Result<Tables, UserTablesError> {
        let mut all = Tables::default();
        if let Some(text) = &tables.prices {
            all.prices = Prices::parse(text).map_err(UserTablesError::Prices)?.overriding(all.prices);
        }
        if let Some(text) = &tables.effects {
            let effects = EffectRules::parse(text).map_err(UserTablesError::Effects)?;
            all.effects = effects.merged_with(EffectRules::clone(&all.effects)).into();
        }
        Ok(all)
    }
}

//! What tokens cost, for messages that no statement of the vendor covers. A dated table, not an
//! oracle: what it yields is always marked as an estimate.

use longhaul_core::{Tokens, Usd};
use serde::Deserialize;
use std::iter;
use std::sync::LazyLock;

static BUNDLED: LazyLock<Prices> =
    // The bundled table is parsed by a test; an empty one only means that nothing can be priced.
    LazyLock::new(|| Prices::parse(include_str!("prices.toml")).unwrap_or_default());

/// A price table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// The day of the prices.
    pub dated: String,
    models: Vec<Model>,
}

/// A price table that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("read the price table: {0}")]
pub struct PricesError(#[from] toml::de::Error);

/// The tokens of one message, with what only its price depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Billed {
    /// The tokens.
    pub tokens: Tokens,
    /// How many of the tokens written to the cache were written for an hour, which costs more.
    pub cache_write_hour: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    dated: String,
    model: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    names: Vec<String>,
    input: f64,
    output: f64,
    cache_write: f64,
    cache_write_hour: f64,
    cache_read: f64,
    above: Option<u64>,
    above_factor: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Model {
    names: Vec<String>,
    rates: Rates,
    /// Prompts of more tokens than this cost other rates.
    long: Option<(u64, Rates)>,
}

/// Prices of one token, in billionths of a dollar (a thousand times dollars per million tokens).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rates {
    input: u64,
    output: u64,
    cache_write: u64,
    cache_write_hour: u64,
    cache_read: u64,
}

impl Prices {
    /// The table in this program.
    pub fn bundled() -> &'static Prices {
        &BUNDLED
    }

    /// Reads a table in the form of the bundled one.
    pub fn parse(text: &str) -> Result<Prices, PricesError> {
        let table: Table = toml::from_str(text)?;
        Ok(Prices { dated: table.dated, models: table.model.into_iter().map(Model::from).collect() })
    }

    /// What a message costs, in billionths of a dollar; nothing if the model is not in the table.
    pub(crate) fn price(&self, model: &str, billed: Billed) -> Option<u64> {
        // Behind each sign that may end a vendor's prefix, the table's name may begin.
        let behind = model.match_indices(['.', '/', ':']).map(|(at, sign)| &model[at + sign.len()..]);
        let model = iter::once(model)
            .chain(behind)
            .find_map(|id| self.models.iter().find(|row| row.names.iter().any(|name| is_named(id, name))))?;
        Some(model.rates_for(billed.tokens).price(billed))
    }
}

/// Billionths of a dollar as money, rounded.
pub(crate) fn usd_from_nano(nano: u64) -> Usd {
    Usd(nano.saturating_add(500) / 1000)
}

/// Whether a model's id is that of the table, with at most a date or a variant behind it:
/// `claude-opus-4-5-20251101-v1:0`. A newer version is another model.
fn is_named(id: &str, name: &str) -> bool {
    id.strip_prefix(name).is_some_and(|after| {
        after.is_empty()
            || after.starts_with(['@', '[', ':'])
            || after.starts_with("-v")
            || after.starts_with("-latest")
            || (after.starts_with("-20") && after.len() >= 9)
    })
}

impl Model {
    fn rates_for(&self, tokens: Tokens) -> Rates {
        let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
        self.long.filter(|(above, _)| prompt > *above).map_or(self.rates, |(_, rates)| rates)
    }
}

impl From<Row> for Model {
    fn from(row: Row) -> Model {
        let rates = |factor: f64| {
            let nano = |dollars: f64| (dollars * factor * 1000.0).round() as u64;
            Rates {
                input: nano(row.input),
                output: nano(row.output),
                cache_write: nano(row.cache_write),
                cache_write_hour: nano(row.cache_write_hour),
                cache_read: nano(row.cache_read),
            }
        };
        let long = row.above.zip(row.above_factor).map(|(above, factor)| (above, rates(factor)));
        Model { rates: rates(1.0), long, names: row.names }
    }
}

impl Rates {
    fn price(self, billed: Billed) -> u64 {
        let tokens = billed.tokens;
        let hour = billed.cache_write_hour.min(tokens.cache_write);
        [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cache_read, self.cache_read),
            (tokens.cache_write - hour, self.cache_write),
            (hour, self.cache_write_hour),
        ]
        .into_iter()
        .fold(0, |sum: u64, (count, rate)| sum.saturating_add(count.saturating_mul(rate)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Billed, Prices, usd_from_nano};
    use longhaul_core::{Tokens, Usd};

    fn check(model: &str, tokens: Tokens, cache_write_hour: u64, dollars: Option<f64>) {
        let price = Prices::bundled().price(model, Billed { tokens, cache_write_hour }).map(usd_from_nano);
        assert_eq!(price, dollars.and_then(Usd::from_dollars), "{model}");
    }

    #[test]
    fn prices_of_messages() {
        let tokens = Tokens { input: 1000, output: 50, cache_read: 3000, cache_write: 200 };
        check("claude-opus-5-5", tokens, 0, Some(0.0066));
        check("claude-opus-5-5", tokens, 200, Some(0.0072));
        check("claude-sonnet-4-5", tokens, 0, Some(0.0054));
        check("claude-sonnet-4-5-20250929", tokens, 0, Some(0.0054));
        check("us.anthropic.claude-sonnet-4-5-20250929-v1:0", tokens, 0, Some(0.0054));
        check("claude-opus-5-5[1m]", tokens, 0, Some(0.0066));
        // A version that the table does not know is not its elder.
        check("claude-opus-5-7", tokens, 0, None);
        check("claude-opus-55", tokens, 0, None);
        check("gpt-oss", tokens, 0, None);
        // A long prompt on a model that charges more for it.
        check("claude-haiku-5-5", Tokens { input: 100_000, ..Tokens::default() }, 0, Some(0.01));
        check("claude-haiku-5-5", Tokens { input: 200_000, ..Tokens::default() }, 0, Some(0.1));
    }

    #[test]
    fn the_bundled_table_can_be_read() {
        let prices = Prices::parse(include_str!("prices.toml")).expect("the table is valid");
        assert!(prices.models.len() >= 12 && prices.dated.starts_with("20"));
    }
}

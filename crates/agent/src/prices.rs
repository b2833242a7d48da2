//! Prices of tokens, for messages whose cost the vendor does not report. The table is dated, and its results
//! are always marked as estimates.

use crate::toml_table::{self, TableError};
use longhaul_core::{Tokens, Usd};
use serde::Deserialize;
use std::iter;
use std::sync::LazyLock;
use toml::Spanned;

static BUNDLED: LazyLock<Prices> =
    // A test parses the bundled table. With an empty one, no message can be priced.
    LazyLock::new(|| Prices::parse(include_str!("prices.toml")).unwrap_or_default());

// A larger value is a typing error. The limit also keeps every sum far from overflow.
const DOLLARS_MAX: f64 = 1e6;
const FACTOR_MAX: f64 = 1e3;

/// A price table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    models: Vec<Model>,
}

/// The tokens of one message, with the other fact that affects its price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BilledTokens {
    /// The tokens.
    pub tokens: Tokens,
    /// Number of cache-write tokens with a lifetime of one hour, which cost more.
    pub cache_write_hour: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    dated: Spanned<String>,
    model: Vec<Spanned<Row>>,
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
    long_context_above: Option<u64>,
    long_context_factor: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Model {
    names: Vec<String>,
    rates: Rates,
    /// The rates of prompts with more tokens than this.
    long: Option<(u64, Rates)>,
}

/// Prices of one token, in billionths of a dollar (a thousand times dollars per million tokens): of input, output,
/// cache writes, cache writes for an hour, and cache reads.
type Rates = [u64; 5];

impl Prices {
    /// Returns the bundled table.
    pub fn bundled() -> &'static Prices {
        &BUNDLED
    }

    /// Parses a table in the format of the bundled one.
    pub fn parse(text: &str) -> Result<Prices, TableError> {
        let table: Table = toml_table::parse(text)?;
        toml_table::convert_each(text, vec![table.dated], check_date)?;
        Ok(Prices { models: toml_table::convert_each(text, table.model, Model::new)? })
    }

    /// Adds the models of another table that this table lacks.
    #[must_use]
    pub fn overriding(mut self, others: Prices) -> Prices {
        self.models.extend(others.models);
        self
    }

    /// Returns the cost of a message without one-hour cache writes, or `None` if the table lacks the model.
    pub fn cost(&self, model: &str, tokens: Tokens) -> Option<Usd> {
        self.nanodollars(model, tokens).map(usd_from_nano)
    }

    /// Returns the same cost in billionths of a dollar.
    pub fn nanodollars(&self, model: &str, tokens: Tokens) -> Option<u64> {
        self.price(model, BilledTokens { tokens, ..BilledTokens::default() })
    }

    /// Returns the price of a message in billionths of a dollar, or `None` if the table lacks the model.
    pub(crate) fn price(&self, model: &str, billed: BilledTokens) -> Option<u64> {
        let model = ids(model)
            .find_map(|id| self.models.iter().find(|row| row.names.iter().any(|name| is_named(id, name))))?;
        let long = model.long.filter(|(above, _)| prompt_tokens(billed.tokens) > *above);
        Some(price(long.map_or(model.rates, |(_, rates)| rates), billed))
    }
}

/// Returns the tokens of the prompt, cached or not.
pub(crate) fn prompt_tokens(tokens: Tokens) -> u64 {
    Tokens { output: 0, ..tokens }.total()
}

pub(crate) fn usd_from_nano(nano: u64) -> Usd {
    Usd(nano.saturating_add(500) / 1000)
}

/// Returns whether two names denote one model, differing only in a vendor prefix, a date or a variant.
pub(crate) fn is_same_model(one: &str, other: &str) -> bool {
    let is_of = |id: &str, name: &str| !name.is_empty() && ids(id).any(|id| is_named(id, name));
    one == other || is_of(one, undated(other)) || is_of(other, undated(one))
}

/// Returns a model's name without its date or variant. Other suffixes of an id, such as a version or a size,
/// may be part of another vendor's name.
fn undated(model: &str) -> &str {
    let is_day = |text: &str| text.len() >= 6 && text.bytes().take(6).all(|byte| byte.is_ascii_digit());
    let date =
        model.match_indices("-20").map(|(offset, separator)| (offset, &model[offset + separator.len()..]));
    let date = date.filter(|(_, after)| is_day(after)).map(|(offset, _)| offset).next();
    let variant = model.find(['[', '@']);
    &model[..date.into_iter().chain(variant).min().unwrap_or(model.len())]
}

/// Returns the candidates for the table's name of a model: the whole id, and each part after a character that
/// may end a vendor prefix.
fn ids(model: &str) -> impl Iterator<Item = &str> {
    let suffixes =
        model.match_indices(['.', '/', ':']).map(|(offset, separator)| &model[offset + separator.len()..]);
    iter::once(model).chain(suffixes)
}

/// Returns whether a model's id is this name, followed by at most a date or a variant:
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
    fn new(row: Row) -> Result<Model, String> {
        let prices = [
            ("input", row.input),
            ("output", row.output),
            ("cache_write", row.cache_write),
            ("cache_write_hour", row.cache_write_hour),
            ("cache_read", row.cache_read),
        ];
        if row.names.is_empty() || row.names.iter().any(|name| name.trim().is_empty()) {
            return Err("a model without names, expected for example names = [\"claude-opus-5\"]".to_owned());
        }
        if let Some((name, price)) = prices.iter().find(|(_, price)| !(0.0..=DOLLARS_MAX).contains(price)) {
            return Err(format!("{name} = {price}, expected dollars per million tokens, 0 to {DOLLARS_MAX}"));
        }
        if row.long_context_above.is_some() != row.long_context_factor.is_some() {
            return Err("`long_context_above` and `long_context_factor` go together, expected both or none"
                .to_owned());
        }
        if let Some(factor) = row.long_context_factor.filter(|factor| !(0.0..=FACTOR_MAX).contains(factor)) {
            return Err(format!("long_context_factor = {factor}, expected a factor from 0 to {FACTOR_MAX}"));
        }
        let rates = |factor: f64| prices.map(|(_, dollars)| (dollars * factor * 1000.0).round() as u64);
        let long =
            row.long_context_above.zip(row.long_context_factor).map(|(above, factor)| (above, rates(factor)));
        Ok(Model { rates: rates(1.0), long, names: row.names })
    }
}

/// Only people read the date.
fn check_date(text: String) -> Result<(), &'static str> {
    let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    let is_day = shape.eq(b"0000-00-00".iter().copied());
    is_day.then_some(()).ok_or("`dated` is not a date, expected for example dated = \"2026-11-21\"")
}

fn price(rates: Rates, billed: BilledTokens) -> u64 {
    let Tokens { input, output, cache_read, cache_write } = billed.tokens;
    let hour = billed.cache_write_hour.min(cache_write);
    let counts = [input, output, cache_write - hour, hour, cache_read];
    let products = counts.into_iter().zip(rates).map(|(count, rate)| count.saturating_mul(rate));
    products.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::{BilledTokens, Prices, is_same_model, usd_from_nano};
    use expect_test::{Expect, expect};
    use longhaul_core::{Tokens, Usd};

    fn check(model: &str, tokens: Tokens, cache_write_hour: u64, dollars: Option<f64>) {
        let price =
            Prices::bundled().price(model, BilledTokens { tokens, cache_write_hour }).map(usd_from_nano);
        assert_eq!(price, dollars.and_then(Usd::from_dollars), "{model}");
    }

    #[test]
    fn prices_messages() {
        let tokens = Tokens { input: 1000, output: 50, cache_read: 3000, cache_write: 200 };
        check("claude-opus-5-5", tokens, 0, Some(0.0066));
        check("claude-opus-5-5", tokens, 200, Some(0.0072));
        check("claude-sonnet-4-5", tokens, 0, Some(0.0054));
        check("claude-sonnet-4-5-20250929", tokens, 0, Some(0.0054));
        check("us.anthropic.claude-sonnet-4-5-20250929-v1:0", tokens, 0, Some(0.0054));
        check("claude-opus-5-5[1m]", tokens, 0, Some(0.0066));
        // An unknown version is not priced like an older one.
        check("claude-opus-5-7", tokens, 0, None);
        check("claude-opus-55", tokens, 0, None);
        check("gpt-oss", tokens, 0, None);
        // A long prompt on a model that charges more for it.
        check("claude-haiku-5-5", Tokens { input: 100_000, ..Tokens::default() }, 0, Some(0.01));
        check("claude-haiku-5-5", Tokens { input: 200_000, ..Tokens::default() }, 0, Some(0.1));
    }

    #[test]
    fn recognizes_names_of_same_model() {
        let check = |one: &str, other: &str, same: bool| {
            assert_eq!((is_same_model(one, other), is_same_model(other, one)), (same, same), "{one} {other}");
        };
        check("claude-sonnet-4-5", "claude-sonnet-4-5", true);
        check("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true);
        check("claude-sonnet-4-5", "claude-sonnet-4-5[1m]", true);
        check("claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true);
        check("claude-sonnet-4-5[1m]", "claude-sonnet-4-5-20250929", true);
        check("claude-sonnet-4-5[1m]", "claude-sonnet-4-5@20250929", true);
        // One name starts with the other, but they are different generations.
        check("claude-opus-5", "claude-opus-5-5", false);
        check("claude-sonnet-4-5", "claude-opus-4-5", false);
        check("us.anthropic.claude-opus-4-5-v1:0", "us.anthropic.claude-sonnet-4-5-v1:0", false);
        check("deepseek-v3", "deepseek-v3.1", false);
        check("gpt-oss-20b", "gpt-oss-20250929", false);
        check("llama3:8b", "llama3:70b", false);
        check("", "", true);
        check("", "claude-opus-5-5", false);
        check("", "[1m]", false);
    }

    const USER_TABLE: &str = r#"
dated = "2027-01-05"
[[model]]
names = ["house-7b", "claude-opus-5-5"]
input = 1
output = 2.5
cache_write = 1
cache_write_hour = 1
cache_read = 0
"#;

    #[test]
    fn user_table_takes_precedence() {
        let prices =
            Prices::parse(USER_TABLE).expect("the table is valid").overriding(Prices::bundled().clone());
        let tokens = Tokens { input: 1_000_000, output: 1_000_000, ..Tokens::default() };
        let price = |model: &str| {
            prices.price(model, BilledTokens { tokens, ..BilledTokens::default() }).map(usd_from_nano)
        };
        assert_eq!(price("house-7b"), Usd::from_dollars(3.5));
        assert_eq!(price("claude-opus-5-5[1m]"), Usd::from_dollars(3.5));
        assert_eq!(price("claude-sonnet-5-5"), Usd::from_dollars(12.0));
        assert_eq!(price("house-70b"), None);
    }

    #[test]
    fn rejects_invalid_tables() {
        let check = |from: &str, to: &str, expected: Expect| {
            let text = USER_TABLE.replace(from, to);
            let error = Prices::parse(&text).expect_err("the table is not valid");
            expected.assert_eq(&error.to_string());
        };
        check(USER_TABLE, "", expect!["line 1: missing field `dated`"]);
        check(
            "2027-01-05",
            "today",
            expect![[r#"line 2: `dated` is not a date, expected for example dated = "2026-11-21""#]],
        );
        check(
            "input =",
            "inptu =",
            expect![
                "line 5: unknown field `inptu`, expected one of `names`, `input`, `output`, `cache_write`, `cache_write_hour`, `cache_read`, `long_context_above`, `long_context_factor`"
            ],
        );
        check("output = 2.5\n", "", expect!["line 3: missing field `output`"]);
        check(
            "2.5",
            "-2.5",
            expect!["line 3: output = -2.5, expected dollars per million tokens, 0 to 1000000"],
        );
        check(
            "2.5",
            "nan",
            expect!["line 3: output = NaN, expected dollars per million tokens, 0 to 1000000"],
        );
        check("2.5", "\"2.5\"", expect![[r#"line 6: invalid type: string "2.5", expected f64"#]]);
        check(
            "names = [\"house-7b\", \"claude-opus-5-5\"]",
            "names = []",
            expect![[r#"line 3: a model without names, expected for example names = ["claude-opus-5"]"#]],
        );
        check(
            "input = 1\n",
            "input = 1\nlong_context_above = 100\n",
            expect![
                "line 3: `long_context_above` and `long_context_factor` go together, expected both or none"
            ],
        );
        check(
            "input = 1\n",
            "input = 1\nlong_context_above = 100\nlong_context_factor = -1\n",
            expect!["line 3: long_context_factor = -1, expected a factor from 0 to 1000"],
        );
        check("input = 1\n", "input = = 1\n", expect!["line 5: extra `=`, expected nothing"]);
    }

    #[test]
    fn bundled_table_parses() {
        let prices = Prices::parse(include_str!("prices.toml")).expect("the table is valid");
        assert!(prices.models.len() >= 12);
    }
}

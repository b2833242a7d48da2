//! A distribution in four numbers.

use serde::Serialize;

/// What one run in ten stays below, one in two, nine in ten, and the most of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantiles<T> {
    /// One in ten is at most this.
    pub p10: T,
    /// One in two is at most this.
    pub p50: T,
    /// Nine in ten are at most this.
    pub p90: T,
    /// All are at most this.
    pub max: T,
}

impl<T: Copy + Ord + Default> Quantiles<T> {
    /// Those of `values`, which it sorts; zeros of none.
    pub(crate) fn new(mut values: Vec<T>) -> Quantiles<T> {
        values.sort_unstable();
        // The smallest value that so many percent do not exceed.
        let at = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or_default()
        };
        Quantiles { p10: at(10), p50: at(50), p90: at(90), max: at(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occur() {
        let of = Quantiles::new((1..=10).rev().collect());
        assert_eq!(of, Quantiles { p10: 1, p50: 5, p90: 9, max: 10 });
        assert_eq!(Quantiles::new(vec![7]), Quantiles { p10: 7, p50: 7, p90: 7, max: 7 });
        assert_eq!(Quantiles::<u64>::new(Vec::new()), Quantiles::default());
    }
}

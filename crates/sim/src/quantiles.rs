//! Summarizes a distribution as four numbers.

use serde::Serialize;

/// The 10th, 50th and 90th percentile, and the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantiles<T> {
    /// The 10th percentile.
    pub p10: T,
    /// The median.
    pub p50: T,
    /// The 90th percentile.
    pub p90: T,
    /// The maximum.
    pub max: T,
}

impl<T: Copy + Ord + Default> Quantiles<T> {
    /// Computes the quantiles of `values`. They are zero if there are no values.
    pub(crate) fn new(mut values: Vec<T>) -> Quantiles<T> {
        values.sort_unstable();
        // The smallest value that `percent` percent of the values do not exceed.
        let percentile = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or_default()
        };
        Quantiles { p10: percentile(10), p50: percentile(50), p90: percentile(90), max: percentile(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occur() {
        let quantiles = Quantiles::new((1..=10).rev().collect());
        assert_eq!(quantiles, Quantiles { p10: 1, p50: 5, p90: 9, max: 10 });
        assert_eq!(Quantiles::new(vec![7]), Quantiles { p10: 7, p50: 7, p90: 7, max: 7 });
        assert_eq!(Quantiles::<u64>::new(Vec::new()), Quantiles::default());
    }
}

//! Statistics of several measurements.

use std::time::Duration;

/// Returns the median. For an even number of values, it is the lower of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50.0)
}

/// Returns the smallest value that is at least as large as `percent` of all (nearest rank).
pub fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::{median, percentile};

    #[test]
    fn percentile_is_one_of_the_values() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!((median(&values), percentile(&values, 90.0), percentile(&values, 100.0)), (3.0, 5.0, 5.0));
        assert_eq!(median(&[7.0]), 7.0);
        assert!(median(&[]).is_nan());
    }
}

use super::simulate_outages;
use crate::Quantiles;
use longhaul_core::{Preset, Span};

#[test]
fn default_policy_continues_soon_after_an_outage() {
    let policy = Preset::Default.policy();
    let runs =
        simulate_outages(&policy, 0..2_000, Span::from_secs(10), Span::from_secs(120)).expect("sound runs");
    let lateness = Quantiles::new(runs.iter().map(|run| run.lateness.unwrap_or(Span(u64::MAX))).collect());
    assert!(lateness.p50 <= Span::from_secs(10), "median lateness {}", lateness.p50);
    // In time is within 30 % of the outage, or 10 s.
    let latest = |outage: Span| Span::from_secs(10).max(Span(outage.0 * 30 / 100));
    let in_time =
        runs.iter().filter(|run| run.lateness.is_some_and(|late| late <= latest(run.outage))).count();
    assert!(in_time * 100 / runs.len() >= 90, "{in_time} in time, p90 {}", lateness.p90);
    let failed = Quantiles::new(runs.iter().map(|run| run.failed_requests).collect());
    assert!(failed.p50 <= 30, "median {} failed requests", failed.p50);
}

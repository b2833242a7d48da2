use super::simulate_outages;
use longhaul_core::{Preset, Span};

#[test]
fn default_policy_continues_soon_after_an_outage() {
    let policy = Preset::Default.policy();
    let stats =
        simulate_outages(&policy, 0..2_000, Span::from_secs(10), Span::from_secs(120)).expect("sound runs");
    assert!(stats.lateness.p50 <= Span::from_secs(10), "median lateness {}", stats.lateness.p50);
    assert!(stats.in_time_percent >= 90, "{} % in time, p90 {}", stats.in_time_percent, stats.lateness.p90);
    assert!(stats.failed_requests.p50 <= 30, "median {} failed requests", stats.failed_requests.p50);
}

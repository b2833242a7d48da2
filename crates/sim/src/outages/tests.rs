use super::simulate_outages;
use longhaul_core::{Preset, Span};

#[test]
fn the_default_policy_goes_on_soon_after_an_overload() {
    let policy = Preset::Default.policy();
    let walls =
        simulate_outages(&policy, 0..2_000, Span::from_secs(10), Span::from_secs(120)).expect("sound runs");
    assert!(walls.lateness.p50 <= Span::from_secs(10), "median lateness {}", walls.lateness.p50);
    assert!(walls.in_time_percent >= 90, "{} % in time, p90 {}", walls.in_time_percent, walls.lateness.p90);
    assert!(walls.failed_requests.p50 <= 30, "median {} failed requests", walls.failed_requests.p50);
}

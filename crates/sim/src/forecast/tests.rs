use super::forecast;
use crate::Profile;
use longhaul_core::{Fault, Preset, Span};

fn of(preset: Preset, profile: &str) -> super::Forecast {
    forecast(&preset.policy(), &Profile::named(profile).expect("built in"), 400, 1)
}

#[test]
fn a_calm_world_ends_every_run_well() {
    let forecast = of(Preset::Default, "calm");
    assert_eq!(forecast.outcomes.get("done"), Some(&400));
    assert_eq!(forecast.waiting.max, Span::ZERO);
    assert_eq!(forecast.failed_requests.max, 0);
    assert!(forecast.faults.is_empty());
    // A last answer for itself, and one request for each tool call before it.
    assert!((11..=61).contains(&forecast.requests.p10));
    assert_eq!(forecast.spend.max.0, 30_000 * forecast.requests.max);
}

#[test]
fn patience_finishes_more_in_a_storm_than_counting() {
    let patient = of(Preset::Default, "storm");
    let counting = of(Preset::Openclawpack, "storm");
    assert_eq!((patient.broken, counting.broken), (0, 0), "{:?}", patient.broken_first);
    assert!(patient.outcomes["done"] > 2 * counting.outcomes["done"], "{patient:#?} {counting:#?}");
    assert!(counting.decided_by[&Fault::Overloaded] > 0);
}

#[test]
fn quota_is_waited_for() {
    let forecast = of(Preset::Default, "quota");
    assert!(forecast.outcomes["done"] > 350, "{:?}", forecast.outcomes);
    assert!(forecast.waiting.p50 > Span::from_mins(10));
    assert!(forecast.faults[&Fault::UsageLimit] > 400);
}

#[test]
fn the_same_seed_forecasts_the_same() {
    assert_eq!(of(Preset::Archon, "flaky"), of(Preset::Archon, "flaky"));
}

#[test]
fn it_serialises() {
    let json = serde_json::to_value(of(Preset::Default, "flaky")).expect("plain data");
    assert!(json["wall"]["p90"].as_u64() > json["wall"]["p10"].as_u64());
    assert!(json["faults"]["overloaded"].as_u64() > Some(0));
}

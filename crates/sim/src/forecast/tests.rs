use super::{Quantiles, forecast};
use crate::Profile;
use longhaul_core::{Fault, Preset, Span};

fn forecast_for(preset: Preset, profile: &str) -> super::Forecast {
    forecast(&preset.policy(), &Profile::built_in(profile).expect("built in"), 400, 1)
}

#[test]
fn calm_world_completes_every_run() {
    let forecast = forecast_for(Preset::Default, "calm");
    assert_eq!(forecast.outcomes.get("done"), Some(&400));
    assert_eq!(forecast.waiting.max, Span::ZERO);
    assert_eq!(forecast.failed_requests.max, 0);
    assert!(forecast.faults.is_empty());
    // One request for the last answer, and one for each tool call before it.
    assert!((11..=61).contains(&forecast.requests.p10));
    assert_eq!(forecast.cost.max.0, 30_000 * forecast.requests.max);
}

#[test]
fn time_bound_completes_more_runs_in_a_storm_than_retry_bound() {
    let time_bound = forecast_for(Preset::Default, "storm");
    let retry_bound = forecast_for(Preset::Openclawpack, "storm");
    assert_eq!((time_bound.violations, retry_bound.violations), (0, 0), "{:?}", time_bound.first_violation);
    assert!(
        time_bound.outcomes["done"] > 2 * retry_bound.outcomes["done"],
        "{time_bound:#?} {retry_bound:#?}"
    );
    assert!(retry_bound.decided_by[&Fault::Overloaded] > 0);
}

#[test]
fn run_waits_for_quota() {
    let forecast = forecast_for(Preset::Default, "quota");
    assert!(forecast.outcomes["done"] > 350, "{:?}", forecast.outcomes);
    assert!(forecast.waiting.p50 > Span::from_mins(10));
    assert!(forecast.faults[&Fault::UsageLimit] > 400);
}

#[test]
fn same_seed_gives_same_forecast() {
    assert_eq!(forecast_for(Preset::Archon, "flaky"), forecast_for(Preset::Archon, "flaky"));
}

#[test]
fn quantiles_are_values_that_occur() {
    let quantiles = Quantiles::new((1..=10).rev());
    assert_eq!(quantiles, Quantiles { p10: 1, p50: 5, p90: 9, max: 10 });
    assert_eq!(Quantiles::new([7]), Quantiles { p10: 7, p50: 7, p90: 7, max: 7 });
    assert_eq!(Quantiles::<u64>::new([]), Quantiles::default());
}

#[test]
fn forecast_serializes() {
    let json = serde_json::to_value(forecast_for(Preset::Default, "flaky")).expect("plain data");
    assert!(json["wall"]["p90"].as_u64() > json["wall"]["p10"].as_u64());
    assert!(json["faults"]["overloaded"].as_u64() > Some(0));
}
